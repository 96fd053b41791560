#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/heartbeat_watch.h"
#include "jobtracker/store/session_plan.h"
#include "shared/base/clock.h"
#include "shared/sql/sql_connection.h"

// A session's rows in lts_tracker: the fence that each commit checks, and the heartbeat.
//
// On a shared database the heartbeat has its own row, connection and thread, so that a long
// transaction, or the reading at a start, does not look like silence.
namespace carillon::jobtracker {

// Callbacks of a job tracker that waits for others on the store.
struct StandBy {
  // Called when a live session is found whose end must be waited for; again for another one.
  std::function<void(const SessionHeartbeat& other)> on_other{};
  // Called at each look with the sessions of which it is unknown whether they are dead, although
  // they should have sent a heartbeat by then.
  std::function<void(const std::vector<SessionHeartbeat>& quiet)> on_quiet{};
  // Waits this long. False: the start was cancelled.
  std::function<bool(Duration longest)> wait{};
};

// The heartbeats of all other sessions that have not ended.
Result<std::vector<SessionHeartbeat>> read_heartbeats(sql::Connection& db,
                                                      const StoreSession& session);

// Everything visible of the job trackers; the caller sets the times and passes the known groups.
Result<ClusterView> read_cluster(sql::Connection& db, GroupId groups_after);

// Waits until it is known for each other session whether it is silent. Returns the last state of
// the silent ones. `is_alone`: waits until all are silent. Error: kConflict if `stand_by.wait`
// ended the wait; it names a live session.
Result<std::vector<SessionHeartbeat>> await_settled(sql::Connection& db,
                                                    const StoreSession& session,
                                                    const std::string& store_name,
                                                    const Clock& clock, bool is_alone,
                                                    const StandBy& stand_by,
                                                    HeartbeatWatch watch = HeartbeatWatch{});

// Registers the session, fences others, and takes partitions, in one transaction. On a shared
// store, one session starts at a time. Errors: kConflict if a silent session has changed, or its
// row is locked. kDenied if the previous session was fenced. kTimeout if the connection broke
// during COMMIT; a repeated call with the same session continues with the stored data, or starts.
Result<SessionStart> begin_session(sql::Connection& db, const StoreSession& session, WallTime now,
                                   const SessionPlan& plan);

// Records which connection is the session's store connection, and closes those of other sessions: a
// stalled one inside a transaction would lock its row for hours. MySQL only.
Status mark_connection(sql::Connection& db, const StoreSession& session);
Status end_connections(sql::Connection& db, const std::vector<SessionHeartbeat>& silent);

// The fence and the heartbeat, the first statement of a commit's transaction. False: this session
// was fenced, if is_fenced() confirms it. Requires: a transaction.
Result<bool> prove_session(sql::Connection& db, const StoreSession& session, const Batch& batch);

// Whether another job tracker took over after the batch with this number was committed. False: this
// node of a cluster returned old rows, and does not any more. Requires: no transaction.
Result<bool> is_fenced(sql::Connection& db, const StoreSession& session, std::int64_t last_batch);

// Whether the batch with this number was committed. On MySQL this waits for the end of a
// transaction that is still active on the server, so that the answer is final. Error: kDenied if
// this session was fenced. Requires: no transaction.
Result<bool> settle_session(sql::Connection& db, const StoreSession& session, std::int64_t batch);

// `yields`: it is about to give up partitions. False: the session was fenced, or has ended.
Result<bool> raise_heartbeat(sql::Connection& db, SessionId session, bool yields);

// Records the end of the session, so that the next one need not wait for its silence.
Status end_session(sql::Connection& db, const StoreSession& session);

}  // namespace carillon::jobtracker
