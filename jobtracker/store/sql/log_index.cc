#include "jobtracker/store/sql/log_index.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "jobtracker/store/names.h"
#include "jobtracker/store/sql/batch_writer.h"

namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::string_view kSelectSlices =
    "SELECT slice, first_id, last_id, log_rows, newest_us FROM lts_log_slice ORDER BY slice";
constexpr std::string_view kSelectNewestSlice =
    "SELECT slice, first_id, last_id, log_rows, newest_us FROM lts_log_slice "
    "ORDER BY slice DESC LIMIT 1";
constexpr std::string_view kSelectOldestSlices =
    "SELECT slice, last_id FROM lts_log_slice ORDER BY slice LIMIT 2";
// One job tracker at a time extends the index.
constexpr std::string_view kLockSlice = " FOR UPDATE";
constexpr std::string_view kReplaceSlice =
    "REPLACE INTO lts_log_slice (slice, first_id, last_id, log_rows, newest_us) "
    "VALUES (?, ?, ?, ?, ?)";
constexpr std::string_view kDeleteSlice = "DELETE FROM lts_log_slice WHERE slice = ?";
// Over all sessions that may still add rows; a heartbeat adds none.
constexpr std::string_view kSelectSettled =
    "SELECT MIN(log_settled) FROM lts_tracker WHERE ended = 0 AND lane >= 0";
constexpr std::string_view kSelectLast =
    "SELECT log_id FROM lts_job_log WHERE log_id > ? AND log_id <= ? ORDER BY log_id "
    "LIMIT 1 OFFSET ?";
constexpr std::string_view kSelectRows =
    "SELECT log_id, job_id, group_id, task_id, state, ended_us FROM lts_job_log "
    "WHERE log_id > ? AND log_id <= ? ORDER BY log_id";
constexpr std::string_view kInsertKeys =
    "INSERT INTO lts_log_key (slice, key_hash, log_id, state) VALUES";
constexpr int kKeyWidth = 4;
constexpr std::string_view kInsertPieces =
    "INSERT INTO lts_log_piece (slice, state, group_id, first_id, last_id) VALUES";
constexpr int kPieceWidth = 5;
constexpr std::string_view kLogKeyColumns[] = {"slice", "key_hash", "log_id"};
constexpr std::string_view kSelectKeyAt =
    "SELECT key_hash, log_id FROM lts_log_key WHERE slice = ? ORDER BY key_hash, log_id "
    "LIMIT 1 OFFSET ?";
constexpr std::string_view kDeleteFirstKeys =
    "DELETE FROM lts_log_key WHERE slice = ? AND key_hash <= ? "
    "AND NOT (key_hash = ? AND log_id > ?)";
constexpr std::string_view kDeleteKeys = "DELETE FROM lts_log_key WHERE slice = ?";
constexpr std::string_view kDeletePieces = "DELETE FROM lts_log_piece WHERE slice = ?";

LogSlice slice_of(const sql::Row& row) {
  return {.number = row.integer(0),
          .first_id = row.integer(1),
          .last_id = row.integer(2),
          .rows = row.integer(3),
          .newest = wall_time(row.integer(4))};
}

// The additions to a slice, in the order of the tables' keys, so that each page is written once.
class Additions {
 public:
  Additions(std::int64_t slice, std::size_t rows) : slice_(slice), rows_(rows) {
    keys_.reserve(2 * rows);
  }

  void add(const sql::Row& row) {
    const std::int64_t id = row.integer(0);
    const std::int64_t state = row.integer(4);
    const std::int64_t of_task = log_key_of(row.bytes(3));
    const std::int64_t of_job = log_key_of(JobId{row.integer(1)});
    keys_.push_back({of_task, id, state});
    if (of_job != of_task) keys_.push_back({of_job, id, state});
    if (in_piece_ == 0) piece_first_ = id;
    kinds_.insert({state, row.integer(2)});
    kinds_.insert({state, 0});  // of any group
    last_ = id;
    ++added_;
    if (++in_piece_ == kPieceRows || added_ == rows_) end_piece();
  }

  Status write(sql::Connection& db) {
    std::sort(keys_.begin(), keys_.end());
    std::sort(pieces_.begin(), pieces_.end());
    SqlValues values;
    values.reserve(keys_.size() * kKeyWidth);
    for (const auto& [hash, id, state] : keys_) {
      values.insert(values.end(),
                    {Value::of(slice_), Value::of(hash), Value::of(id), Value::of(state)});
    }
    CARILLON_TRY(db.insert_rows(kInsertKeys, kKeyWidth, values));
    values.clear();
    for (const auto& [state, group, first, last] : pieces_) {
      values.insert(values.end(), {Value::of(slice_), Value::of(state), Value::of(group),
                                   Value::of(first), Value::of(last)});
    }
    return db.insert_rows(kInsertPieces, kPieceWidth, values);
  }

 private:
  void end_piece() {
    for (const auto& [state, group] : kinds_)
      pieces_.push_back({state, group, piece_first_, last_});
    kinds_.clear();
    in_piece_ = 0;
  }

  const std::int64_t slice_;
  const std::size_t rows_;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t>> keys_;
  std::vector<std::tuple<std::int64_t, std::int64_t, std::int64_t, std::int64_t>> pieces_;
  std::set<std::pair<std::int64_t, std::int64_t>> kinds_;  // of the piece: state, group
  std::int64_t in_piece_ = 0;
  std::size_t added_ = 0;
  std::int64_t piece_first_ = 0;
  std::int64_t last_ = 0;
};

