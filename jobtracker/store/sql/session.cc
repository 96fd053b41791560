#include "jobtracker/store/sql/session.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "jobtracker/store/sql/sql_rows.h"
#include "shared/base/mutex.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectBeats =
    "SELECT session_id, lane, name, batch, beat_us FROM lts_tracker "
    "WHERE session_id <> ? AND ended = 0";
constexpr std::string_view kSelectTrackers =
    "SELECT session_id, batch, id_high, beat_us, alive_before_us FROM lts_tracker";
constexpr std::string_view kDeleteTrackers =
    "DELETE FROM lts_tracker WHERE session_id <> ? OR lane = ?";
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
constexpr std::string_view kEnd =
    "UPDATE lts_tracker SET ended = 1 WHERE session_id = ? AND lane = ?";
constexpr std::string_view kForUpdate = " FOR UPDATE";

constexpr Duration kWatchStep = std::chrono::milliseconds{100};
constexpr int kBeginTries = 3;

struct Beat {
  std::string name{};
  std::int64_t batch = 0;
  std::int64_t beat = 0;

  bool operator==(const Beat&) const = default;
};
using Beats = std::map<std::pair<std::int64_t, std::int64_t>, Beat>;  // session, lane

// SQLite's begin() has taken the only write lock there is.
std::string locking(const sql::Connection& db, std::string_view select) {
  return joined({select, db.dialect() == sql::Dialect::kMysql ? kForUpdate : ""});
}

Result<Beats> read_beats(sql::Connection& db, const StoreSession& session) {
  Beats beats;
  CARILLON_TRY(
      db.query(kSelectBeats, SqlValues{value_of(session.session)}, [&](const sql::Row& row) {
        beats[{row.integer(0), row.integer(1)}] = {
            .name = std::string{row.bytes(2)}, .batch = row.integer(3), .beat = row.integer(4)};
      }));
  return beats;
}

// Nothing wakes this up before its time.
void wait(Duration longest) {
  Mutex mutex;
  Condition never;
  MutexLock lock{mutex};
  never.wait_for(lock, longest);
}

Result<SessionStart> try_begin(sql::Connection& db, const StoreSession& session, WallTime now) {
  SessionStart start;
  CARILLON_TRY(db.begin());
  CARILLON_TRY(db.query(locking(db, kSelectTrackers), {}, [&](const sql::Row& row) {
    const bool is_ours = row.integer(0) == session.session.value;
    // One that was still recovering hides nothing of what was missed before it.
    const bool counts = row.integer(4) == 0 && row.integer(1) > 0 && !is_ours;
    start.id_high = std::max(start.id_high, row.integer(2));
    start.last_alive =
        std::max(start.last_alive, wall_time(counts ? row.integer(3) : row.integer(4)));
  }));
  CARILLON_TRY(
      db.execute(kDeleteTrackers, SqlValues{value_of(session.session), Value::of(session.lane)}));
  CARILLON_TRY(db.execute(
      kInsertTracker,
      SqlValues{value_of(session.session), Value::of(session.lane), Value::of_text(session.name),
                Value::of(start.id_high), value_of(now), value_of(start.last_alive)}));
  CARILLON_TRY(db.commit());
  return start;
}

}  // namespace

Error fenced_error(const StoreSession& session) {
  return {ErrorCode::kDenied, "session " + std::to_string(session.session.value) +
                                  " of job tracker '" + session.name +
                                  "' was fenced: another job tracker took over"};
}

Status check_nobody_works(sql::Connection& db, const StoreSession& session,
                          const std::string& store_name, const Clock& clock, Duration watch) {
  const Beats before = CARILLON_TRY(read_beats(db, session));
  if (before.empty()) return {};
  const SteadyTime end = clock.steady_now() + watch;
  while (clock.steady_now() < end) {
    wait(kWatchStep);
    for (const auto& [key, beat] : CARILLON_TRY(read_beats(db, session))) {
      const auto old = before.find(key);
      if (old != before.end() && old->second == beat) continue;
      return Error{ErrorCode::kConflict,
                   "store " + store_name + " is in use by job tracker '" + beat.name +
                       "' (session " + std::to_string(key.first) +
                       "): stop it first, or give this one a store of its own"};
    }
  }
  return {};
}

Result<SessionStart> begin_session(sql::Connection& db, const StoreSession& session, WallTime now) {
  for (int attempt = 1;; ++attempt) {
    auto start = try_begin(db, session, now);
    if (start.ok() || start.error().code != ErrorCode::kConflict || attempt == kBeginTries) {
      return start;
    }
  }
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
  CARILLON_TRY(db.query(locking(db, kSelectBatch),
                        SqlValues{value_of(session.session), Value::of(session.lane)},
                        [&](const sql::Row& row) { stored = row.integer(0); }));
  CARILLON_TRY(db.rollback());
  if (!stored) return fenced_error(session);
  return *stored >= batch;
}

Status end_session(sql::Connection& db, const StoreSession& session) {
  CARILLON_TRY(db.execute(kEnd, SqlValues{value_of(session.session), Value::of(session.lane)}));
  return {};
}

}  // namespace carillon::jobtracker
