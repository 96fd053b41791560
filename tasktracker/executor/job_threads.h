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
  Duration idle_max = std::chrono::seconds{90};          // then a job's thread ends
  Duration predecessor_wait = std::chrono::seconds{10};  // of a thread that replaces another
  // Jobs at a time that run or have triggers waiting. Beside them, threads that are ending.
  std::size_t threads_max = 1000;
  std::size_t waiting_max = 10'000;  // triggers, of all jobs together
};

// A thread for each job that an xxl-job admin triggered lately. It runs the job's triggers one
// after another and ends when there was none for a while, or when another job needs its place and
// no thread has been idle for longer. A trigger may replace it by another thread: to cover the one
// before, or because the job is another handler or script by now.
//
// Every trigger that is taken ends in one call of `report`, whatever becomes of its thread.
//
// A mutex and no mailboxes, because a thread's decision to end and a trigger that comes must not
// cross.
//
// Thread: any.
class JobThreads {
 public:
  struct Callbacks {
    std::function<void(const wire::xxl::RunCall&)> on_taken{};  // on any thread, must be quick
    std::function<void(const wire::xxl::RunResult&)> report{};  // on the jobs' threads; may block
    std::function<void()> wake{};  // on any thread: asks for stop_late_runs()
  };

  // The references must outlive it.
  JobThreads(JobThreadsConfig config, const JobWorks& works, const LogFolder& logs,
             const Clock& clock, Callbacks callbacks);
  // Stops everything at once and waits for it.
  ~JobThreads();
  JobThreads(const JobThreads&) = delete;
  JobThreads& operator=(const JobThreads&) = delete;

  // What an admin asks, and the answers to it.
  wire::xxl::Reply run(wire::xxl::RunCall call);
  wire::xxl::Reply idle_beat(std::int64_t job_id) const;
  wire::xxl::Reply kill(std::int64_t job_id);

  // Whether that trigger runs.
  bool is_running(std::int64_t log_id) const;

  // Tells runs to stop whose time is over; returns when the next one's is.
  std::optional<SteadyTime> stop_late_runs(SteadyTime now);

  // Takes no more triggers.
  void close();
  // Until all that was taken has been reported, but no longer than this: whether it has.
  bool wait_reported(Duration longest);
  // Those that run are told to stop, those that wait will not run. `reason` is for the admin.
  // At once: without the grace that processes get.
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
  // Replaced, killed or idle for too long: on their way to their end.
  std::vector<std::unique_ptr<JobThread>> leaving_ CARILLON_GUARDED_BY(mutex_);
};

}  // namespace carillon::tasktracker
