#include "jobtracker/store/sql/session.h"

#include <algorithm>

#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectBeats =
    "SELECT session_id, lane, name, batch, beat_us FROM lts_tracker "
    "WHERE session_id <> ? AND ended = 0 ORDER BY session_id, lane";
constexpr std::string_view kSelectTrackers =
    "SELECT session_id, lane, name, batch, beat_us, id_high, alive_before_us, ended "
    "FROM lts_tracker";
constexpr std::string_view kDeleteTrackers =
    "DELETE FROM lts_tracker WHERE session_id <> ? OR lane IN (?, ?)";
constexpr std::string_view kInsertTracker =
    "INSERT INTO lts_tracker "
    "(session_id, lane, name, batch, id_high, beat_us, alive_before_us, ended) "
    "VALUES (?, ?, ?, 0, ?, ?, ?, 0)";
constexpr std::string_view kProve =
    "UPDATE lts_tracker SET batch = ?, id_high = ?, beat_us = ?, "
    "alive_before_us = CASE WHEN ? = 1 THEN 0 ELSE alive_before_us END "
    "WHERE session_id = ? AND lane = ? AND batch = ?";
constexpr std::string_view kSelectBatch =
    "SELECT batch FROM lts_tracker WHERE session_id = ? AND lane = ?";
constexpr std::string_view kEnd = "UPDATE lts_tracker SET ended = 1 WHERE session_id = ?";
constexpr std::string_view kBeatOnce =
    "UPDATE lts_tracker SET batch = batch + 1 WHERE session_id = ? AND lane = ? AND ended = 0";
constexpr std::int32_t kBeatLane = -1;
constexpr std::string_view kForUpdate = " FOR UPDATE";
// Whoever locks a row of lts_tracker does so for a commit's time, or stands still.
constexpr std::string_view kForUpdateNow = " FOR UPDATE NOWAIT";
// The server lets go of a lock with the connection that took it.
constexpr std::string_view kMark = "SELECT GET_LOCK(?, 0) AS taken";
constexpr std::string_view kMarked = "SELECT COALESCE(IS_USED_LOCK(?), 0) AS connection";

constexpr int kBeginTries = 3;

// SQLite's begin() has taken the only write lock there is.
std::string locking(const sql::Connection& db, std::string_view select, std::string_view lock) {
  return joined({select, db.dialect() == sql::Dialect::kMysql ? lock : ""});
}

SessionBeat beat_of(const sql::Row& row) {
  return {.session = SessionId{row.integer(0)},
          .lane = static_cast<std::int32_t>(row.integer(1)),
          .name = std::string{row.bytes(2)},
          .batch = row.integer(3),
          .at = wall_time(row.integer(4))};
}

// One lock a lane on the whole server; session ids are drawn at random.
std::string mark_of(SessionId session, std::int32_t lane) {
  return "carillon.lane." + std::to_string(session.value) + "." + std::to_string(lane);
}

Error in_use_error(const std::string& store_name, const SessionBeat* other) {
  if (other == nullptr) {
    return {ErrorCode::kConflict, "store " + store_name +
                                      " may be in use by another job tracker: it was not watched "
                                      "for long enough"};
  }
  return {ErrorCode::kConflict, "store " + store_name + " is in use by job tracker '" +
                                    other->name + "' (session " +
                                    std::to_string(other->session.value) + ")"};
}

// Nothing: the others are not as they were watched.
Result<std::optional<SessionStart>> try_begin(sql::Connection& db, const StoreSession& session,
                                              WallTime now,
                                              const std::optional<std::vector<SessionBeat>>& silent,
                                              std::string_view lock) {
  SessionStart start;
  bool are_same = true;
  CARILLON_TRY(db.begin());
  CARILLON_TRY(db.query(locking(db, kSelectTrackers, lock), {}, [&](const sql::Row& row) {
    const SessionBeat beat = beat_of(row);
    const bool is_ours = beat.session == session.session;
    const bool has_ended = row.integer(7) != 0;
    are_same = are_same && (!silent || is_ours || has_ended ||
                            std::find(silent->begin(), silent->end(), beat) != silent->end());
    // One that was still recovering hides nothing of what was missed before it.
    const bool counts = row.integer(6) == 0 && beat.batch > 0 && beat.lane != kBeatLane && !is_ours;
    start.id_high = std::max(start.id_high, row.integer(5));
    start.last_alive = std::max(start.last_alive, counts ? beat.at : wall_time(row.integer(6)));
  }));
  if (!are_same) {
    CARILLON_TRY(db.rollback());
    return std::optional<SessionStart>{};
  }
  CARILLON_TRY(db.execute(
      kDeleteTrackers,
      SqlValues{value_of(session.session), Value::of(session.lane), Value::of(kBeatLane)}));
  const auto insert = [&](std::int32_t lane, WallTime alive_before) {
    return db.execute(
        kInsertTracker,
        SqlValues{value_of(session.session), Value::of(lane), Value::of_text(session.name),
                  Value::of(start.id_high), value_of(now), value_of(alive_before)});
  };
  CARILLON_TRY(insert(session.lane, start.last_alive));
  if (silent) CARILLON_TRY(insert(kBeatLane, WallTime{}));
  CARILLON_TRY(db.commit());
  return std::optional{start};
}

}  // namespace

