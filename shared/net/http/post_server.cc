#include "shared/net/http/post_server.h"

#include <algorithm>
#include <utility>

#include <boost/asio/ip/address.hpp>

namespace carillon::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

}  // namespace

PostServer::PostServer(PosterParts& parts, HttpUrl url)
    : parts_(parts), url_(std::move(url)), name_(url_.server()) {}

PostServer::~PostServer() { parts_.connections -= connections_.size(); }

void PostServer::add(WaitingPost waiting) {
  const auto before = waiting.post.may_wait
                          ? line_.end()
                          : std::find_if(line_.begin(), line_.end(), [](const WaitingPost& other) {
                              return other.post.may_wait;
                            });
  line_.insert(before, std::move(waiting));
  serve();
}

void PostServer::add_first(WaitingPost waiting) {
  if (waiting.post.sending) waiting.post.sending->put_back();
  line_.push_front(std::move(waiting));
  serve();
}

void PostServer::on_connected() {
  --connecting_;
  serve();
}

void PostServer::on_connect_failed(const std::string& why, bool is_refused) {
  endpoints_.clear();  // The name may resolve to another address now.
  if (!line_.empty()) fail_first("cannot connect to " + name_ + ": " + why, is_refused);
  serve();
}

void PostServer::on_answer() {
  answered_at_ = parts_.clock.steady_now();
  serve();
}

void PostServer::forget(const PostConnection& connection) {
  if (connection.is_connecting()) --connecting_;
  const auto found = std::find_if(connections_.begin(), connections_.end(),
                                  [&](const auto& one) { return one.get() == &connection; });
  // Its handlers keep it alive while they run.
  connections_.erase(found);
  --parts_.connections;
}

void PostServer::serve() {
  const SteadyTime now = parts_.clock.steady_now();
  while (!line_.empty()) {
    const auto connection = fresh_connection(now);
    if (!connection) break;
    WaitingPost next = std::move(line_.front());
    line_.pop_front();
    if (next.post.sending && !next.post.sending->begin(now)) {
      end_recalled(next);
    } else {
      connection->send(std::move(next));
    }
  }
  connect_more();
}

// The most recently used one, so that the others can be closed under low load.
std::shared_ptr<PostConnection> PostServer::fresh_connection(SteadyTime now) {
  while (true) {
    std::shared_ptr<PostConnection> best;
    for (const auto& one : connections_) {
      if (!one->is_fresh(now)) continue;
      if (!best || one->reuse_until() > best->reuse_until()) best = one;
    }
    if (!best || best->is_quiet()) return best;
    best->close();
    parts_.on_hang_up(name_);
  }
}

// Opens one for each waiting request.
void PostServer::connect_more() {
  while (connecting_ < line_.size() && connections_.size() < parts_.config.connections_per_server &&
         parts_.connections < parts_.config.connections_max) {
    if (endpoints_.empty()) return resolve();
    auto connection = std::make_shared<PostConnection>(*this, parts_.io);
    connections_.push_back(connection);
    ++parts_.connections;
    ++connecting_;
    connection->connect(endpoints_);
  }
}

void PostServer::resolve() {
  if (std::exchange(is_resolving_, true)) return;
  error_code is_name;
  const auto address = boost::asio::ip::make_address(url_.host, is_name);
  if (!is_name) {
    const auto port = static_cast<std::uint16_t>(std::stoi(url_.port_or_default()));
    return on_resolved({tcp::endpoint(address, port)}, "");
  }
  parts_.resolver.async_resolve(
      url_.host, url_.port_or_default(),
      [this](const error_code& failure, const tcp::resolver::results_type& found) {
        Endpoints endpoints;
        for (const auto& one : found) endpoints.push_back(one.endpoint());
        on_resolved(endpoints, failure ? failure.message() : "");
      });
}

void PostServer::on_resolved(const Endpoints& found, const std::string& failure) {
  is_resolving_ = false;
  std::string why = failure;
  for (const tcp::endpoint& endpoint : found) {
    const Status allowed = parts_.config.guard.check(endpoint.address().to_string());
    if (allowed.ok()) {
      endpoints_.push_back(endpoint);
    } else {
      why = allowed.error().message;
    }
  }
  if (!endpoints_.empty()) return connect_more();
  while (!line_.empty()) fail_first("cannot connect to " + name_ + ": " + why);
}

void PostServer::look_at_time(SteadyTime now) {
  end_late(now);
  const auto all = connections_;  // They remove themselves when they close.
  for (const auto& one : all) one->look_at_time(now);
  close_idle(now);
  serve();
}

bool PostServer::is_late(const WaitingPost& one, SteadyTime now) const {
  if (one.deadline > now) return false;
  return !one.post.may_wait || answered_at_ + one.post.timeout <= now;
}

void PostServer::end_late(SteadyTime now) {
  const auto is_any = [&](const WaitingPost& one) {
    return !one.may_begin(now) || is_late(one, now);
  };
  if (std::none_of(line_.begin(), line_.end(), is_any)) return;
  // Without its own connection: other servers may use all allowed connections.
  const bool is_crowded = !is_resolving_ && (connecting_ == 0 || connections_.size() > connecting_);
  const std::string why = is_crowded ? "no connection to " + name_ + " became free in time"
                                     : "cannot connect to " + name_ + ": no answer in time";
  std::deque<WaitingPost> all = std::exchange(line_, {});
  for (WaitingPost& one : all) {
    if (!one.may_begin(now)) {
      end_recalled(one);
    } else if (is_late(one, now)) {
      parts_.on_outcome(one.turn, {.id = one.post.id,
                                   .kind = PostOutcome::Kind::kNotSent,
                                   .error = why,
                                   .is_crowded = is_crowded});
    } else {
      line_.push_back(std::move(one));
    }
  }
}

// Keeps one connection, to detect when the server goes down, unless other servers need it.
void PostServer::close_idle(SteadyTime now) {
  const bool is_crowded = parts_.connections >= parts_.config.connections_max;
  std::vector<std::shared_ptr<PostConnection>> idle;
  std::size_t kept = connections_.size();
  for (const auto& one : connections_) {
    if (one->is_idle() && (is_crowded || now >= one->reuse_until())) idle.push_back(one);
  }
  for (const auto& one : idle) {
    if (kept == 1 && !is_crowded) return;
    one->close();
    --kept;
  }
}

void PostServer::end_recalled(const WaitingPost& one) {
  parts_.on_outcome(one.turn, {.id = one.post.id,
                               .kind = PostOutcome::Kind::kNotSent,
                               .error = "the request was not sent in time",
                               .is_recalled = true});
}

void PostServer::fail_first(const std::string& why, bool is_refused) {
  WaitingPost first = std::move(line_.front());
  line_.pop_front();
  parts_.on_outcome(first.turn, {.id = first.post.id,
                                 .kind = PostOutcome::Kind::kNotSent,
                                 .error = why,
                                 .is_refused = is_refused});
}

}  // namespace carillon::net
