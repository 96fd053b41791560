#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/net/transport.h"

namespace carillon::jobtracker {

// Where large submissions wait, as they came, until the store can take more of them: so that task
// trackers and those who submit single jobs never wait behind them, and what waits costs no more
// memory than its bytes.
//
// One that finds no room is to come again later. After a few times in vain it gets the room of
// those that came first after it did: so however many submit, each gets on.
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
  };

  // Whether a frame is to wait here.
  static bool takes(std::string_view frame);

  // Those that are to come again later, the sender perhaps. One that waits here already, sent
  // again, is not kept twice.
  std::vector<Sender> put(Sender sender, std::string_view frame);
  // Of those that wait the one that came first.
  std::optional<Frame> next();

  bool empty() const { return frames_.empty(); }

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

  bool has_room(std::size_t bytes) const;
  Turn turn_of(const Sender& sender);

  std::map<std::uint64_t, Frame> frames_{};            // by number
  std::size_t bytes_ = 0;                              // of those
  std::map<std::uint64_t, TurnedAway> turned_away_{};  // likewise
  std::uint64_t last_number_ = 0;
};

}  // namespace carillon::jobtracker
