#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "carillon/time.h"
#include "shared/net/sending.h"

// Sends many concurrent HTTP requests, to servers that may be slow, hanging or down.
//
// Thread: the event loop that the poster was opened on.
namespace carillon::net {

// A request to send.
struct Post {
  std::uint64_t id = 0;  // chosen by the caller; the outcome has it
  std::string url{};     // "http://HOST:PORT/path", or https
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  Duration timeout{};  // until the complete response, including the wait for a connection
  // Lets other requests pass while all connections are busy. Its time-out then starts when it is
  // sent, as long as its server answers some requests.
  bool may_wait = false;
  std::shared_ptr<Sending> sending{};  // empty: it cannot be recalled
  std::size_t answer_max = 64 * 1024;  // bytes of the response's body
  bool cuts_answer = false;            // a larger response is cut; otherwise it is an error
};

// The outcome of a Post.
struct PostOutcome {
  enum class Kind : int {
    kAnswered = 0,  // with any status; redirects are not followed
    kNotSent = 1,   // no byte was sent: the server cannot know it
    kUnknown = 2,   // something was sent, without a complete response
  };

  std::uint64_t id = 0;
  Kind kind = Kind::kUnknown;
  int status = 0;
  std::string body{};
  bool is_cut = false;       // kAnswered, with a body of more bytes than answer_max
  std::string error{};       // why there is no response
  bool is_refused = false;   // kNotSent, because no program listens at that port
  bool is_crowded = false;   // kNotSent, because no connection became free
  bool is_recalled = false;  // kNotSent, because its sender recalled it or may not send
  bool is_broken = false;    // kUnknown, because the server closed or reset the connection
};

class PostReceiver {
 public:
  virtual ~PostReceiver() = default;
  virtual void on_outcome(PostOutcome outcome) = 0;
  // The server "http://HOST:PORT" closed an idle connection. It may be down; many servers also
  // close idle connections after a while. Not every such event is reported.
  virtual void on_hang_up(const std::string& server) = 0;
};

class Poster {
 public:
  virtual ~Poster() = default;
  // nullptr: outcomes of requests in progress are dropped.
  virtual void set_receiver(PostReceiver* receiver) = 0;
  // Each accepted request gets one outcome later. False: too many requests are in progress, and
  // this one was not accepted.
  virtual bool post(Post post) = 0;
};

}  // namespace carillon::net
