#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <openssl/ssl.h>

#include "carillon/result.h"

namespace carillon::net {

// The certificate authorities of TLS connections.
//
// Thread: any, after open().
class TlsContext {
 public:
  // `ca_file`: PEM file with the certificate authorities; empty: the system's. `option`: named in
  // errors.
  static Result<TlsContext> open(const std::string& ca_file, std::string option);

  SSL_CTX* get() const { return context_.get(); }
  const std::string& option() const { return option_; }

 private:
  struct Free {
    void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  };
  explicit TlsContext(std::string option) : option_(std::move(option)) {}

  std::string option_;
  std::unique_ptr<SSL_CTX, Free> context_{};
};

// The client side of TLS on a non-blocking socket, which it does not own. The server's certificate
// must contain its host.
//
// Thread: one. SIGPIPE must be ignored or blocked.
class TlsStream {
 public:
  enum class Step {
    kDone,        // `bytes` were transferred
    kWantsRead,   // retry when the socket is readable
    kWantsWrite,  // retry when it is writable
    kEnd,         // the peer has closed the connection properly
    kBroken       // error() has the reason
  };
  struct Moved {
    Step step = Step::kBroken;
    std::size_t bytes = 0;
  };

  TlsStream(const TlsContext& context, int fd, const std::string& host);

  Step handshake();
  Moved read(char* into, std::size_t size);
  // Bytes that were not transferred have not reached the peer in readable form.
  Moved write(const char* from, std::size_t size);
  // Whether read() returns data without reading the socket.
  bool has_more() const;
  // Whether the peer has neither closed the connection nor sent anything.
  bool is_quiet();
  // Sends a close notification, if that is still possible.
  void shut_down();
  const std::string& error() const { return error_; }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  Step step_of(int returned);

  const TlsContext& context_;
  std::unique_ptr<SSL, Free> ssl_;
  bool is_broken_ = false;
  std::string error_{};
};

}  // namespace carillon::net
