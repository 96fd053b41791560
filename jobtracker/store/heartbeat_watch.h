#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// Interval of a job tracker's heartbeat, and of looks at the heartbeats of others.
inline constexpr Duration kHeartbeat = std::chrono::milliseconds{400};
inline constexpr Duration kLook = std::chrono::milliseconds{100};
// Interval of looks while a rebalance is expected.
inline constexpr Duration kLookSoon = std::chrono::milliseconds{3};
// A session whose heartbeat was not confirmed for this time hands out nothing, because others may
// declare it silent. Others may wait longer, which tolerates stalls.
inline constexpr Duration kSilence = std::chrono::milliseconds{1500};
// Two answers with a longer gap prove nothing about the time between them.
inline constexpr Duration kLookGapMax = std::chrono::seconds{1};

// The last state that a session wrote for one of its store connections.
struct SessionHeartbeat {
  SessionId session{};
  std::int32_t connection = 0;
  std::string name{};  // of the job tracker
  std::int64_t batch = 0;
  WallTime at{};  // of that batch; only compared for equality

  bool operator==(const SessionHeartbeat&) const = default;
};

// Detects silent sessions: their heartbeats have not changed for some time of our own steady clock.
// After a long gap between two answers, because the database or this process stalled, the gap does
// not count. A session that was quiet before then gets kSilence to prove that it works, because it
// may have stalled as well.
//
// Thread: the owner's. Pure.
class HeartbeatWatch {
 public:
  // `silence`: the time without a change; at least kSilence.
  explicit HeartbeatWatch(Duration silence = kSilence) : silence_(silence) {}

  // An answer with all store connections of the sessions that have not ended.
  void saw(const std::vector<SessionHeartbeat>& heartbeats, SteadyTime asked, SteadyTime answered);

  // All sessions in the last answer are silent; true if there is none.
  bool are_all_silent() const;
  // For each session it is known whether it works or is silent.
  bool is_settled() const;
  bool is_silent(SessionId session) const;
  // Sessions whose state is unknown, one entry each.
  std::vector<SessionHeartbeat> quiet() const;
  // The silent sessions, as last seen.
  std::vector<SessionHeartbeat> silent_heartbeats() const;
  // A session whose heartbeat changed, or that started while we watched, and that is not silent.
  // Null: none.
  const SessionHeartbeat* working() const;
  Sizes sizes() const { return {{"sessions", sessions_.size()}}; }

 private:
  struct Watched {
    std::vector<SessionHeartbeat> heartbeats{};
    SteadyTime since{};  // when it last changed; excluded gaps are added
    bool is_silent = false;
    bool has_changed = false;
  };

  SteadyTime after_gap(SteadyTime since, SteadyTime answered) const;

  Duration silence_;
  std::map<SessionId, Watched> sessions_{};
  bool has_seen_ = false;
  SteadyTime answered_{};  // the last answer
};

}  // namespace carillon::jobtracker
