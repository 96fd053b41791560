#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "shared/base/clock.h"
#include "shared/net/poster.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon::net {

class TlsContext;

struct HttpPosterConfig {
  // Posts under way, those that wait for a connection included. More is more memory.
  std::size_t posts_max = 16'384;
  // More let a server do more at a time, and one that hangs hold more descriptors.
  std::size_t connections_per_server = 64;
  std::size_t connections_max = 4096;
  // How long after an answer its connection is used again. Longer spares connecting; too long meets
  // servers that are just closing what is idle, and nobody knows whether they took a request.
  Duration reuse_max = std::chrono::seconds{4};
  // Who signs the certificates of https servers: a file in PEM; empty: whom the system trusts.
  std::string ca_file{};
  std::string ca_option = "--xxl-ca";  // sets it, as an error says
};

// Sends over http and https, with connections that are kept open, on a thread of its own. Each
// server has connections and a line of its own, so that one that hangs delays no other.
//
// A request that was written on a connection which then broke is never sent again by itself. What
// is_metadata_address() is not called, whatever a name resolves to.
//
// Thread: the loop's, inside and out.
class HttpPoster final : public Poster {
 public:
  // The references must outlive it. kInvalidArgument: `ca_file` holds no certificates.
  static Result<std::unique_ptr<HttpPoster>> start(HttpPosterConfig config, EventLoop& loop,
                                                   const Clock& clock);
  // What is under way is cut off and has no outcome.
  ~HttpPoster() override;

  void set_receiver(PostReceiver* receiver) override;
  bool post(Post post) override;

 private:
  class Worker;
  // Of one receiver: outcomes do not go to the next.
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
