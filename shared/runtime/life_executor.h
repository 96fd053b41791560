#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "shared/runtime/executor.h"

namespace carillon {

// An executor for an object with a shorter lifetime: destroying it cancels the work that it posted.
//
// Thread: the outer executor's.
class LifeExecutor final : public Executor {
 public:
  explicit LifeExecutor(Executor& executor) : executor_(executor) {}
  ~LifeExecutor() override { *alive_ = false; }
  LifeExecutor(const LifeExecutor&) = delete;
  LifeExecutor& operator=(const LifeExecutor&) = delete;

  void post(std::function<void()> work) override { executor_.post(guarded(std::move(work))); }
  TimerId post_at(SteadyTime when, std::function<void()> work) override {
    return executor_.post_at(when, guarded(std::move(work)));
  }
  void cancel(TimerId timer) override { executor_.cancel(timer); }

 private:
  std::function<void()> guarded(std::function<void()> work) const {
    return [alive = alive_, work = std::move(work)] {
      if (*alive) work();
    };
  }

  Executor& executor_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace carillon
