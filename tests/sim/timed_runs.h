#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "tasktracker/run/runs.h"
#include "tests/sim/process.h"

namespace carillon::sim {

// How a run goes when nobody stops it.
struct RunPlan {
  Duration time = std::chrono::milliseconds{10};
  wire::RunOutcome outcome = wire::RunOutcome::kSucceeded;
  Duration later{};
  int chunks = 0;  // of output
};

// Runs that only take time, in place of a worker's threads.
//
// Thread: the simulation's.
class TimedRuns final : public tasktracker::Runs {
 public:
  struct Watch {
    // A run begins: how shall it go?
    std::function<RunPlan(const wire::HandedJob&, const JobSpec&)> on_start{};
    // It has ended so; none: with its process.
    std::function<void(const wire::AttemptId&, std::optional<wire::RunOutcome>)> on_end{};
    // Jobs came, and not all of them have begun.
    std::function<void()> on_queue{};
  };

  TimedRuns(Process& process, int threads, bool handlers_only, Watch watch)
      : process_(process),
        threads_(threads),
        handlers_only_(handlers_only),
        watch_(std::move(watch)) {}
  // As by kill -9.
  ~TimedRuns() override;

  void add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) override;
  void close() override { closed_ = true; }
  std::vector<wire::AttemptId> reclaim(std::optional<SteadyTime> older_than) override;
  Stopped stop(wire::AttemptId id, tasktracker::StopReason reason,
               const std::string& detail) override;
  void stop_all(tasktracker::StopReason reason, const std::string& detail, bool at_once) override;
  std::optional<SteadyTime> keep_time(SteadyTime now) override;
  void collect(tasktracker::PoolNews& news, bool running_output) override;
  std::vector<wire::AttemptId> waiting() const override;

  // A thread was free all the time since then.
  bool was_free_since(SteadyTime when) const {
    return running_.size() < static_cast<std::size_t>(threads_) && full_at_ < when;
  }
  // In the queue or running.
  std::size_t unfinished() const { return queue_.size() + running_.size(); }
  std::vector<wire::AttemptId> unfinished_ids() const;

 private:
  struct Queued {
    wire::HandedJob job{};
    SteadyTime since{};
    SteadyTime begin_before{};
  };
  struct Running {
    RunPlan plan{};
    SteadyTime began{};
    WallTime started_at{};
    std::optional<SteadyTime> stop_at{};
    TimerId timer = 0;
  };

  void begin_more();
  void begin(const wire::HandedJob& job);
  void stop_run(const wire::AttemptId& id, wire::RunOutcome outcome, const std::string& message);
  void end(const wire::AttemptId& id, wire::RunOutcome outcome, const std::string& message);

  Process& process_;
  const int threads_;
  const bool handlers_only_;
  const Watch watch_;
  bool closed_ = false;
  SteadyTime full_at_{};  // when a run last ended and all threads were busy
  std::deque<Queued> queue_;
  std::map<wire::AttemptId, Running> running_;
  tasktracker::PoolNews news_;
};

}  // namespace carillon::sim
