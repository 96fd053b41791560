#include "jobtracker/store/sql/sql_store.h"

#include <algorithm>
#include <utility>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/group_split.h"
#include "jobtracker/store/sql/schema_migration.h"
#include "jobtracker/store/sql/sql_reads.h"

namespace carillon::jobtracker {
namespace {

bool is_lost(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout;
}

// For readers all temporary errors are the same: ask again.
Error for_reader(Error error) {
  if (error.code == ErrorCode::kConflict || error.code == ErrorCode::kTimeout) {
    error.code = ErrorCode::kUnavailable;
  }
  return error;
}

// Long statements are aborted with their connection.
constexpr int kSplitsLostMax = 3;

Error too_large_to_split(const GroupSplit& split) {
  return {ErrorCode::kLimit, "group '" + split.group +
                                 "' could not be split: the connection was lost each time (check "
                                 "the database, or split the group when fewer jobs wait)"};
}

}  // namespace

Result<OpenedStore> SqlStore::open(Connect connect, const SqlStoreOptions& options,
                                   const Clock& clock, const Logger& log) {
  auto connection = CARILLON_TRY(connect());
  // While the previous session was alive, no other session migrated anything.
  const int found = options.plan.before ? known_schema(*connection)
                                        : CARILLON_TRY(read_schema(*connection, options.name));
  if (found != 0 && found != known_schema(*connection) && options.plan.silent) {
    // Nothing is migrated while another session is alive.
    const auto heartbeats = CARILLON_TRY(read_heartbeats(*connection, options.session));
    if (heartbeats != *options.plan.silent) {
      return Error{ErrorCode::kConflict,
                   "store " + options.name + ": another job tracker has started on this store"};
    }
  }
  std::unique_ptr<sql::Connection> patient;
  if (found != known_schema(*connection) && options.connect_to_migrate)
    patient = CARILLON_TRY(options.connect_to_migrate());
  const int schema = CARILLON_TRY(
      migrate_schema(patient ? *patient : *connection, found, options.name, clock.wall_now()));
  if (found != 0 && found != schema) {
    log.info("schema migrated", "store", options.name, "from", found, "to", schema);
  }
  const SteadyTime asked = clock.steady_now();
  const auto start =
      CARILLON_TRY(begin_session(*connection, options.session, clock.wall_now(), options.plan));
  return OpenedStore{.store = std::unique_ptr<Store>{new SqlStore{
                         std::move(connect), options, clock, log, std::move(connection), start}},
                     .newly_made = found == 0,
                     .place = options.name,
                     .proven = asked};
}

SqlStore::SqlStore(Connect connect, const SqlStoreOptions& options, const Clock& clock,
                   const Logger& log, std::unique_ptr<sql::Connection> connection,
                   const SessionStart& start)
    : connect_(std::move(connect)),
      options_(options),
      clock_(clock),
      log_(log),
      connection_(std::move(connection)),
      start_(start),
      waiting_groups_(start.owned) {}

SqlStore::~SqlStore() {
  if (connection_ == nullptr) return;
  const auto status = end_session(*connection_, options_.session);
  if (!status.ok()) {
    log_.warn("cannot record the end of the session", "store", options_.name, "reason",
              status.error().message);
  }
}

Result<sql::Connection*> SqlStore::connected() {
  if (connection_ == nullptr) {
    auto opened = connect_();
    // The database existed, so any failure to connect counts as unreachable.
    if (!opened.ok()) return Error{ErrorCode::kUnavailable, std::move(opened).error().message};
    connection_ = std::move(opened).value();
  }
  return connection_.get();
}

void SqlStore::note(const Error& error) {
  if (is_lost(error)) connection_.reset();
}

Result<Committed> SqlStore::write(sql::Connection& db, const Batch& batch, RolledBack& details) {
  CARILLON_TRY(db.begin());
  waiting_groups_.begin();
  if (!CARILLON_TRY(prove_session(db, options_.session, batch))) {
    CARILLON_TRY(db.rollback());
    details.fenced = CARILLON_TRY(is_fenced(db, options_.session, batch.number - 1));
    if (details.fenced) return fenced_error(options_.session);
    return Error{ErrorCode::kConflict, "the database returned old rows"};
  }
  auto written = CARILLON_TRY(
      write_batch(db, groups_, waiting_groups_, rows_, options_.describe, batch, details.culprit));
  CARILLON_TRY(waiting_groups_.remove_empty(db, groups_, clock_.steady_now()));
  return written;
}

CommitResult SqlStore::commit(const Batch& batch) {
  auto db = connected();
  if (!db.ok()) return RolledBack{.error = std::move(db).error()};
  RolledBack details;
  const SteadyTime began = clock_.steady_now();
  auto written = write(*db.value(), batch, details);
  if (!written.ok()) {
    details.error = std::move(written).error();
    if (details.error.code != ErrorCode::kInvalidArgument) details.culprit.reset();
    // The connection has rolled back its own failures; this rolls back after errors found here.
    if (!is_lost(details.error)) {
      if (auto status = db.value()->rollback(); !status.ok()) connection_.reset();
    }
    note(details.error);
    // Before COMMIT, a broken connection ends the transaction.
    if (details.error.code == ErrorCode::kTimeout) details.error.code = ErrorCode::kUnavailable;
    return details;
  }
  written.value().rows_took = std::chrono::duration_cast<Duration>(clock_.steady_now() - began);
  if (auto status = db.value()->commit(); !status.ok()) {
    const Error& error = status.error();
    note(error);
    if (error.code == ErrorCode::kTimeout) {
      return Unknown{.if_committed = std::move(written).value()};
    }
    return RolledBack{.error = error};
  }
  waiting_groups_.committed();
  return std::move(written).value();
}

Result<bool> SqlStore::settle(std::int64_t batch_number) {
  sql::Connection* db = CARILLON_TRY(connected());
  auto settled = settle_session(*db, options_.session, batch_number);
  if (settled.ok()) return settled;
  note(settled.error());
  // A lock of that transaction that is still held is not an answer.
  return for_reader(std::move(settled).error());
}

Result<ReadAnswer> SqlStore::read(const Read& question) {
  auto answered = answer(question);
  if (answered.ok()) return answered;
  note(answered.error());
  return for_reader(std::move(answered).error());
}

Result<ReadAnswer> SqlStore::answer(const Read& question) {
  sql::Connection* db = CARILLON_TRY(connected());
  if (const auto* make = std::get_if<MakeGroup>(&question)) {
    auto group = CARILLON_TRY(groups_.make(*db, make->name, clock_.wall_now()));
    return ReadAnswer{GroupAnswer{std::move(group)}};
  }
  if (const auto* ask = std::get_if<SplitGroup>(&question)) {
    if (splits_lost_ == kSplitsLostMax) return too_large_to_split(ask->split);
    auto group =
        split_group(*db, groups_, options_.session, start_.owned, ask->split, clock_.wall_now());
    if (!group.ok()) {
      if (is_lost(group.error())) ++splits_lost_;
      return group.error();
    }
    return ReadAnswer{GroupAnswer{std::move(group).value()}};
  }
  if (std::holds_alternative<ReadClock>(question)) {
    const auto clock = CARILLON_TRY(read_clock(*db));
    return ReadAnswer{clock};
  }
  auto found = CARILLON_TRY(SqlReads(*db, groups_, start_.owned).answer(question));
  if (auto* start = std::get_if<StartAnswer>(&found)) {
    start->id_high = start_.id_high;
    start->last_alive = start_.last_alive;
    start->last_alive_of = start_.last_alive_of;
    start->epochs = start_.epochs;
    start->owned = start_.owned;
    if (db->dialect() == sql::Dialect::kMysql) start->number = start_.number;
    start->lease = start_.lease;
    keep_owned(*start);
    start->clock = CARILLON_TRY(read_clock(*db));
  }
  return found;
}

Result<ClockAnswer> SqlStore::read_clock(sql::Connection& db) {
  const SteadyTime asked = clock_.steady_now();
  const auto found = CARILLON_TRY(SqlReads(db, groups_).answer(ReadClock{}));
  auto answer = std::get<ClockAnswer>(found);
  const auto took = std::chrono::duration_cast<Duration>(clock_.steady_now() - asked);
  answer.at = asked + took / 2;
  answer.took = took;
  return answer;
}

Result<ReadAnswer> SqlReader::read(const Read& question) {
  if (connection_ == nullptr) connection_ = CARILLON_TRY(connect_());
  auto answered = SqlReads(*connection_, groups_).answer(question);
  if (answered.ok()) return answered;
  if (is_lost(answered.error())) connection_.reset();
  return for_reader(std::move(answered).error());
}

}  // namespace carillon::jobtracker
