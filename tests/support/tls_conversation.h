#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <openssl/ssl.h>

#include "tests/support/scripted_server.h"
#include "tests/support/temp_folder.h"

namespace carillon::testing {

// A certificate that has signed itself, and its key.
// Thread: any.
class Certificate {
 public:
  // `names`: whom it names, as in "IP:127.0.0.1" or "DNS:example.com".
  explicit Certificate(const std::string& names);

  // Hold them in PEM.
  std::string file() const { return folder_.file("certificate.pem"); }
  std::string key_file() const { return folder_.file("key.pem"); }
  SSL_CTX* context() const { return context_.get(); }

 private:
  TempFolder folder_;
  std::shared_ptr<SSL_CTX> context_;
};

// One connection to a ScriptedServer whose script speaks TLS.
// Thread: the connection's.
class TlsConversation {
 public:
  TlsConversation(const Certificate& certificate, const Conversation& plain);

  // Whether the other end has gone through with the handshake.
  bool is_open() const { return is_open_; }
  // The next whole request, head and body; empty when the other end has closed.
  std::string read_request();
  // "HTTP/1.1 200 OK" with this body.
  void answer(std::string_view body);
  // Says goodbye, as TLS has it.
  void close();

 private:
  std::shared_ptr<SSL> ssl_;
  bool is_open_ = false;
  std::string rest_{};
};

}  // namespace carillon::testing
