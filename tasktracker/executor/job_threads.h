#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/mutex.h"
#include "shared/runtime/thread.h"
#include "shared/wire/xxl/messages.h"
#include "tasktracker/executor/job_work.h"
#include "tasktracker/executor/log_folder.h"
#include "tasktracker/run/run_control.h"

namespace carillon::tasktracker {

struct JobThreadsConfig {
  Duration idle_max = std::chrono::seconds{90};          // then the thread of a job ends
  Duration predecessor_wait = std::chrono::seconds{10};  // of a thread that replaces another
  // Most jobs that run or have waiting triggers. Ending threads are not counted.
  std::size_t threads_max = 1000;
  std::size_t waiting_max = 10'000;  // triggers, over all jobs
};

// One thread for each job that an xxl-job admin triggered recently. It runs the job's triggers one
// after another. It ends when it was idle for a while, or when another job needs its place and no
// thread was idle longer. A trigger may replace the thread: to cover the previous run, or because
// the job has a new handler or script.
//
// Each accepted trigger ends in one call of `report`.
//
// Uses a mutex instead of mailboxes, because a thread's decision to end and a new trigger must not
// cross.
//
// Thread: any.
class JobThreads {
 public:
  struct Callbacks {
    std::function<void(const wire::xxl::RunCall&)> on_taken{};  // on any thread, must be quick
    std::function<void(const wire::xxl::RunResult&)> report{};  // on the jobs' threads; may block
    std::function<void()> wake{};  // on any thread: requests stop_late_runs()
  };

  // The references must outlive this object.
  JobThreads(JobThreadsConfig config, const JobWorks& works, const LogFolder& logs,
             const Clock& clock, Callbacks callbacks);
  // Stops everything immediately and waits for it.
  ~JobThreads();
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  // The requests of an admin, and the answers.
  wire::xxl::Reply run(wire::xxl::RunCall call);
  wire::xxl::Reply idle_beat(std::int64_t job_id) const;
  wire::xxl::Reply kill(std::int64_t job_id);

  // Whether this trigger is running.
  bool is_running(std::int64_t log_id) const;

  // Requests the stop of timed-out runs. Returns the time of the next time-out.
  std::optional<SteadyTime> stop_late_runs(SteadyTime now);

  // Accepts no more triggers.
  void close();
  // Waits until all accepted triggers were reported, at most this long. Returns whether they were.
  bool wait_reported(Duration longest);
  // Requests the stop of running triggers, and cancels waiting ones. `reason` is for the admin.
  // `at_once`: without the grace time of processes.
  void stop_all(const std::string& reason, bool at_once);

 private:
  struct JobThread;
  using Triggers = std::deque<wire::xxl::RunCall>;

  wire::xxl::Reply add(JobThread& thread, wire::xxl::RunCall&& call);
  Status check_room() const;
  void retire_idle_longest();
  Status start(std::unique_ptr<JobWork> work, wire::xxl::RunCall&& call);
  std::optional<std::stop_source> retire(std::int64_t job_id, StopReason reason,
                                         const std::string& text, bool at_once);
  void reap();
  void work_on(JobThread& self);
  void await_predecessors(const JobThread& self);
  std::optional<wire::xxl::RunCall> next(JobThread& self);
  void run_one(JobThread& self, const wire::xxl::RunCall& call);
  void report_unstarted(JobThread& self);
  void reported();

  const JobThreadsConfig config_;
  const JobWorks& works_;
  const LogFolder& logs_;
  const Clock& clock_;
  const Callbacks callbacks_;

  mutable Mutex mutex_;
  Condition thread_ended_;
  Condition all_reported_;
  bool closed_ CARILLON_GUARDED_BY(mutex_) = false;
  std::uint64_t last_number_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::size_t waiting_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::size_t unreported_ CARILLON_GUARDED_BY(mutex_) = 0;
  std::set<std::int64_t> log_ids_ CARILLON_GUARDED_BY(mutex_){};  // waiting or running
  std::map<std::int64_t, std::unique_ptr<JobThread>> threads_ CARILLON_GUARDED_BY(mutex_);
  // Threads that were replaced, killed or idle, and are ending.
  std::vector<std::unique_ptr<JobThread>> leaving_ CARILLON_GUARDED_BY(mutex_);
};

}  // namespace carillon::tasktracker
