#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "jobtracker/store/rows.h"
#include "shared/sql/sql_connection.h"

// The index of the log: lts_log_slice, lts_log_key and lts_log_piece. IndexLog fills it, some time
// after the rows were written, in the order of their ids.
//
// The index is cut into slices of consecutive rows of the log. So new entries go to few pages of
// the database, and a slice goes as a whole. A lookup asks each slice, the newest first.
//
// An entry means that there may be such a row: who looks up fetches the row and checks it.
namespace carillon::jobtracker {

// A piece is a range of so many rows. Fewer: more entries; more: a rare state takes longer to find.
inline constexpr std::int64_t kPieceRows = 256;

struct LogSlice {
  std::int64_t number = 0;  // in the order of time
  std::int64_t first_id = 0;
  std::int64_t last_id = 0;
  std::int64_t rows = 0;
  WallTime newest{};  // no row of it has ended later
};

// The oldest first. They follow one another without a gap.
Result<std::vector<LogSlice>> read_log_slices(sql::Connection& db);

// What lts_log_key has of a row: a hash of its task id, and one of its job id. That of a job id is
// the one of the task id `job-<job id>`, which a job gets that was given none.
std::int64_t log_key_of(std::string_view task_id);
std::int64_t log_key_of(JobId job);

struct LogRowKeys {
  std::int64_t log_id = 0;
  std::int64_t job_id = 0;
  std::string task_id{};
};

// The rows are about to go. Entries of their groups and states stay, which are of several rows.
Status remove_from_log_index(sql::Connection& db, const std::vector<LogRowKeys>& rows);

// Drops what the index has of rows that went before `oldest_id`: `entries_max` entries at most. The
// newest slice stays, for it says how far the index goes.
Status drop_log_slices(sql::Connection& db, std::int64_t oldest_id, std::int64_t entries_max);

}  // namespace carillon::jobtracker
