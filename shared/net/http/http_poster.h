#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "shared/base/clock.h"
#include "shared/net/address_guard.h"
#include "shared/net/poster.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon::net {

class TlsContext;

struct HttpPosterConfig {
  // Most requests in progress, including those that wait for a connection. More needs more memory.
  std::size_t posts_max = 16'384;
  // More allows more concurrency per server, and a server that hangs blocks more descriptors.
  std::size_t connections_per_server = 64;
  std::size_t connections_max = 4096;
  // How long an idle connection may be reused. Longer saves new connections. Too long meets servers
  // that are closing idle connections; then it is unknown whether they received the request.
  Duration reuse_max = std::chrono::seconds{4};
  // PEM file with the certificate authorities of https servers; empty: the system's.
  std::string ca_file{};
  std::string ca_option = "--xxl-ca";  // the flag for it, named in errors
  AddressGuard guard{};                // of the addresses that are called
};

// Sends requests over http and https on kept-alive connections, on its own thread. Each server has
// its own connections and queue, so a server that hangs delays no other.
//
// A request whose connection broke after it was written is never resent automatically. Addresses
// that the guard refuses are not called, even if a name resolves to one.
//
// Thread: the loop.
class HttpPoster final : public Poster {
 public:
  // The references must outlive the poster. Error: kInvalidArgument if `ca_file` has no
  // certificates.
  static Result<std::unique_ptr<HttpPoster>> start(HttpPosterConfig config, EventLoop& loop,
                                                   const Clock& clock);
  // Cancels requests in progress; they get no outcome.
  ~HttpPoster() override;

  void set_receiver(PostReceiver* receiver) override;
  bool post(Post post) override;

 private:
  class Worker;
  // For one receiver: outcomes do not go to the next one.
  struct Sent {
    std::uint64_t turn = 0;
    Post post{};
  };
  struct Heard {
    std::uint64_t turn = 0;
    PostOutcome outcome{};
  };

  HttpPoster(HttpPosterConfig config, TlsContext tls, EventLoop& loop, const Clock& clock);
  void hear();

  const HttpPosterConfig config_;
  EventLoop& loop_;
  PostReceiver* receiver_ = nullptr;
  std::uint64_t turn_ = 0;
  std::size_t under_way_ = 0;
  Mailbox<Sent> posts_;
  Mailbox<Heard> outcomes_;
  Mailbox<std::string> hang_ups_{1024};
  std::unique_ptr<Worker> worker_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon::net
