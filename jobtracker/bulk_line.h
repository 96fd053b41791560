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

// Where large submissions wait, as they came, until the store can take more of them: so that task
// trackers and those who submit single jobs never wait behind them, and what waits costs no more
// memory than its bytes.
//
// One that finds no room is to come again later. After a few times in vain it gets the room of
// those that came first after it did: so however many submit, each gets on. One that waits for long
// is to come again too, before its sender gives it up: so the sender knows that it was not taken.
// It keeps its turn.
//
// Thread: the loop.
class BulkLine {
 public:
  struct Sender {
    net::Peer peer{};
    std::uint64_t correlation = 0;
    bool operator==(const Sender&) const = default;
  };
  struct Frame {
    Sender sender{};
    std::string bytes{};
    SteadyTime since{};
    int sendings = 1;
  };

  // Whether a frame is to wait here.
  static bool takes(std::string_view frame);

  // Those that are to come again later, the sender perhaps. One that waits here already, sent
  // again, is not kept twice; each sending is to be answered.
  std::vector<Sender> put(Sender sender, std::string_view frame, SteadyTime now);
  // Those that have waited for too long, and are to come again.
  std::vector<Sender> take_late(SteadyTime now);
  // Of those that wait the one that came first.
  std::optional<Frame> next();

  bool empty() const { return frames_.empty(); }
  Sizes sizes() const {
    return {{"frames", frames_.size()}, {"bytes", bytes_}, {"turned_away", turned_away_.size()}};
  }

 private:
  // Its place, by when it came first, and how often it found no room.
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
  std::size_t bytes_ = 0;                              // of those
  std::map<std::uint64_t, TurnedAway> turned_away_{};  // by number
  std::uint64_t last_number_ = 0;
};

}  // namespace carillon::jobtracker
