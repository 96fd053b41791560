#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "shared/runtime/task_runner.h"

namespace carillon {

// An executor for an object with a shorter lifetime: destroying it cancels the work that it posted.
//
// Thread: the outer executor's.
class ScopedTaskRunner final : public TaskRunner {
 public:
  explicit ScopedTaskRunner(TaskRunner& task_runner) : task_runner_(task_runner) {}
  ~ScopedTaskRunner() override { *alive_ = false; }
  ScopedTaskRunner(const ScopedTaskRunner&) = delete;
  ScopedTaskRunner& operator=(const ScopedTaskRunner&) = delete;

  void post(std::function<void()> work) override { task_runner_.post(guarded(std::move(work))); }
  TimerId post_at(SteadyTime when, std::function<void()> work) override {
    return task_runner_.post_at(when, guarded(std::move(work)));
  }
  void cancel(TimerId timer) override { task_runner_.cancel(timer); }

 private:
  std::function<void()> guarded(std::function<void()> work) const {
    return [alive = alive_, work = std::move(work)] {
      if (*alive) work();
    };
  }

  TaskRunner& task_runner_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace carillon
