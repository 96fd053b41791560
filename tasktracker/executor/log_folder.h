#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "carillon/result.h"
#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "shared/job/zone.h"
#include "shared/wire/xxl/messages.h"

// The log files of runs for an xxl-job admin: PATH/yyyy-MM-dd/LOG_ID.log, by the day of the trigger
// in this machine's time zone.
namespace carillon::tasktracker {

// The file of one run. A failed write, for example on a full disk, is logged once and ignored: the
// run is more important.
//
// Uses a mutex, because a handler's own threads may write too.
//
// Thread: any.
class RunLog {
 public:
  RunLog(std::string path, const Zone& zone, const Clock& clock);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Unchanged bytes.
  void write(std::string_view bytes);
  // A line with a time stamp. Line feeds inside are kept.
  void line(std::string_view text);

 private:
  void put(std::string_view bytes);  // Requires: mutex_ is held.

  const std::string path_;
  const Zone zone_;
  const Clock& clock_;
  Mutex mutex_;
  int file_ CARILLON_GUARDED_BY(mutex_) = -1;
  bool at_line_start_ CARILLON_GUARDED_BY(mutex_) = true;
};

// Thread: any.
class LogFolder {
 public:
  LogFolder(std::string path, const Zone& zone, const Clock& clock);

  // Appends to an existing file.
  std::unique_ptr<RunLog> open(std::int64_t log_id, std::int64_t log_time_ms) const;

  // Complete lines, up to 4 MiB at a time. `is_growing`: an incomplete last line is left for the
  // next call.
  wire::xxl::LogPart read(const wire::xxl::LogCall& call, bool is_growing) const;

  // Deletes the files of days older than `days`, and nothing else. 0: none.
  void clean(int days) const;

 private:
  std::string day_folder(std::int64_t log_time_ms) const;
  std::string file(std::int64_t log_id, std::int64_t log_time_ms) const;

  const std::string path_;
  const Zone zone_;
  const Clock& clock_;
};

}  // namespace carillon::tasktracker