Result<std::optional<std::int64_t>> find_number(sql::Connection& db, std::string_view sql,
                                                const SqlValues& values) {
  std::optional<std::int64_t> number;
  CARILLON_TRY(db.query(sql, values, [&](const sql::Row& row) { number = row.integer(0); }));
  return number;
}

Status index_log(sql::Connection& db, const IndexLog& index, Outcome& outcome) {
  // Before the rows: all settled rows exist by then.
  const auto settled = CARILLON_TRY(find_number(db, kSelectSettled, {}));
  LogSlice slice;
  const bool is_shared = db.dialect() == sql::Dialect::kMysql;
  CARILLON_TRY(db.query(joined({kSelectNewestSlice, is_shared ? kLockSlice : ""}), {},
                        [&](const sql::Row& row) { slice = slice_of(row); }));
  const std::int64_t after = slice.last_id;
  if (slice.number == 0 || slice.rows >= index.slice_rows) slice = {.number = slice.number + 1};
  const std::int64_t wanted = std::min(index.rows, index.slice_rows - slice.rows);
  const auto last = CARILLON_TRY(find_number(
      db, kSelectLast,
      SqlValues{Value::of(after), Value::of(settled.value_or(0)), Value::of(wanted - 1)}));
  if (!last) return {};
  Additions additions(slice.number, static_cast<std::size_t>(wanted));
  CARILLON_TRY(db.query(kSelectRows, SqlValues{Value::of(after), Value::of(*last)},
                        [&](const sql::Row& row) {
                          additions.add(row);
                          if (slice.first_id == 0) slice.first_id = row.integer(0);
                          slice.newest = std::max(slice.newest, wall_time(row.integer(5)));
                        }));
  slice.last_id = *last;
  slice.rows += wanted;
  outcome.count = wanted;
  CARILLON_TRY(additions.write(db));
  CARILLON_TRY(db.execute(
      kReplaceSlice,
      SqlValues{Value::of(slice.number), Value::of(slice.first_id), Value::of(slice.last_id),
                Value::of(slice.rows), value_of(slice.newest)}));
  return {};
}

}  // namespace

Result<std::vector<LogSlice>> read_log_slices(sql::Connection& db) {
  std::vector<LogSlice> slices;
  CARILLON_TRY(
      db.query(kSelectSlices, {}, [&](const sql::Row& row) { slices.push_back(slice_of(row)); }));
  return slices;
}

// FNV-1a of 64 bits, folded: half as large, and collisions within a slice are rare.
std::int64_t log_key_of(std::string_view task_id) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : task_id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(hash ^ (hash >> 32)));
}

std::int64_t log_key_of(JobId job) { return log_key_of(made_task_id(job)); }

Status remove_from_log_index(sql::Connection& db, const std::vector<LogRowKeys>& rows) {
  const auto slices = CARILLON_TRY(read_log_slices(db));
  SqlValues keys;
  for (const LogRowKeys& row : rows) {
    const auto slice =
        std::lower_bound(slices.begin(), slices.end(), row.log_id,
                         [](const LogSlice& one, std::int64_t id) { return one.last_id < id; });
    if (slice == slices.end()) continue;
    for (const std::int64_t key :
         std::set{log_key_of(row.task_id), log_key_of(JobId{row.job_id})}) {
      keys.insert(keys.end(), {Value::of(slice->number), Value::of(key), Value::of(row.log_id)});
    }
  }
  if (!keys.empty()) CARILLON_TRY(db.delete_rows("lts_log_key", kLogKeyColumns, keys));
  return {};
}

Status drop_log_slices(sql::Connection& db, std::int64_t oldest_id, std::int64_t entries_max) {
  std::vector<std::pair<std::int64_t, std::int64_t>> oldest;  // number and last row
  CARILLON_TRY(db.query(kSelectOldestSlices, {}, [&](const sql::Row& row) {
    oldest.push_back({row.integer(0), row.integer(1)});
  }));
  if (oldest.size() < 2 || oldest.front().second >= oldest_id) return {};
  const Value slice = Value::of(oldest.front().first);
  std::optional<std::pair<std::int64_t, std::int64_t>> through;
  CARILLON_TRY(
      db.query(kSelectKeyAt, SqlValues{slice, Value::of(entries_max)}, [&](const sql::Row& row) {
        through = {row.integer(0), row.integer(1)};
      }));
  if (through) {
    const auto [hash, id] = *through;
    CARILLON_TRY(db.execute(kDeleteFirstKeys,
                            SqlValues{slice, Value::of(hash), Value::of(hash), Value::of(id)}));
    return {};
  }
  for (const std::string_view rest : {kDeleteKeys, kDeletePieces, kDeleteSlice})
    CARILLON_TRY(db.execute(rest, SqlValues{slice}));
  return {};
}

Status write_log_index(WriteContext& context, const OperationIndices& indices) {
  for (const std::size_t index : indices) {
    context.current = index;
    CARILLON_TRY(
        index_log(context.db, context.operation<IndexLog>(index), context.outcomes[index]));
  }
  return {};
}

}  // namespace carillon::jobtracker
