#include "jobtracker/store/sql/session.h"

#include <algorithm>
#include <map>

#include "jobtracker/store/sql/sql_rows.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectHeartbeats =
    "SELECT session_id, lane, name, batch, beat_us FROM lts_tracker "
    "WHERE session_id <> ? AND ended = 0 ORDER BY session_id, lane";
constexpr std::string_view kSelectTrackers =
    "SELECT session_id, lane, name, batch, beat_us, id_high, alive_before_us, ended, number, "
    "address, yields, lease_us "
    "FROM lts_tracker ORDER BY session_id, lane";
constexpr std::string_view kSelectConnections =
    "SELECT session_id, lane, name, batch, beat_us FROM lts_tracker WHERE session_id = ? "
    "ORDER BY lane";
constexpr std::string_view kDeleteSession = "DELETE FROM lts_tracker WHERE session_id = ?";
constexpr std::string_view kDeleteConnection =
    "DELETE FROM lts_tracker WHERE session_id = ? AND lane IN (?, ?)";
constexpr std::string_view kInsertTracker =
    "INSERT INTO lts_tracker "
    "(session_id, lane, name, batch, id_high, beat_us, alive_before_us, ended, number, address, "
    "lease_us, log_settled) VALUES (?, ?, ?, 0, ?, ?, ?, 0, ?, ?, ?, ?)";
constexpr std::string_view kSelectPartitions =
    "SELECT partition_id, owner, alive_before_us, epoch FROM lts_partition";
constexpr std::string_view kReplacePartitions =
    "REPLACE INTO lts_partition (partition_id, owner, alive_before_us, epoch) VALUES";
constexpr int kPartitionWidth = 4;
constexpr std::string_view kSelectInboxPartitions = "SELECT DISTINCT group_id % 64 FROM lts_inbox";
constexpr std::string_view kSelectNewGroups =
    "SELECT group_id, name, table_name, served, created_us FROM lts_node_group "
    "WHERE group_id > ? ORDER BY group_id";
constexpr std::string_view kProve =
    "UPDATE lts_tracker SET batch = ?, id_high = ?, beat_us = ?, "
    "alive_before_us = CASE WHEN ? = 1 THEN 0 ELSE alive_before_us END, "
    "lease_us = COALESCE(NULLIF(?, 0), lease_us), "
    "log_settled = COALESCE(NULLIF(?, 0), log_settled) "
    "WHERE session_id = ? AND lane = ? AND batch = ?";
constexpr std::string_view kSelectBatch =
    "SELECT batch FROM lts_tracker WHERE session_id = ? AND lane = ?";
constexpr std::string_view kEnd = "UPDATE lts_tracker SET ended = 1 WHERE session_id = ?";
constexpr std::string_view kBeatOnce =
    "UPDATE lts_tracker SET batch = batch + 1, yields = ? WHERE session_id = ? AND lane = ? AND "
    "ended = 0";
constexpr std::string_view kForUpdate = " FOR UPDATE";
// A row of lts_tracker is locked during a commit, or by a stalled session.
constexpr std::string_view kForUpdateNow = " FOR UPDATE NOWAIT";
// The server releases a lock with its connection.
constexpr std::string_view kMark = "SELECT GET_LOCK(?, 0) AS taken";
constexpr std::string_view kMarked = "SELECT COALESCE(IS_USED_LOCK(?), 0) AS connection";
// Some clusters and proxies answer 1 for a lock that any connection holds.
constexpr std::string_view kIsOurs =
    "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ? AND id > 1 "
    "AND id <> CONNECTION_ID() AND user = SUBSTRING_INDEX(USER(), '@', 1) AND db = DATABASE()";

constexpr int kBeginTries = 3;

// A live session sends a heartbeat within this time.
constexpr Duration kTwoHeartbeats = 2 * kHeartbeat;

// A job tracker that dies during its start holds locks that all others need, and its session is not
// known yet, so others cannot close its connection: the server does, after the same time that they
// wait.
constexpr std::string_view kBoundSilence = "SET SESSION wait_timeout = 5";
constexpr std::string_view kAllowSilence = "SET SESSION wait_timeout = DEFAULT";

