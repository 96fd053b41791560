#include "shared/net/http/http_stream.h"

#include <string>

namespace carillon::net {

bool HttpStream::write(std::string piece) const {
  State& state = *handle_->state;
  if (!state.is_open || handle_->has_ended) return false;
  if (piece.empty()) return true;
  const std::size_t before = state.waiting.fetch_add(piece.size());
  if (before > 0 && before + piece.size() > kStreamBytesMax) {
    if (state.is_open.exchange(false))
      state.post([](HttpSession& session) { session.abort_stream(); });
    return false;
  }
  state.post([piece = std::move(piece)](HttpSession& session) mutable {
    session.write_piece(std::move(piece));
  });
  return true;
}

std::size_t HttpStream::waiting() const { return handle_->state->waiting; }

bool HttpStream::is_open() const { return handle_->state->is_open && !handle_->has_ended; }

void HttpStream::end() const { handle_->end(); }

void HttpStream::abort() const {
  if (handle_->state->is_open.exchange(false))
    handle_->state->post([](HttpSession& session) { session.abort_stream(); });
}

}  // namespace carillon::net
