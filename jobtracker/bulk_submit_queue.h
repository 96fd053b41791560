#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/sizes.h"
#include "shared/net/transport.h"

namespace carillon::jobtracker {

// Queue of large submissions, as received, until the store has capacity for them. It lets task
// trackers and submissions of single jobs pass, and costs no more memory than the bytes of the
// submissions.
//
// A submission that finds no room is rejected with a retry. After a few rejections it takes the
// room of submissions that arrived later, so every client makes progress. A submission that has
// waited long is rejected with a retry before its sender gives up: so the sender knows that it was
// not accepted. It keeps its position.
//
// Thread: the loop.
class BulkSubmitQueue {
 public:
  struct Sender {
    net::Peer peer{};
    std::uint64_t correlation = 0;
    std::string principal{};  // as in net::Sender
    std::string address{};
    bool is_internal = false;
    bool operator==(const Sender& other) const {
      return peer == other.peer && correlation == other.correlation &&
             is_internal == other.is_internal;
    }
    net::Sender connection() const {
      return {.peer = peer, .principal = principal, .address = address, .is_internal = is_internal};
    }
  };
  struct Frame {
    Sender sender{};
    std::string bytes{};
    SteadyTime since{};
    int sendings = 1;
  };

  // Whether a frame goes through this queue.
  static bool takes(std::string_view frame);

  // Queues a submission. Returns the senders to reject with a retry, perhaps this one. A repeated
  // submission is stored once, but each sending gets an answer.
  std::vector<Sender> put(Sender sender, std::string_view frame, SteadyTime now);
  // Removes those that have waited too long; they are rejected with a retry.
  std::vector<Sender> take_late(SteadyTime now);
  // The one that arrived first, or none.
  std::optional<Frame> next();

  bool empty() const { return frames_.empty(); }
  Sizes sizes() const {
    return {{"frames", frames_.size()}, {"bytes", bytes_}, {"turned_away", turned_away_.size()}};
  }

 private:
  // Position by first arrival, and number of rejections.
  struct Turn {
    std::uint64_t number = 0;
    int in_vain = 0;
  };
  struct TurnedAway {
    Sender sender{};
    int times = 0;
  };

  using Frames = std::map<std::uint64_t, Frame>;  // by number

  bool has_room(std::size_t bytes) const;
  Frames::iterator turn_away(Frames::iterator frame, int times, std::vector<Sender>& beyond);
  Turn turn_of(const Sender& sender);

  Frames frames_{};
  std::size_t bytes_ = 0;                              // of the queued frames
  std::map<std::uint64_t, TurnedAway> turned_away_{};  // by number
  std::uint64_t last_number_ = 0;
};

}  // namespace carillon::jobtracker
