#pragma once

#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/runtime/task_runner.h"

namespace carillon::jobtracker {

// Moves jobs from the delayed table to their groups' tables when they are due soon: one-shot jobs,
// retries, and first fires of schedules. It reads and moves a thousand at a time, by due time,
// until none is left within the horizon.
//
// With a slow store, a job that is stored as delayed may be due soon by then: a second search finds
// it.
//
// A caller that suspends or changes a delayed job holds promotion meanwhile. Jobs that were read
// but not moved are read again afterwards.
//
// Thread: the loop.
class Promotion {
 public:
  Promotion(Duration horizon, Batcher& batcher, JobSink& sink, SchedulingClock& clock,
            TaskRunner& task_runner, const Logger& log);

  // Jobs due later than this are in the delayed table.
  WallTime horizon_end() const { return clock_.now() + horizon_; }
  // Moves jobs that are due soon.
  void run_once();
  void stop() { is_stopped_ = true; }
  // A row was added to the delayed table.
  void was_delayed(const WaitingJob& job);
  void hold() { ++held_; }
  void release();

 private:
  void run_again();
  void move(std::vector<WaitingJob> jobs);

  const Duration horizon_;
  Batcher& batcher_;
  JobSink& sink_;
  SchedulingClock& clock_;
  TaskRunner& task_runner_;
  const Logger& log_;
  WallTime through_ = WallTime::min();  // the horizon of the last search
  bool is_under_way_ = false;
  bool is_stopped_ = false;
  bool is_wanted_ = false;  // search again, after the current search or hold
  int held_ = 0;
};

}  // namespace carillon::jobtracker
