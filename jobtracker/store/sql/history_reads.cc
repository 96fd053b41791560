#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/store/sql/batch_writer.h"
#include "jobtracker/store/sql/log_index.h"
#include "jobtracker/store/sql/sql_reads.h"
#include "jobtracker/store/sql/sql_rows.h"

// Reads of ended jobs. Indexed rows are looked up; newer ones are read backwards in pieces.
namespace carillon::jobtracker {
namespace {

using sql::Value;

constexpr std::int64_t kFirstLogRows = 2'000;  // log rows read by one statement
constexpr std::int64_t kLogRowsMax = 32'000;
// Most rows per query, because others wait meanwhile.
constexpr std::int64_t kLookedAtMax = 200'000;
// The same if texts are compared, which takes longer.
constexpr std::int64_t kTextLookedAtMax = 20'000;
constexpr std::int64_t kTextLogRowsMax = 8'000;
constexpr std::int64_t kKeysLeast = 32;  // requested per slice
constexpr std::int64_t kKeysMost = 400;
// Slices per statement. For a rare task most have no entry.
constexpr std::size_t kSlicesAtOnce = 16;
// With more ranges in one statement, MariaDB and MySQL may prefer to read the whole table.
constexpr std::size_t kRangesMax = 180;

constexpr std::string_view kAndTask = " AND task_id = ?";
// Text comparison ignores trailing spaces there.
constexpr std::string_view kAndTaskMysql = " AND CAST(task_id AS BINARY) = ?";
constexpr std::string_view kAndJob = " AND job_id = ?";
constexpr std::string_view kSelectLogBounds =
    "SELECT MIN(log_id), MAX(ended_us), COUNT(*) FROM (SELECT log_id, ended_us FROM lts_job_log "
    "WHERE log_id > ? AND log_id < ? ORDER BY log_id DESC LIMIT ?) AS newest";
// Results may be late: rows that were written after a time may have ended before it.
constexpr std::string_view kSelectLateId =
    "SELECT log_id FROM lts_job_log WHERE log_id >= ? ORDER BY log_id LIMIT 1 OFFSET 4000";
constexpr std::string_view kAndUntil = " AND ended_us < ?";
constexpr std::string_view kAndPrefix = " AND INSTR(task_id, ?) = 1";
constexpr std::string_view kAndText =
    " AND (INSTR(LOWER(task_id), LOWER(?)) > 0 OR INSTR(LOWER(node), LOWER(?)) > 0 OR "
    "INSTR(LOWER(message), LOWER(?)) > 0)";
constexpr std::string_view kInRange = "log_id >= ? AND log_id < ?";
constexpr std::string_view kNewestFirst = " ORDER BY log_id DESC LIMIT ?";
constexpr std::string_view kSelectKeys =
    "SELECT slice, log_id FROM lts_log_key WHERE slice = ? AND key_hash = ? AND log_id > ? AND "
    "log_id < ?";
constexpr std::string_view kSelectPieces =
    "SELECT DISTINCT first_id, last_id FROM lts_log_piece WHERE slice IN ";

std::string list_of(std::size_t count) {
  std::string list = "(?";
  for (std::size_t i = 1; i < count; ++i) list += ", ?";
  return list + ")";
}

Value of_state(LogState state) { return Value::of(static_cast<std::int64_t>(state)); }

// Searches the log for one query.
class HistorySearch {
 public:
  HistorySearch(sql::Connection& db, const ListHistory& ask)
      : db_(db),
        ask_(ask),
        before_(ask.before_id != 0 ? ask.before_id : std::numeric_limits<std::int64_t>::max()) {
    const bool is_mysql = db.dialect() == sql::Dialect::kMysql;
    filter_ = " AND ended_us >= ?";
    filter_values_.push_back(value_of(ask.since));
    if (!ask.groups.empty()) filter_ += " AND group_id IN " + list_of(ask.groups.size());
    for (const GroupId group : ask.groups) filter_values_.push_back(value_of(group));
    if (!ask.task_id.empty()) {
      filter_ += is_mysql ? kAndTaskMysql : kAndTask;
      filter_values_.push_back(key_of_task(db.dialect(), ask.task_id));
    }
    if (ask.job_id) {
      filter_ += kAndJob;
      filter_values_.push_back(value_of(ask.job_id));
    }
    if (!ask.states.empty()) filter_ += and_state_in();
    for (const LogState state : ask.states) filter_values_.push_back(of_state(state));
    if (ask.until != WallTime{}) {
      filter_ += kAndUntil;
      filter_values_.push_back(value_of(ask.until));
    }
    if (!ask.task_prefix.empty()) {
      filter_ += kAndPrefix;
      filter_values_.push_back(Value::of_text(ask.task_prefix));
    }
    if (!ask.text.empty()) {
      filter_ += kAndText;
      filter_values_.insert(filter_values_.end(), 3, Value::of_text(ask.text));
    }
    if (ask.task_prefix.empty() && ask.text.empty()) return;
    looked_at_max_ = kTextLookedAtMax;
    piece_max_ = kTextLogRowsMax;
  }