// SQLite's begin() has taken the only write lock.
std::string locking(const sql::Connection& db, std::string_view select, std::string_view lock) {
  return joined({select, db.dialect() == sql::Dialect::kMysql ? lock : ""});
}

SessionHeartbeat heartbeat_of(const sql::Row& row) {
  return {.session = SessionId{row.integer(0)},
          .connection = static_cast<std::int32_t>(row.integer(1)),
          .name = std::string{row.bytes(2)},
          .batch = row.integer(3),
          .at = wall_time(row.integer(4))};
}

// One lock per store connection on the whole server; session ids are random.
std::string mark_of(SessionId session, std::int32_t connection) {
  return "carillon.lane." + std::to_string(session.value) + "." + std::to_string(connection);
}

Error in_use_error(const std::string& store_name, const SessionHeartbeat* other) {
  if (other == nullptr) {
    return {ErrorCode::kConflict,
            "store " + store_name +
                " may be in use by another job tracker, which was not observed for long enough"};
  }
  return {ErrorCode::kConflict, "store " + store_name + " is in use by job tracker '" +
                                    other->name + "' (session " +
                                    std::to_string(other->session.value) + ")"};
}

Result<std::vector<ConnectionNote>> read_connections(sql::Connection& db) {
  std::vector<ConnectionNote> rows;
  CARILLON_TRY(db.query(kSelectTrackers, {}, [&](const sql::Row& row) {
    rows.push_back({.heartbeat = heartbeat_of(row),
                    .id_high = row.integer(5),
                    .alive_before = wall_time(row.integer(6)),
                    .has_ended = row.integer(7) != 0,
                    .number = static_cast<std::int32_t>(row.integer(8)),
                    .lease = Duration{row.integer(11)}});
  }));
  return rows;
}

Result<PartitionNotes> lock_partitions(sql::Connection& db) {
  PartitionNotes notes;
  CARILLON_TRY(db.query(locking(db, kSelectPartitions, kForUpdate), {}, [&](const sql::Row& row) {
    notes[static_cast<std::int32_t>(row.integer(0))] = {.owner = SessionId{row.integer(1)},
                                                        .alive_before = wall_time(row.integer(2)),
                                                        .epoch = row.integer(3)};
  }));
  return notes;
}

// False: a session to remove has just written.
Result<bool> lock_sessions(sql::Connection& db,
                           const std::map<SessionId, std::vector<SessionHeartbeat>>& sessions,
                           std::string_view lock) {
  for (const auto& [session, seen] : sessions) {
    std::vector<SessionHeartbeat> now;
    CARILLON_TRY(db.query(locking(db, kSelectConnections, lock), SqlValues{value_of(session)},
                          [&](const sql::Row& row) { now.push_back(heartbeat_of(row)); }));
    if (now != seen) return false;
  }
  return true;
}

// None: the others have changed since they were observed.
Result<std::optional<SessionStart>> try_begin(sql::Connection& db, const StoreSession& session,
                                              WallTime now, const SessionPlan& plan,
                                              std::string_view lock) {
  CARILLON_TRY(db.begin());
  // First, because this waits for the end of a start that is still active on the server although
  // its connection broke, ours or another's.
  const auto partitions = CARILLON_TRY(lock_partitions(db));
  const auto connections = CARILLON_TRY(read_connections(db));
  const auto planned = plan_beginning(connections, partitions, session, plan);
  if (!planned.ok()) {
    CARILLON_TRY(db.rollback());
    return planned.error();
  }
  const SessionBeginning& beginning = planned.value();
  const SessionStart& start = beginning.start;
  const bool are_locked = CARILLON_TRY(lock_sessions(db, beginning.leaving, lock));
  if (!are_locked || !are_as_watched(beginning, plan)) {
    CARILLON_TRY(db.rollback());
    return std::optional<SessionStart>{};
  }
  SqlValues noted;
  for (const auto& [partition, note] : beginning.noted) {
    noted.insert(noted.end(), {Value::of(partition), value_of(note.owner),
                               value_of(note.alive_before), Value::of(note.epoch)});
  }
  CARILLON_TRY(db.insert_rows(kReplacePartitions, kPartitionWidth, noted));
  for (const auto& [one, heartbeats] : beginning.leaving) {
    CARILLON_TRY(db.execute(kDeleteSession, SqlValues{value_of(one)}));
  }
  CARILLON_TRY(db.execute(kDeleteConnection,
                          SqlValues{value_of(session.session), Value::of(session.connection),
                                    Value::of(kHeartbeatConnection)}));
  const auto insert = [&](std::int32_t connection, WallTime alive_before) {
    return db.execute(
        kInsertTracker,
        SqlValues{value_of(session.session), Value::of(connection), Value::of_text(session.name),
                  Value::of(start.id_high), value_of(now), value_of(alive_before),
                  Value::of(start.number), Value::of_text(plan.address),
                  Value::of(start.lease.count()), Value::of(start.id_high)});
  };
  CARILLON_TRY(insert(session.connection, start.last_alive));
  if (plan.silent) CARILLON_TRY(insert(kHeartbeatConnection, WallTime{}));
  CARILLON_TRY(db.commit());
  return std::optional{start};
}

