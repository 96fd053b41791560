#include "jobtracker/bulk_line.h"

#include <algorithm>
#include <utility>

#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

// From this size on a frame takes so long to read that others notice.
constexpr std::size_t kLarge = 16 * 1024;
// A few seconds' worth of small jobs; who is beyond it is told to slow down.
constexpr std::size_t kBytesMax = 32 * 1024 * 1024;

}  // namespace

bool BulkLine::takes(std::string_view frame) {
  return frame.size() >= kLarge && wire::is_submit(frame);
}

bool BulkLine::put(const net::Peer& peer, std::string_view frame) {
  const std::uint64_t correlation = wire::correlation_of(frame);
  const bool waits = std::any_of(frames_.begin(), frames_.end(), [&](const Frame& one) {
    return one.correlation == correlation && one.peer == peer;
  });
  if (waits) return true;
  if (bytes_ + frame.size() > kBytesMax) return false;
  bytes_ += frame.size();
  frames_.push_back({peer, correlation, std::string{frame}});
  return true;
}

std::optional<BulkLine::Frame> BulkLine::next() {
  if (frames_.empty()) return std::nullopt;
  Frame frame = std::move(frames_.front());
  frames_.pop_front();
  bytes_ -= frame.bytes.size();
  return frame;
}

}  // namespace carillon::jobtracker
