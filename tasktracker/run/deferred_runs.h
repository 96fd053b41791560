#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/sizes.h"
#include "tasktracker/run/runs.h"

namespace carillon::tasktracker {

// Keeps jobs that were handed out early until they may start; passes on everything else. They count
// as waiting: they are listed, returned and stopped like queued jobs.
//
// Thread: the loop's.
class DeferredRuns final : public Runs {
 public:
  // The references must outlive this object.
  DeferredRuns(Runs& runs, const Clock& clock) : runs_(runs), clock_(clock) {}

  void add(std::vector<wire::HandedJob>&& jobs, SteadyTime begin_before) override;
  void close() override { runs_.close(); }
  std::vector<wire::AttemptId> reclaim(std::optional<SteadyTime> older_than) override;
  Stopped stop(wire::AttemptId id, StopReason reason, const std::string& detail) override;
  void stop_all(StopReason reason, const std::string& detail, bool at_once) override {
    runs_.stop_all(reason, detail, at_once);
  }
  std::optional<SteadyTime> keep_time(SteadyTime now) override;
  void collect(PoolNews& news, bool running_output) override {
    runs_.collect(news, running_output);
  }
  std::vector<wire::AttemptId> waiting() const override;
  Sizes sizes() const { return {{"deferred", deferred_.size()}}; }

 private:
  struct Deferred {
    wire::HandedJob job{};
    SteadyTime begin_before{};
  };

  Runs& runs_;
  const Clock& clock_;
  std::multimap<SteadyTime, Deferred> deferred_;  // by start time
};

}  // namespace carillon::tasktracker