// Another job tracker took the same number on another node of a cluster.
Error as_outrun(Error error) {
  if (is_duplicate_key(error)) error.code = ErrorCode::kConflict;
  return error;
}

}  // namespace

Result<std::vector<SessionHeartbeat>> read_heartbeats(sql::Connection& db,
                                                      const StoreSession& session) {
  std::vector<SessionHeartbeat> heartbeats;
  CARILLON_TRY(db.query(kSelectHeartbeats, SqlValues{value_of(session.session)},
                        [&](const sql::Row& row) { heartbeats.push_back(heartbeat_of(row)); }));
  return heartbeats;
}

Result<ClusterView> read_cluster(sql::Connection& db, GroupId groups_after) {
  ClusterView view;
  CARILLON_TRY(db.query(kSelectTrackers, {}, [&](const sql::Row& row) {
    if (row.integer(7) != 0) return;
    const SessionHeartbeat heartbeat = heartbeat_of(row);
    if (view.trackers.empty() || view.trackers.back().session != heartbeat.session) {
      view.trackers.push_back({.session = heartbeat.session,
                               .name = heartbeat.name,
                               .address = std::string{row.bytes(9)},
                               .yields = row.integer(10) != 0});
    }
    view.heartbeats.push_back(heartbeat);
  }));
  CARILLON_TRY(db.query(kSelectPartitions, {}, [&](const sql::Row& row) {
    view.owners.at(static_cast<std::size_t>(row.integer(0)) % kPartitions) =
        SessionId{row.integer(1)};
  }));
  CARILLON_TRY(db.query(kSelectInboxPartitions, {}, [&](const sql::Row& row) {
    view.inbox.set(static_cast<std::size_t>(row.integer(0)) % kPartitions);
  }));
  CARILLON_TRY(
      db.query(kSelectNewGroups, SqlValues{value_of(groups_after)}, [&](const sql::Row& row) {
        view.groups.push_back({.id = GroupId{static_cast<std::int32_t>(row.integer(0))},
                               .name = std::string{row.bytes(1)},
                               .table = std::string{row.bytes(2)},
                               .served = row.integer(3) != 0,
                               .created_at = wall_time(row.integer(4))});
      }));
  return view;
}

Result<std::vector<SessionHeartbeat>> await_settled(sql::Connection& db,
                                                    const StoreSession& session,
                                                    const std::string& store_name,
                                                    const Clock& clock, bool is_alone,
                                                    const StandBy& stand_by, HeartbeatWatch watch) {
  std::optional<SessionId> said;
  const SteadyTime began = clock.steady_now();
  while (true) {
    const SteadyTime asked = clock.steady_now();
    const auto heartbeats = CARILLON_TRY(read_heartbeats(db, session));
    watch.saw(heartbeats, asked, clock.steady_now());
    if (is_alone ? watch.are_all_silent() : watch.is_settled()) return watch.silent_heartbeats();
    const SessionHeartbeat* other = watch.working();
    if (is_alone && other != nullptr && said != other->session) {
      said = other->session;
      stand_by.on_other(*other);
    }
    const auto quiet = watch.quiet();
    if (!quiet.empty() && asked >= began + kTwoHeartbeats) stand_by.on_quiet(quiet);
    if (!stand_by.wait(kLook)) return in_use_error(store_name, other);
  }
}