  Result<HistoryAnswer> run() {
    const bool has_key = !ask_.task_id.empty() || ask_.job_id;
    if (ask_.until_id != 0) CARILLON_TRY(skip_later_than(ask_.until_id));
    const bool is_narrow = has_key || !ask_.groups.empty() || !ask_.states.empty();
    if (is_narrow) slices_ = CARILLON_TRY(read_log_slices(db_));
    CARILLON_TRY(search_backwards(slices_.empty() ? 0 : slices_.back().last_id));
    CARILLON_TRY(has_key ? search_keys() : search_pieces());
    return std::move(answer_);
  }

 private:
  std::int64_t wanted() const {
    return ask_.limit - static_cast<std::int64_t>(answer_.entries.size());
  }
  bool is_over() const { return is_over_ || wanted() <= 0; }
  std::string and_state_in() const { return " AND state IN " + list_of(ask_.states.size()); }

  // There may be more before `before_`.
  void look_no_further() {
    is_over_ = true;
    if (wanted() > 0) answer_.next = before_;
  }
  void looked_at(std::int64_t rows) {
    looked_at_ += rows;
    if (looked_at_ >= looked_at_max_) look_no_further();
  }
  Status skip_later_than(std::int64_t id) {
    return db_.query(kSelectLateId, SqlValues{Value::of(id)},
                     [this](const sql::Row& row) { before_ = std::min(before_, row.integer(0)); });
  }

  Status select(std::string_view condition, std::span<const Value> parameters) {
    SqlValues values(parameters.begin(), parameters.end());
    values.insert(values.end(), filter_values_.begin(), filter_values_.end());
    values.push_back(Value::of(wanted()));
    return db_.query(joined({"SELECT ", kLogColumns, " FROM lts_job_log WHERE ", condition, filter_,
                             kNewestFirst}),
                     values, [&](const sql::Row& row) { answer_.entries.push_back(log_of(row)); });
  }

  // The log is ordered only by its ids, which is time order. Job and log ids come from one growing
  // source, so a job's rows are all above its id.
  Status search_backwards(std::int64_t floor) {
    floor = std::max(floor, ask_.job_id.value);
    for (std::int64_t piece = kFirstLogRows; !is_over(); piece = std::min(2 * piece, piece_max_)) {
      std::int64_t first = 0;
      std::int64_t rows = 0;
      WallTime newest{};
      CARILLON_TRY(db_.query(kSelectLogBounds,
                             SqlValues{Value::of(floor), Value::of(before_), Value::of(piece)},
                             [&](const sql::Row& row) {
                               first = row.integer(0);
                               newest = wall_time(row.integer(1));
                               rows = row.integer(2);
                             }));
      if (rows == 0) return {};
      // Results may be late, but never so late that a whole piece is older than an earlier row.
      if (newest < ask_.since) {
        is_over_ = true;
        return {};
      }
      CARILLON_TRY(select(kInRange, SqlValues{Value::of(first), Value::of(before_)}));
      before_ = first;
      if (rows < piece) return {};
      looked_at(rows);
    }
    return {};
  }

  // Takes the newest slices that may have matches, up to a limit.
  std::vector<LogSlice> take_slices(std::size_t most) {
    std::vector<LogSlice> some;
    while (!slices_.empty() && some.size() < most) {
      const LogSlice slice = slices_.back();
      slices_.pop_back();
      if (slice.last_id <= ask_.job_id.value) slices_.clear();
      if (slice.first_id < before_ && slice.newest >= ask_.since &&
          slice.last_id > ask_.job_id.value)
        some.push_back(slice);
    }
    return some;
  }

  Status search_keys() {
    const std::int64_t key = ask_.job_id ? log_key_of(ask_.job_id) : log_key_of(ask_.task_id);
    std::size_t width = 1;
    while (!is_over()) {
      const auto slices = take_slices(width);
      if (slices.empty()) return {};
      const std::int64_t most = std::clamp(wanted(), kKeysLeast, kKeysMost);
      SqlValues ids;
      std::int64_t last = 0;
      const auto full = CARILLON_TRY(read_keys(slices, key, most, ids, last));
      CARILLON_TRY(select_rows(ids));
      // The slice has more, and older ones follow.
      for (std::size_t i = slices.size(); full && i > *full; --i) slices_.push_back(slices[i - 1]);
      before_ = full ? last : slices.back().first_id;
      width = ids.empty() ? std::min(4 * width, kSlicesAtOnce) : 1;
      looked_at(static_cast<std::int64_t>(ids.size()));
    }
    return {};
  }