Error fenced_error(const StoreSession& session) {
  return {ErrorCode::kDenied, "session " + std::to_string(session.session.value) +
                                  " of job tracker '" + session.name +
                                  "' was fenced: another job tracker took over"};
}

Result<std::vector<SessionBeat>> read_beats(sql::Connection& db, const StoreSession& session) {
  std::vector<SessionBeat> beats;
  CARILLON_TRY(db.query(kSelectBeats, SqlValues{value_of(session.session)},
                        [&](const sql::Row& row) { beats.push_back(beat_of(row)); }));
  return beats;
}

Result<std::vector<SessionBeat>> await_silence(sql::Connection& db, const StoreSession& session,
                                               const std::string& store_name, const Clock& clock,
                                               const StandBy& stand_by) {
  BeatWatch watch;
  std::optional<SessionId> said;
  while (true) {
    const SteadyTime asked = clock.steady_now();
    const auto beats = CARILLON_TRY(read_beats(db, session));
    watch.saw(beats, asked, clock.steady_now());
    if (watch.are_all_silent()) return watch.beats();
    const SessionBeat* other = watch.working();
    if (other != nullptr && said != other->session) {
      said = other->session;
      stand_by.on_other(*other);
    }
    if (!stand_by.wait(kLook)) return in_use_error(store_name, other);
  }
}

Result<SessionStart> begin_session(sql::Connection& db, const StoreSession& session, WallTime now,
                                   const std::optional<std::vector<SessionBeat>>& silent) {
  for (int attempt = 1;; ++attempt) {
    const bool waits = !silent || attempt > 1;
    auto begun = try_begin(db, session, now, silent, waits ? kForUpdate : kForUpdateNow);
    if (begun.ok()) {
      if (begun.value()) return *begun.value();
      return Error{ErrorCode::kConflict, "another job tracker began to work meanwhile"};
    }
    if (begun.error().code != ErrorCode::kConflict || attempt == kBeginTries) return begun.error();
    CARILLON_TRY(db.rollback());
    if (silent) CARILLON_TRY(end_connections(db, *silent));
  }
}

Status mark_connection(sql::Connection& db, const StoreSession& session) {
  return db.query(kMark, SqlValues{Value::of_text(mark_of(session.session, session.lane))},
                  [](const sql::Row&) {});
}

Status end_connections(sql::Connection& db, const std::vector<SessionBeat>& silent) {
  for (const SessionBeat& beat : silent) {
    std::int64_t connection = 0;
    CARILLON_TRY(db.query(kMarked, SqlValues{Value::of_text(mark_of(beat.session, beat.lane))},
                          [&](const sql::Row& row) { connection = row.integer(0); }));
    // It may have gone by itself.
    if (connection != 0) (void)db.run_script("KILL " + std::to_string(connection));
  }
  return {};
}

Result<bool> prove_session(sql::Connection& db, const StoreSession& session, const Batch& batch) {
  const SqlValues values{Value::of(batch.number),    Value::of(batch.id_high),
                         value_of(batch.now),        value_of(batch.recovered),
                         value_of(session.session),  Value::of(session.lane),
                         Value::of(batch.number - 1)};
  return CARILLON_TRY(db.execute(kProve, values)) > 0;
}

Result<bool> settle_session(sql::Connection& db, const StoreSession& session, std::int64_t batch) {
  std::optional<std::int64_t> stored;
  CARILLON_TRY(db.begin());
  CARILLON_TRY(db.query(locking(db, kSelectBatch, kForUpdate),
                        SqlValues{value_of(session.session), Value::of(session.lane)},
                        [&](const sql::Row& row) { stored = row.integer(0); }));
  CARILLON_TRY(db.rollback());
  if (!stored) return fenced_error(session);
  return *stored >= batch;
}

Result<bool> raise_beat(sql::Connection& db, SessionId session) {
  return CARILLON_TRY(db.execute(kBeatOnce, SqlValues{value_of(session), Value::of(kBeatLane)})) >
         0;
}

Status end_session(sql::Connection& db, const StoreSession& session) {
  CARILLON_TRY(db.execute(kEnd, SqlValues{value_of(session.session)}));
  return {};
}

}  // namespace carillon::jobtracker