Result<SessionStart> begin_session(sql::Connection& db, const StoreSession& session, WallTime now,
                                   const SessionPlan& plan) {
  const bool is_shared = db.dialect() == sql::Dialect::kMysql;
  if (is_shared) CARILLON_TRY(db.run_script(std::string{kBoundSilence}));
  for (int attempt = 1;; ++attempt) {
    const bool waits = !plan.silent || attempt > 1;
    auto begun = try_begin(db, session, now, plan, waits ? kForUpdate : kForUpdateNow);
    if (begun.ok()) {
      // The session may be stored by now. If this fails, its store connection reconnects.
      if (is_shared) (void)db.run_script(std::string{kAllowSilence});
      if (begun.value()) return *begun.value();
      return Error{ErrorCode::kConflict, "another job tracker has started on this store"};
    }
    const Error error = as_outrun(std::move(begun).error());
    const bool was_outrun = error.code == ErrorCode::kConflict;
    const bool may_be_old = error.code == ErrorCode::kDenied && attempt == 1;
    if ((!was_outrun && !may_be_old) || attempt == kBeginTries) return error;
    CARILLON_TRY(db.rollback());
    CARILLON_TRY(db.catch_up());
    if (was_outrun && plan.silent) CARILLON_TRY(end_connections(db, *plan.silent));
  }
}

Status mark_connection(sql::Connection& db, const StoreSession& session) {
  return db.query(kMark, SqlValues{Value::of_text(mark_of(session.session, session.connection))},
                  [](const sql::Row&) {});
}

Status end_connections(sql::Connection& db, const std::vector<SessionHeartbeat>& silent) {
  for (const SessionHeartbeat& heartbeat : silent) {
    std::int64_t connection = 0;
    CARILLON_TRY(db.query(
        kMarked, SqlValues{Value::of_text(mark_of(heartbeat.session, heartbeat.connection))},
        [&](const sql::Row& row) { connection = row.integer(0); }));
    if (connection == 0) continue;
    bool is_ours = false;
    CARILLON_TRY(db.query(kIsOurs, SqlValues{Value::of(connection)},
                          [&](const sql::Row& row) { is_ours = row.integer(0) != 0; }));
    // It may have ended by itself.
    if (is_ours) (void)db.run_script("KILL " + std::to_string(connection));
  }
  return {};
}

Result<bool> prove_session(sql::Connection& db, const StoreSession& session, const Batch& batch) {
  const SqlValues values{
      Value::of(batch.number),   Value::of(batch.id_high),       value_of(batch.now),
      value_of(batch.recovered), Value::of(batch.lease.count()), Value::of(batch.log_settled),
      value_of(session.session), Value::of(session.connection),  Value::of(batch.number - 1)};
  return CARILLON_TRY(db.execute(kProve, values)) > 0;
}

Result<bool> is_fenced(sql::Connection& db, const StoreSession& session, std::int64_t last_batch) {
  CARILLON_TRY(db.catch_up());
  std::optional<std::int64_t> stored;
  CARILLON_TRY(db.query(kSelectBatch,
                        SqlValues{value_of(session.session), Value::of(session.connection)},
                        [&](const sql::Row& row) { stored = row.integer(0); }));
  return stored != last_batch;
}

Result<bool> settle_session(sql::Connection& db, const StoreSession& session, std::int64_t batch) {
  std::optional<std::int64_t> stored;
  CARILLON_TRY(db.catch_up());
  CARILLON_TRY(db.begin());
  CARILLON_TRY(db.query(locking(db, kSelectBatch, kForUpdate),
                        SqlValues{value_of(session.session), Value::of(session.connection)},
                        [&](const sql::Row& row) { stored = row.integer(0); }));
  CARILLON_TRY(db.rollback());
  if (!stored) return fenced_error(session);
  return *stored >= batch;
}

Result<bool> raise_heartbeat(sql::Connection& db, SessionId session, bool yields) {
  return CARILLON_TRY(db.execute(kBeatOnce, SqlValues{value_of(yields), value_of(session),
                                                      Value::of(kHeartbeatConnection)})) > 0;
}

Status end_session(sql::Connection& db, const StoreSession& session) {
  CARILLON_TRY(db.execute(kEnd, SqlValues{value_of(session.session)}));
  return {};
}

}  // namespace carillon::jobtracker
