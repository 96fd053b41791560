#include "jobtracker/bulk_submit_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

// Reading a frame of at least this size delays others noticeably.
constexpr std::size_t kLarge = 16 * 1024;
// A few seconds' worth of small jobs; beyond it clients are asked to slow down.
constexpr std::size_t kBytesMax = 32 * 1024 * 1024;
// After this number of rejections a sender gets room from others: after 0.75 s of the client
// library's waits. Helping earlier costs more, because the displaced clients send everything again.
constexpr int kInVainMax = 4;
// A rejected sender keeps its position until this many others have come; longer than its resends
// take.
constexpr std::uint64_t kRemembered = 4096;
// A third of the client library's time-out: it can wait a second time.
constexpr Duration kWaitMax = std::chrono::seconds{10};

}  // namespace

bool BulkSubmitQueue::takes(std::string_view frame) {
  return frame.size() >= kLarge && wire::is_submit(frame);
}

bool BulkSubmitQueue::has_room(std::size_t bytes) const { return bytes_ + bytes <= kBytesMax; }

std::vector<BulkSubmitQueue::Sender> BulkSubmitQueue::put(Sender sender, std::string_view frame,
                                                          SteadyTime now) {
  const auto waits = std::find_if(frames_.begin(), frames_.end(),
                                  [&](const auto& one) { return one.second.sender == sender; });
  if (waits != frames_.end()) {
    ++waits->second.sendings;
    return {};
  }
  const Turn turn = turn_of(sender);
  if (!has_room(frame.size()) && turn.in_vain < kInVainMax) {
    turned_away_.emplace(turn.number, TurnedAway{sender, turn.in_vain + 1});
    return {std::move(sender)};
  }
  bytes_ += frame.size();
  frames_.emplace(turn.number, Frame{std::move(sender), std::string{frame}, now});
  std::vector<Sender> beyond;
  while (!has_room(0)) turn_away(std::prev(frames_.end()), 1, beyond);
  return beyond;
}

std::vector<BulkSubmitQueue::Sender> BulkSubmitQueue::take_late(SteadyTime now) {
  std::vector<Sender> late;
  for (auto frame = frames_.begin(); frame != frames_.end();) {
    const bool is_late = frame->second.since + kWaitMax <= now;
    frame = is_late ? turn_away(frame, kInVainMax, late) : std::next(frame);
  }
  return late;
}

BulkSubmitQueue::Frames::iterator BulkSubmitQueue::turn_away(Frames::iterator frame, int times,
                                                             std::vector<Sender>& beyond) {
  auto& [number, its] = *frame;
  bytes_ -= its.bytes.size();
  beyond.insert(beyond.end(), static_cast<std::size_t>(its.sendings), its.sender);
  turned_away_.emplace(number, TurnedAway{std::move(its.sender), times});
  return frames_.erase(frame);
}

BulkSubmitQueue::Turn BulkSubmitQueue::turn_of(const Sender& sender) {
  const auto known = std::find_if(turned_away_.begin(), turned_away_.end(),
                                  [&](const auto& one) { return one.second.sender == sender; });
  if (known != turned_away_.end()) {
    const auto turned_away = turned_away_.extract(known);
    return {turned_away.key(), turned_away.mapped().times};
  }
  ++last_number_;
  if (last_number_ > kRemembered) {
    turned_away_.erase(turned_away_.begin(), turned_away_.lower_bound(last_number_ - kRemembered));
  }
  return {last_number_, 0};
}

std::optional<BulkSubmitQueue::Frame> BulkSubmitQueue::next() {
  if (frames_.empty()) return std::nullopt;
  Frame frame = std::move(frames_.extract(frames_.begin()).mapped());
  bytes_ -= frame.bytes.size();
  return frame;
}

}  // namespace carillon::jobtracker
