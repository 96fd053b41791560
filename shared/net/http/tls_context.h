#pragma once

#include <memory>
#include <string>

#include <openssl/ssl.h>

#include "carillon/result.h"

namespace carillon::net {

// The first error of this thread's OpenSSL error queue; clears the queue.
std::string take_tls_error(const std::string& otherwise);

// What the TLS connections of a client or a server share: whom it trusts, or its certificate.
//
// Thread: any, after it was opened.
class TlsContext {
 public:
  // Of a client. `ca_file`: PEM file with the certificate authorities; empty: the system's.
  // `option`: named in errors.
  static Result<TlsContext> open(const std::string& ca_file, std::string option);
  // Of a server, with the files of --http-cert and --http-key, see HttpAccess. Other users must not
  // be able to read the key. Errors name the file and the remedy.
  static Result<TlsContext> open_server(const std::string& certificate, const std::string& key);

  SSL_CTX* get() const { return context_.get(); }
  const std::string& option() const { return option_; }
  // Whether a server's certificate names this host, a name or an address.
  bool names(const std::string& host) const;

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  explicit TlsContext(std::string option) : option_(std::move(option)) {}

  std::string option_;
  std::unique_ptr<SSL_CTX, Free> context_{};
};

}  // namespace carillon::net
