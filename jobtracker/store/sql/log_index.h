#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobtracker/store/rows.h"
#include "shared/sql/sql_connection.h"

// The index of the log: lts_log_slice, lts_log_key and lts_log_piece. IndexLog fills it after the
// rows were written, in id order.
//
// The index consists of slices of consecutive log rows. So new entries go to few pages of the
// database, and a slice is deleted as a whole. A look-up searches each slice, newest first.
//
// An entry means that such a row may exist: the look-up reads the row and checks it.
namespace carillon::jobtracker {

// Number of rows in a piece. Fewer: more entries. More: a search for a rare state is slower.
inline constexpr std::int64_t kPieceRows = 256;

struct LogSlice {
  std::int64_t number = 0;  // in time order
  std::int64_t first_id = 0;
  std::int64_t last_id = 0;
  std::int64_t rows = 0;
  WallTime newest{};  // latest end of its rows
};

// Oldest first, without gaps.
Result<std::vector<LogSlice>> read_log_slices(sql::Connection& db);

// The entry of a row in lts_log_key: hashes of its task id and of its job id. The hash of a job id
// is that of the task id `job-<job id>`, which a job without a chosen task id gets.
std::int64_t log_key_of(std::string_view task_id);
std::int64_t log_key_of(JobId job);

struct LogRowKeys {
  std::int64_t log_id = 0;
  std::int64_t job_id = 0;
  std::string task_id{};
};

// The rows are being deleted. Entries of their groups and states stay, because they cover several
// rows.
Status remove_from_log_index(sql::Connection& db, const std::vector<LogRowKeys>& rows);

// Deletes at most `entries_max` index entries of rows before `oldest_id`. The newest slice stays,
// because it shows how far the index goes.
Status drop_log_slices(sql::Connection& db, std::int64_t oldest_id, std::int64_t entries_max);

}  // namespace carillon::jobtracker
