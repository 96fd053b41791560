#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include <boost/asio/post.hpp>

#include "shared/net/http/http_server.h"
#include "shared/net/http/http_session.h"

// What the handles of a stream and its connection share.
//
// Thread: any.
namespace carillon::net {

// Does not keep the server or the connection alive: pending work of the connection does that.
struct HttpStream::State {
  State(const std::shared_ptr<HttpServerParts>& its_parts,
        const std::shared_ptr<HttpSession>& its_session)
      : parts(its_parts), session(its_session) {}

  // After the server has stopped, the work is only destroyed, never run.
  template <class Work>
  void post(Work work) {
    const auto owner = parts.lock();
    if (!owner) return;
    boost::asio::post(owner->io, [session = session, work = std::move(work)]() mutable {
      if (const auto one = session.lock()) work(*one);
    });
  }

  const std::weak_ptr<HttpServerParts> parts;
  const std::weak_ptr<HttpSession> session;
  std::atomic<std::size_t> waiting{0};  // bytes
  std::atomic<bool> is_open{true};
};

// Owned by the handles of a stream, so that it ends with the last one.
struct HttpStream::Handle {
  explicit Handle(std::shared_ptr<State> its_state) : state(std::move(its_state)) {}
  ~Handle() { end(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void end() {
    if (has_ended.exchange(true)) return;
    state->post([](HttpSession& session) { session.end_stream(); });
  }

  const std::shared_ptr<State> state;
  std::atomic<bool> has_ended{false};
};

}  // namespace carillon::net
