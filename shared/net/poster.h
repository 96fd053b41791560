#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "carillon/time.h"
#include "shared/net/sending.h"

// Many HTTP requests at once, to servers of which some may be slow, hanging or gone.
//
// Thread: the event loop that the poster was opened on.
namespace carillon::net {

// A POST to be sent.
struct Post {
  std::uint64_t id = 0;  // the caller's own, which the outcome carries
  std::string url{};     // "http://HOST:PORT/path", or https
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string body{};
  Duration timeout{};  // until the whole answer is there, waiting for a connection included
  // It lets others pass while all connections are taken, and its time begins when it is sent, as
  // long as its server answers somebody now and then.
  bool may_wait = false;
  std::shared_ptr<Sending> sending{};  // empty: nobody recalls it
  std::size_t answer_max = 64 * 1024;  // bytes of its body
  bool cuts_answer = false;            // a larger one is cut there, otherwise it is none
};

// What became of a Post.
struct PostOutcome {
  enum class Kind : int {
    kAnswered = 0,  // with any status; redirections are answers too
    kNotSent = 1,   // not one byte went out: the other end cannot know of it
    kUnknown = 2,   // something went out, and no whole answer came back
  };

  std::uint64_t id = 0;
  Kind kind = Kind::kUnknown;
  int status = 0;
  std::string body{};
  bool is_cut = false;       // kAnswered, and more than so many bytes
  std::string error{};       // why it was not answered
  bool is_refused = false;   // kNotSent, because nobody listens at that port
  bool is_crowded = false;   // kNotSent, because no connection became free
  bool is_recalled = false;  // kNotSent, because its sender wants it no more, or may not send
  bool is_broken = false;    // kUnknown, because the other end closed or reset the connection
};

class PostReceiver {
 public:
  virtual ~PostReceiver() = default;
  virtual void on_outcome(PostOutcome outcome) = 0;
  // The server, "http://HOST:PORT", closed a connection on which nothing was under way. It may be
  // gone; many servers also close what was idle for a while. Not every one is told.
  virtual void on_hang_up(const std::string& server) = 0;
};

class Poster {
 public:
  virtual ~Poster() = default;
  // nullptr: nobody hears of what is under way any more.
  virtual void set_receiver(PostReceiver* receiver) = 0;
  // Each that is taken has one outcome, which comes later. False: too many are under way, and this
  // one was not taken.
  virtual bool post(Post post) = 0;
};

}  // namespace carillon::net
