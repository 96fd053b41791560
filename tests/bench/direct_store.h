#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "jobtracker/state/id_source.h"
#include "jobtracker/store/batcher.h"
#include "jobtracker/store/store.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/runtime/thread.h"
#include "shared/runtime/wakeup.h"

namespace carillon::bench {

// The real store with nothing around it: no job tracker, no messages, one thread. What is posted to
// the batcher becomes transactions of the sizes that a job tracker would choose, and time() is what
// they took; no job tracker can be faster than that.
//
// As in a job tracker, checkpoints of SQLite have a thread of their own.
//
// Thread: the one that opened it.
class DirectStore final : public jobtracker::StoreConnection {
 public:
  static Result<std::unique_ptr<DirectStore>> open(const std::string& url, const Clock& clock,
                                                   const jobtracker::BatcherConfig& config = {});
  ~DirectStore() override;
  DirectStore(const DirectStore&) = delete;
  DirectStore& operator=(const DirectStore&) = delete;

  jobtracker::Batcher& batcher() { return *batcher_; }
  jobtracker::IdSource& ids() { return *ids_; }
  Result<GroupId> make_group(const std::string& name);
  // A new one-shot job as a submission makes it, with or without a task id of its own.
  jobtracker::WaitingJob make_job(JobSpec spec, GroupId group, WallTime trigger_time);

  // Commits one batch of what was posted, and tells those who posted it.
  Status commit_one();
  Result<jobtracker::ReadAnswer> ask(const jobtracker::Read& question);

  // Spent in the store so far, and how much CPU it took of this thread: that is all of it with
  // SQLite, and changes less than the time when other programs want the CPU too.
  Duration time() const { return time_; }
  Duration cpu() const { return cpu_; }

 private:
  explicit DirectStore(const Clock& clock) : clock_(clock) {}
  Status open_store(const std::string& url);
  class Stopwatch;
  Status start_checkpoints(const std::string& path);
  void commit(jobtracker::Batch batch) override;
  void read(std::uint64_t token, jobtracker::Read question) override;

  const Clock& clock_;
  const Logger log_{"bench.store"};
  std::unique_ptr<jobtracker::Store> store_{};
  std::unique_ptr<jobtracker::IdSource> ids_{};
  std::unique_ptr<jobtracker::Batcher> batcher_{};
  std::optional<jobtracker::BatchDone> done_{};
  Status failed_{};
  Duration time_{};
  Duration cpu_{};
  Wakeup stop_{};
  std::unique_ptr<Thread> checkpoints_{};
};

}  // namespace carillon::bench
