#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <openssl/ssl.h>

#include "carillon/result.h"

namespace carillon::net {

// Whom connections over TLS trust.
//
// Thread: any, once it is open.
class TlsContext {
 public:
  // `ca_file`: in PEM, of those who sign certificates; empty: the system's. `option` names it in
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

// The client's side of TLS over a socket that does not block, which it does not own. The server's
// certificate must name its host.
//
// Thread: one. SIGPIPE must be ignored or blocked.
class TlsStream {
 public:
  enum class Step {
    kDone,        // `bytes` were moved
    kWantsRead,   // again, when the socket can be read
    kWantsWrite,  // again, when it can be written
    kEnd,         // the other end has closed, and says so
    kBroken       // error() says how
  };
  struct Moved {
    Step step = Step::kBroken;
    std::size_t bytes = 0;
  };

  TlsStream(const TlsContext& context, int fd, const std::string& host);

  Step handshake();
  Moved read(char* into, std::size_t size);
  // What was not moved has not reached the other end in a form that it can read.
  Moved write(const char* from, std::size_t size);
  // Whether read() would give something without the socket.
  bool has_more() const;
  // Whether the other end has neither closed nor said anything.
  bool is_quiet();
  // Says goodbye, if that is still possible.
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
