#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "jobtracker/store/beat_watch.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/reads.h"
#include "jobtracker/store/store_session.h"

// What the beginning of a session changes on a store on which others may work: whom it fences,
// which number it gets, and which partitions become its own. Pure; the stores read what is there
// and write what comes out, in one transaction.
namespace carillon::jobtracker {

// Where job trackers share a store, the row of a session that its beat is raised in.
inline constexpr std::int32_t kBeatLane = -1;

// As which a session begins.
struct SessionPlan {
  // Sessions that were watched and are silent: they are fenced if they still are as they were.
  // Nothing: nobody else works on the store, and whoever is noted there is fenced.
  std::optional<std::vector<SessionBeat>> silent{};
  SessionId before{};                    // of the same process, whose place this one takes; 0: none
  Partitions wanted = all_partitions();  // of those that nobody else owns who lives
  std::string address{};                 // where others reach it
};

struct SessionStart {
  std::int64_t id_high = 0;  // no id ever given out is higher
  // As StartAnswer has them.
  WallTime last_alive{};
  std::map<std::int32_t, WallTime> last_alive_of{};
  std::map<std::int32_t, std::int64_t> epochs{};
  Partitions owned{};
  std::int32_t number = 0;
  Duration lease{};

  bool operator==(const SessionStart&) const = default;
};

// What is noted of a lane of a session.
struct LaneNote {
  SessionBeat beat{};
  std::int64_t id_high = 0;
  WallTime alive_before{};  // epoch: what was missed before it has its outcomes
  bool has_ended = false;
  std::int32_t number = 0;
  Duration lease{};  // no longer one may be valid of those that were given by then; 0: not known
};

struct PartitionNote {
  SessionId owner{};  // 0: nobody
  WallTime alive_before{};
  std::int64_t epoch = 0;  // raised by each who takes it
};
using PartitionNotes = std::map<std::int32_t, PartitionNote>;

struct SessionBeginning {
  // Whose notes go, each with all of its lanes as they were read: those that were watched, that
  // have ended, and the one whose place is taken; or all.
  std::map<SessionId, std::vector<SessionBeat>> leaving{};
  PartitionNotes noted{};  // partitions that are noted anew
  SessionStart start{};
};

// A session that is already stored goes on as it began: it is asked for again when the outcome of
// the commit is unknown.
// kDenied: the session before was fenced. kInvalidArgument: there are as many as there may be.
Result<SessionBeginning> plan_beginning(const std::vector<LaneNote>& lanes,
                                        const PartitionNotes& partitions,
                                        const StoreSession& session, const SessionPlan& plan);

// False: one of the silent has written since it was watched.
bool are_as_watched(const SessionBeginning& beginning, const SessionPlan& plan);

// What others look after is none of ours.
void keep_owned(StartAnswer& start);

Error fenced_error(const StoreSession& session);

}  // namespace carillon::jobtracker
