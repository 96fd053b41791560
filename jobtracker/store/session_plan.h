#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "jobtracker/store/heartbeat_watch.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/reads.h"
#include "jobtracker/store/store_session.h"

// Plans the start of a session on a shared store: which sessions it fences, its number, and the
// partitions that it owns. Pure; the stores read the input and write the result in one transaction.
namespace carillon::jobtracker {

// The row of a session with its heartbeat, when job trackers share a store.
inline constexpr std::int32_t kHeartbeatConnection = -1;

// The input of a session's start.
struct SessionPlan {
  // Silent sessions, as last observed: they are fenced if they have not changed. None: no other
  // session uses the store, and all recorded ones are fenced.
  std::optional<std::vector<SessionHeartbeat>> silent{};
  SessionId before{};  // the previous session of the same process, which this one replaces; 0: none
  Partitions wanted = all_partitions();  // of those without a live owner
  std::string address{};                 // address for other job trackers
};

struct SessionStart {
  std::int64_t id_high = 0;  // the highest id ever assigned
  // See StartAnswer.
  WallTime last_alive{};
  std::map<std::int32_t, WallTime> last_alive_of{};
  std::map<std::int32_t, std::int64_t> epochs{};
  Partitions owned{};
  std::int32_t number = 0;
  Duration lease{};

  bool operator==(const SessionStart&) const = default;
};

// The stored state of one store connection of a session.
struct ConnectionNote {
  SessionHeartbeat heartbeat{};
  std::int64_t id_high = 0;
  WallTime alive_before{};  // epoch: the fires missed before it have outcomes
  bool has_ended = false;
  std::int32_t number = 0;
  Duration lease{};  // the longest lease that may be valid; 0: unknown
};

struct PartitionNote {
  SessionId owner{};  // 0: none
  WallTime alive_before{};
  std::int64_t epoch = 0;  // raised by each new owner
};
using PartitionNotes = std::map<std::int32_t, PartitionNote>;

struct SessionBeginning {
  // The sessions whose rows are deleted, with all their store connections as read: observed, ended,
  // and replaced ones; or all.
  std::map<SessionId, std::vector<SessionHeartbeat>> leaving{};
  PartitionNotes noted{};  // the new state of partitions
  SessionStart start{};
};

// The start of a session that is already stored continues with the stored data: it is repeated when
// the outcome of the commit is unknown. Errors: kDenied if the previous session was fenced.
// kInvalidArgument if there are too many sessions.
Result<SessionBeginning> plan_beginning(const std::vector<ConnectionNote>& connections,
                                        const PartitionNotes& partitions,
                                        const StoreSession& session, const SessionPlan& plan);

// False: a silent session has changed since it was observed.
bool are_as_watched(const SessionBeginning& beginning, const SessionPlan& plan);

// Removes data of partitions that others own.
void keep_owned(StartAnswer& start);

Error fenced_error(const StoreSession& session);

}  // namespace carillon::jobtracker
