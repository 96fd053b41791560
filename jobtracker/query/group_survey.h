#pragma once

#include "jobtracker/state/catalog.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

// Finds node groups with empty tables when there are many groups, a few at a time.
//
// Thread: the loop.
class GroupSurvey {
 public:
  // Interval for calls of run_once().
  static constexpr Duration kPeriod = std::chrono::milliseconds{200};
  // With fewer groups no survey is needed.
  static constexpr std::size_t kManyGroups = 100;

  GroupSurvey(const Catalog& catalog, const Ownership& ownership, Batcher& batcher,
              Questions& questions, const Clock& clock)
      : catalog_(catalog),
        ownership_(ownership),
        batcher_(batcher),
        questions_(questions),
        clock_(clock) {}

  void run_once();

 private:
  std::vector<GroupId> next_groups();
  void ask(std::vector<GroupId> groups);

  const Catalog& catalog_;
  const Ownership& ownership_;
  Batcher& batcher_;
  Questions& questions_;
  const Clock& clock_;
  GroupId last_{};  // of the current pass
  SteadyTime next_round_{};
  bool is_asking_ = false;
};

}  // namespace carillon::jobtracker
