#pragma once

#include <functional>
#include <string>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/beat_watch.h"
#include "jobtracker/store/cluster_view.h"
#include "jobtracker/store/session_plan.h"
#include "shared/base/clock.h"
#include "shared/sql/sql_connection.h"

// A session's rows in lts_tracker: the fence that every commit proves, and the beat.
//
// Where job trackers share a database the beat has a row, a connection and a thread of its own, so
// that a long transaction, or the reading at a start, is no silence.
namespace carillon::jobtracker {

// What a job tracker does while others work on the store.
struct StandBy {
  // Called when one is found at work whose end must be waited for; again when it is another one.
  std::function<void(const SessionBeat& other)> on_other{};
  // Called at each look at some of whom it is not known yet whether they are dead, though they
  // would have raised their beats by then.
  std::function<void(const std::vector<SessionBeat>& quiet)> on_quiet{};
  // Waits so long. False: nobody wants the store any more.
  std::function<bool(Duration longest)> wait{};
};

// The beats of all other sessions that have not ended.
Result<std::vector<SessionBeat>> read_beats(sql::Connection& db, const StoreSession& session);

// All that there is to see: the times are the asker's to note, and so is what he knew of groups.
Result<ClusterView> read_cluster(sql::Connection& db, GroupId groups_after);

// Watches until it is known of each other session whether it is silent; says what the silent ones
// wrote last. `is_alone`: until all are silent.
// kConflict: `stand_by.wait` ended it before; who works there is named.
Result<std::vector<SessionBeat>> await_settled(sql::Connection& db, const StoreSession& session,
                                               const std::string& store_name, const Clock& clock,
                                               bool is_alone, const StandBy& stand_by,
                                               BeatWatch watch = BeatWatch{});

// Registers the session, fences those that are to be fenced, and takes partitions, in one
// transaction. Where others may work on the store, one begins at a time.
// kConflict: one of the silent is not as it was watched, or its row is locked. kDenied: the session
// before was fenced. kTimeout: the connection broke inside COMMIT; called again with the same
// session, it goes on with what is stored, or begins.
Result<SessionStart> begin_session(sql::Connection& db, const StoreSession& session, WallTime now,
                                   const SessionPlan& plan);

// Notes on the server which connection is the session's lane, and ends those of others: one that
// stands still inside a transaction would keep its row locked for hours. MySQL only.
Status mark_connection(sql::Connection& db, const StoreSession& session);
Status end_connections(sql::Connection& db, const std::vector<SessionBeat>& silent);

// The fence and the beat, first statement of a commit's transaction. False: this session was
// fenced, if is_fenced() says so. Requires: a transaction.
Result<bool> prove_session(sql::Connection& db, const StoreSession& session, const Batch& batch);

// Whether another job tracker took over since the batch of that number was committed. False: this
// node of a cluster showed old rows, and does not any more. Requires: no transaction.
Result<bool> is_fenced(sql::Connection& db, const StoreSession& session, std::int64_t last_batch);

// Whether the batch of that number was committed. On MySQL this waits for the end of a transaction
// that is still alive on the server, so that the answer is definite.
// kDenied: this session was fenced. Requires: no transaction.
Result<bool> settle_session(sql::Connection& db, const StoreSession& session, std::int64_t batch);

// `yields`: it is about to let go of partitions. False: the session was fenced, or has ended.
Result<bool> raise_beat(sql::Connection& db, SessionId session, bool yields);

// Says that the session ended, so that the next one need not watch it.
Status end_session(sql::Connection& db, const StoreSession& session);

}  // namespace carillon::jobtracker
