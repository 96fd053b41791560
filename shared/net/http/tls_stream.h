#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <openssl/ssl.h>

#include "shared/net/http/tls_context.h"

namespace carillon::net {

// TLS on a non-blocking socket, which it does not own.
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

  // The client's side. The server's certificate must contain its host.
  TlsStream(const TlsContext& context, int fd, const std::string& host);
  // The server's side. The context may be destroyed before the stream.
  TlsStream(const TlsContext& context, int fd);

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
  // Whether it is broken because the connection ended without a close notification.
  bool was_cut() const { return was_cut_; }

 private:
  struct Free {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  Step step_of(int returned);

  const std::string option_;  // of the context
  std::unique_ptr<SSL, Free> ssl_;
  bool is_broken_ = false;
  bool was_cut_ = false;
  std::string error_{};
};

}  // namespace carillon::net
