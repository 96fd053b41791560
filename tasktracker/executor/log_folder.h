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
// in this machine's zone.
namespace carillon::tasktracker {

// One run's file. What cannot be written, because the disk is full, is said once and passed over:
// the run matters more.
//
// A mutex, because a handler's own threads may write as well.
//
// Thread: any.
class RunLog {
 public:
  RunLog(std::string path, const Zone& zone, const Clock& clock);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // As it is.
  void write(std::string_view bytes);
  // A line of its own, with the time before it. Further line feeds inside are kept.
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

  // Goes on at the end of a file that is there already.
  std::unique_ptr<RunLog> open(std::int64_t log_id, std::int64_t log_time_ms) const;

  // Whole lines, up to 4 MiB at a time. `is_growing`: a last line without its end is left for the
  // next call.
  wire::xxl::LogPart read(const wire::xxl::LogCall& call, bool is_growing) const;

  // Removes the files of days longer ago than so many, and nothing else. 0: none.
  void clean(int days) const;

 private:
  std::string day_folder(std::int64_t log_time_ms) const;
  std::string file(std::int64_t log_id, std::int64_t log_time_ms) const;

  const std::string path_;
  const Zone zone_;
  const Clock& clock_;
};

}  // namespace carillon::tasktracker
