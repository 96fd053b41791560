#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "jobtracker/store/batch.h"
#include "jobtracker/store/beat_watch.h"
#include "jobtracker/store/store_session.h"
#include "shared/base/clock.h"
#include "shared/sql/sql_connection.h"

// A session's rows in lts_tracker: the fence that every commit proves, and the beat.
//
// Where job trackers share a database the beat has a row, a connection and a thread of its own, so
// that a long transaction, or the reading at a start, is no silence.
namespace carillon::jobtracker {

// What a job tracker does while another one works on the store that it is to take over.
struct StandBy {
  // Called when one is found at work; again when it is another one.
  std::function<void(const SessionBeat& other)> on_other{};
  // Waits so long. False: nobody wants the store any more.
  std::function<bool(Duration longest)> wait{};
};

struct SessionStart {
  std::int64_t id_high = 0;  // no id ever given out is higher
  WallTime last_alive{};     // as StartAnswer has it
};

// The beats of all other sessions that have not ended.
Result<std::vector<SessionBeat>> read_beats(sql::Connection& db, const StoreSession& session);

// Watches until all other sessions have ended or are silent, and says what they wrote last.
// kConflict: `stand_by.wait` ended it before; who works there is named.
Result<std::vector<SessionBeat>> await_silence(sql::Connection& db, const StoreSession& session,
                                               const std::string& store_name, const Clock& clock,
                                               const StandBy& stand_by);

// Fences every other session and registers this one, in one transaction; with `silent`, only if the
// others are still as they were watched.
// kConflict: they are not, or their rows are locked.
Result<SessionStart> begin_session(sql::Connection& db, const StoreSession& session, WallTime now,
                                   const std::optional<std::vector<SessionBeat>>& silent);

// Notes on the server which connection is the session's lane, and ends those of others: one that
// stands still inside a transaction would keep its row locked for hours. MySQL only.
Status mark_connection(sql::Connection& db, const StoreSession& session);
Status end_connections(sql::Connection& db, const std::vector<SessionBeat>& silent);

// The fence and the beat, first statement of a commit's transaction. False: this session was
// fenced. Requires: a transaction.
Result<bool> prove_session(sql::Connection& db, const StoreSession& session, const Batch& batch);

// Whether the batch of that number was committed. On MySQL this waits for the end of a transaction
// that is still alive on the server, so that the answer is definite.
// kDenied: this session was fenced. Requires: no transaction.
Result<bool> settle_session(sql::Connection& db, const StoreSession& session, std::int64_t batch);

// False: the session was fenced, or has ended.
Result<bool> raise_beat(sql::Connection& db, SessionId session);

// Says that the session ended, so that the next one need not watch it.
Status end_session(sql::Connection& db, const StoreSession& session);

Error fenced_error(const StoreSession& session);

}  // namespace carillon::jobtracker
