#pragma once

#include <string>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/store_session.h"
#include "shared/base/clock.h"
#include "shared/sql/sql_connection.h"

// A session's rows in lts_tracker: the fence that every commit proves, and the beat.
namespace carillon::jobtracker {

struct SessionStart {
  std::int64_t id_high = 0;  // no id ever given out is higher
  WallTime last_alive{};     // as StartAnswer has it
};

// Watches the beats of the sessions that did not end cleanly, for `watch` of our steady clock.
// kConflict: one of them moves, so another job tracker works on this store; it is named.
// Returns at once when there is none to watch.
Status check_nobody_works(sql::Connection& db, const StoreSession& session,
                          const std::string& store_name, const Clock& clock, Duration watch);

// Fences every other session and registers this one, in one transaction.
Result<SessionStart> begin_session(sql::Connection& db, const StoreSession& session, WallTime now);

// The fence and the beat, first statement of a commit's transaction. False: this session was
// fenced. Requires: a transaction.
Result<bool> prove_session(sql::Connection& db, const StoreSession& session, const Batch& batch);

// Whether the batch of that number was committed. On MySQL this waits for the end of a transaction
// that is still alive on the server, so that the answer is definite.
// kDenied: this session was fenced. Requires: no transaction.
Result<bool> settle_session(sql::Connection& db, const StoreSession& session, std::int64_t batch);

// Says that the session ended, so that the next one need not watch it.
Status end_session(sql::Connection& db, const StoreSession& session);

Error fenced_error(const StoreSession& session);

}  // namespace carillon::jobtracker
