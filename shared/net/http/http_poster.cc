#include "shared/net/http/http_poster.h"

#include <map>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <unistd.h>

#include "shared/base/assert.h"
#include "shared/net/http/post_server.h"

namespace carillon::net {
namespace {

using boost::system::error_code;

// Precision of time-outs.
constexpr std::chrono::milliseconds kLookAtTime{50};

bool breaks_line(const std::string& text) {
  return text.find_first_of("\r\n") != std::string::npos;
}

Status check(const Post& post) {
  for (const auto& [name, value] : post.headers) {
    if (breaks_line(name) || breaks_line(value))
      return Error{ErrorCode::kInvalidArgument, "header " + name + " contains a line break"};
  }
  return {};
}

}  // namespace

// The code that runs on the thread.
class HttpPoster::Worker {
 public:
  Worker(const HttpPosterConfig& config, TlsContext tls, const Clock& clock, Mailbox<Sent>& posts,
         Mailbox<Heard>& outcomes, Mailbox<std::string>& hang_ups)
      : parts_{.config = config,
               .clock = clock,
               .on_outcome =
                   [&outcomes](std::uint64_t turn, PostOutcome outcome) {
                     const bool taken = outcomes.put(Heard{turn, std::move(outcome)});
                     CARILLON_ASSERT(taken, "the queue has room for all transfers in progress");
                   },
               .on_hang_up = [&hang_ups](std::string server) { hang_ups.put(std::move(server)); },
               .tls = std::move(tls)},
        posts_(posts),
        posted_(parts_.io, ::dup(posts.fd())),
        timer_(parts_.io) {}

  void run() {
    await_posts();
    parts_.io.run();
  }
  void stop() { parts_.io.stop(); }

 private:
  void await_posts() {
    posted_.async_wait(boost::asio::posix::stream_descriptor::wait_read,
                       [this](const error_code& failure) {
                         if (failure) return;
                         posts_.clear();
                         while (auto sent = posts_.take()) take(std::move(*sent));
                         await_posts();
                       });
  }

  void take(Sent sent) {
    auto url = parse_http_url(sent.post.url);
    const Status fine = url.ok() ? check(sent.post) : Status{url.error()};
    if (!fine.ok()) {
      return parts_.on_outcome(
          sent.turn,
          {.id = sent.post.id, .kind = PostOutcome::Kind::kNotSent, .error = fine.error().message});
    }
    const SteadyTime deadline = parts_.clock.steady_now() + sent.post.timeout;
    std::string path = url.value().path;
    auto& server = servers_[url.value().server()];
    if (!server) server = std::make_unique<PostServer>(parts_, std::move(url).value());
    server->add({.turn = sent.turn,
                 .post = std::move(sent.post),
                 .path = std::move(path),
                 .deadline = deadline});
    if (!std::exchange(looks_at_time_, true)) await_time();
  }

  void await_time() {
    timer_.expires_after(kLookAtTime);
    timer_.async_wait([this](const error_code& failure) {
      if (failure) return;
      const SteadyTime now = parts_.clock.steady_now();
      for (auto& [name, server] : servers_) server->look_at_time(now);
      std::erase_if(servers_, [](const auto& one) { return one.second->is_unused(); });
      looks_at_time_ = !servers_.empty();
      if (looks_at_time_) await_time();
    });
  }

  PosterParts parts_;
  Mailbox<Sent>& posts_;
  boost::asio::posix::stream_descriptor posted_;
  boost::asio::steady_timer timer_;
  bool looks_at_time_ = false;
  std::map<std::string, std::unique_ptr<PostServer>> servers_{};
};

Result<std::unique_ptr<HttpPoster>> HttpPoster::start(HttpPosterConfig config, EventLoop& loop,
                                                      const Clock& clock) {
  TlsContext tls = CARILLON_TRY(TlsContext::open(config.ca_file, config.ca_option));
  std::unique_ptr<HttpPoster> poster(
      new HttpPoster(std::move(config), std::move(tls), loop, clock));
  poster->thread_ =
      CARILLON_TRY(Thread::start("http-poster", [raw = poster->worker_.get()] { raw->run(); }));
  return poster;
}

HttpPoster::HttpPoster(HttpPosterConfig config, TlsContext tls, EventLoop& loop, const Clock& clock)
    : config_(std::move(config)),
      loop_(loop),
      posts_(config.posts_max),
      outcomes_(config.posts_max),
      worker_(
          std::make_unique<Worker>(config_, std::move(tls), clock, posts_, outcomes_, hang_ups_)) {
  loop_.watch(outcomes_.fd(), [this] { hear(); });
  loop_.watch(hang_ups_.fd(), [this] {
    hang_ups_.clear();
    while (const auto server = hang_ups_.take()) {
      if (receiver_ != nullptr) receiver_->on_hang_up(*server);
    }
  });
}

HttpPoster::~HttpPoster() {
  worker_->stop();
  if (thread_) thread_->join();
  loop_.unwatch(outcomes_.fd());
  loop_.unwatch(hang_ups_.fd());
}

void HttpPoster::set_receiver(PostReceiver* receiver) {
  receiver_ = receiver;
  ++turn_;
}

bool HttpPoster::post(Post post) {
  if (under_way_ == config_.posts_max) return false;
  const bool taken = posts_.put(Sent{turn_, std::move(post)});
  CARILLON_ASSERT(taken, "the queue has room for all transfers in progress");
  ++under_way_;
  return true;
}

void HttpPoster::hear() {
  outcomes_.clear();
  while (auto heard = outcomes_.take()) {
    --under_way_;
    if (receiver_ != nullptr && heard->turn == turn_)
      receiver_->on_outcome(std::move(heard->outcome));
  }
}

}  // namespace carillon::net
