#include "tasktracker/fetch/shares.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace carillon::tasktracker {
namespace {

// The others' time in each second.
constexpr Duration kTurn = std::chrono::milliseconds{125};
constexpr std::int64_t kTurns = 8;

// Divides evenly; the rest goes to one after another, starting with a different one each time.
void deal(int room, const std::vector<std::size_t>& places, std::int64_t turn,
          std::vector<int>& shares) {
  const auto count = static_cast<int>(places.size());
  for (int i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>((turn + i) % count);
    shares[places[at]] += room / count + (i < room % count ? 1 : 0);
  }
}

}  // namespace

std::vector<int> shares(int room, bool is_idle, const std::vector<Claimant>& claimants,
                        SteadyTime now) {
  const std::int64_t turn = std::chrono::duration_cast<Duration>(now.time_since_epoch()) / kTurn;
  std::vector<int> all(claimants.size(), 0);
  std::vector<std::size_t> hungry;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i < claimants.size(); ++i) {
    (claimants[i].is_hungry ? hungry : others).push_back(i);
  }
  room = std::max(room, 0);
  if (hungry.empty()) {
    // If there is not one for each, another job tracker has it each second: its jobs may be
    // waiting.
    const bool is_short = room < static_cast<int>(others.size());
    deal(room, others, is_short ? turn / kTurns : 0, all);
  } else {
    const bool is_others_turn = turn % kTurns == 0 && !others.empty();
    const int reserved = is_others_turn ? std::min(room, static_cast<int>(others.size())) : 0;
    if (reserved > 0) deal(reserved, others, turn / kTurns, all);
    deal(room - reserved, hungry, turn, all);
  }
  int free = room;
  for (const Claimant& claimant : claimants) free -= claimant.owed;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const int owed = claimants[i].owed;
    if (all[i] > owed) {
      const int more = std::clamp(free, 0, all[i] - owed);
      all[i] = owed + more;
      free -= more;
    }
    if (is_idle && room < static_cast<int>(all.size())) all[i] = std::max(all[i], 1);
  }
  return all;
}

}  // namespace carillon::tasktracker
