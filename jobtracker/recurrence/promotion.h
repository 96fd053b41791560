#pragma once

#include "jobtracker/state/job_sink.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/runtime/executor.h"

namespace carillon::jobtracker {

// Moves jobs from the delayed table to their groups' when their time has come near: one-shot jobs,
// retries, and the first fires of schedules. It reads and moves a thousand at a time, in the order
// of their times, until none is left within the horizon.
//
// What is stored as delayed may be near by then, when the store was slow: it is looked for once
// more.
//
// Whoever is about to suspend or change what is delayed holds it for that time: what has been read
// and not been moved is read again after it.
//
// Thread: the loop.
class Promotion {
 public:
  Promotion(Duration horizon, Batcher& batcher, JobSink& sink, SchedulingClock& clock,
            Executor& executor, const Logger& log);

  // Jobs due later than this stand in the delayed table.
  WallTime horizon_end() const { return clock_.now() + horizon_; }
  // Moves what has come near by now.
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
  Executor& executor_;
  const Logger& log_;
  WallTime through_ = WallTime::min();  // what was near when it was looked for last
  bool is_under_way_ = false;
  bool is_stopped_ = false;
  bool is_wanted_ = false;  // once more, after what is under way or holds it
  int held_ = 0;
};

}  // namespace carillon::jobtracker