  // The ids of rows with this key, newest first, down to `last`. Returns the slice with more than
  // `most` rows: it and all later ones were left out; none: all were read.
  Result<std::optional<std::size_t>> read_keys(const std::vector<LogSlice>& slices,
                                               std::int64_t key, std::int64_t most, SqlValues& ids,
                                               std::int64_t& last) {
    std::string sql;
    SqlValues values;
    for (const LogSlice& slice : slices) {
      sql += joined({sql.empty() ? "" : " UNION ALL ", "SELECT slice, log_id FROM (", kSelectKeys,
                     ask_.states.empty() ? "" : and_state_in(), kNewestFirst, ") AS of_",
                     std::to_string(&slice - slices.data())});
      values.insert(values.end(), {Value::of(slice.number), Value::of(key), value_of(ask_.job_id),
                                   Value::of(before_)});
      for (const LogState state : ask_.states) values.push_back(of_state(state));
      values.push_back(Value::of(most));
    }
    std::vector<std::vector<std::int64_t>> found(slices.size());
    CARILLON_TRY(db_.query(sql, values, [&](const sql::Row& row) {
      for (std::size_t i = 0; i < slices.size(); ++i) {
        if (slices[i].number == row.integer(0)) found[i].push_back(row.integer(1));
      }
    }));
    for (std::size_t i = 0; i < slices.size(); ++i) {
      std::sort(found[i].begin(), found[i].end(), std::greater<>{});
      for (const std::int64_t id : found[i]) ids.push_back(Value::of(id));
      if (static_cast<std::int64_t>(found[i].size()) < most) continue;
      last = found[i].back();
      return std::optional{i};
    }
    return std::optional<std::size_t>{};
  }

  Status select_rows(const SqlValues& ids) {
    return in_lists(ids, [&](std::string_view list, std::span<const Value> chunk) {
      return is_over() ? Status{} : select(joined({"log_id IN ", list}), chunk);
    });
  }

  Status search_pieces() {
    const std::size_t states = ask_.states.empty() ? std::size_t{kLogStates} : ask_.states.size();
    const std::size_t kinds = states * std::max<std::size_t>(ask_.groups.size(), 1);
    const std::size_t widest = std::clamp<std::size_t>(kRangesMax / kinds, 1, kSlicesAtOnce);
    std::size_t width = 1;
    while (!is_over()) {
      const auto slices = take_slices(width);
      if (slices.empty()) return {};
      const auto pieces = CARILLON_TRY(read_pieces(slices));
      for (const auto& [first, last] : pieces) {
        if (is_over()) break;
        CARILLON_TRY(
            select(kInRange, SqlValues{Value::of(first), Value::of(std::min(last + 1, before_))}));
        before_ = first;
        looked_at(kPieceRows);
      }
      if (!is_over()) before_ = slices.back().first_id;
      width = pieces.empty() ? std::min(4 * width, widest) : 1;
    }
    return {};
  }

  // Ranges of rows, some of which have the requested groups and states.
  using Piece = std::pair<std::int64_t, std::int64_t>;
  Result<std::vector<Piece>> read_pieces(const std::vector<LogSlice>& slices) {
    std::vector<LogState> states = ask_.states;
    for (int i = 0; ask_.states.empty() && i < kLogStates; ++i)
      states.push_back(static_cast<LogState>(i));
    const std::vector<GroupId> groups =
        ask_.groups.empty() ? std::vector<GroupId>{GroupId{}} : ask_.groups;
    SqlValues values;
    for (const LogSlice& slice : slices) values.push_back(Value::of(slice.number));
    for (const LogState state : states) values.push_back(of_state(state));
    for (const GroupId group : groups) values.push_back(value_of(group));
    values.push_back(Value::of(before_));
    std::vector<Piece> pieces;
    CARILLON_TRY(db_.query(
        joined({kSelectPieces, list_of(slices.size()), " AND state IN ", list_of(states.size()),
                " AND group_id IN ", list_of(groups.size()), " AND first_id < ?"}),
        values, [&](const sql::Row& row) {
          pieces.push_back({row.integer(0), row.integer(1)});
        }));
    std::sort(pieces.begin(), pieces.end(), std::greater<>{});
    return pieces;
  }

  sql::Connection& db_;
  const ListHistory& ask_;
  std::string filter_{};
  SqlValues filter_values_{};
  std::vector<LogSlice> slices_{};  // not searched yet, oldest first
  std::int64_t before_;             // all rows from this one on were checked
  std::int64_t looked_at_ = 0;
  std::int64_t looked_at_max_ = kLookedAtMax;
  std::int64_t piece_max_ = kLogRowsMax;
  bool is_over_ = false;
  HistoryAnswer answer_{};
};

}  // namespace

Result<ReadAnswer> SqlReads::read(const ListHistory& ask) {
  auto answer = CARILLON_TRY(HistorySearch(db_, ask).run());
  return ReadAnswer{std::move(answer)};
}

}  // namespace carillon::jobtracker
