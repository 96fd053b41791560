#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/tracker_bundle.h"

namespace carillon::jobtracker {

inline const std::string kOne = "http://10.0.0.1:9999/";
inline const std::string kTwo = "http://10.0.0.2:9999/";
inline const std::string kThree = "http://10.0.0.3:9999/";

// A job tracker and executors of the group "app".
struct Pushed {
  carillon::testing::TrackerBundle bundle;

  carillon::testing::FakeExecutors::One& executor(const std::string& address) {
    auto& one = bundle.executors.add(address);
    EXPECT_TRUE(register_at(address).ok());
    return one;
  }
  Status register_at(const std::string& address, bool removes = false) {
    return ask(ExecutorRegistration{.removes = removes, .app_name = "app", .address = address});
  }
  Status tell(std::vector<wire::xxl::RunResult> results) {
    return ask(ExecutorResults{.results = std::move(results)});
  }
  Status ask(ExecutorRequest request) {
    std::optional<Status> answer;
    bundle.tracker().on_executor(std::move(request),
                                 [&](Status status) { answer = std::move(status); });
    bundle.run_until([&] { return answer.has_value(); }, std::chrono::minutes{1});
    return answer.value_or(Error{ErrorCode::kUnavailable, "no answer"});
  }
  // Each registers every 30 s from now on, unless it hangs.
  void keep_registering(const std::string& address) {
    bundle.task_runner.post_at(
        bundle.clock.steady_now() + std::chrono::seconds{30}, [this, address] {
          const auto& one = bundle.executors.at(address);
          if (bundle.is_up() && one.is_up && !one.hangs) {
            bundle.tracker().on_executor(
                ExecutorRegistration{.app_name = "app", .address = address}, [](const Status&) {});
          }
          keep_registering(address);
        });
  }
  wire::SubmitAnswer submit(JobSpec job) { return bundle.submit(std::move(job)); }
  std::vector<LogState> ended(const std::string& task_id) {
    return carillon::testing::states(bundle.log(task_id));
  }
  bool has_ended(const std::string& task_id, Duration within = std::chrono::minutes{5}) {
    return bundle.run_until(
        [&] {
          const auto log = bundle.log(task_id);
          return std::any_of(log.begin(), log.end(), [](const auto& one) { return one.final; });
        },
        within);
  }
  std::size_t calls_of(const std::string& address) {
    return bundle.executors.at(address).calls.size();
  }
};

inline JobSpec pushed(const std::string& task_id, Route route = Route::kFirst) {
  JobSpec spec = carillon::testing::job_now(task_id);
  spec.group = "app";
  spec.run = {.handler = "importOrders"};
  spec.dispatch = Dispatch::kPush;
  spec.push.route = route;
  return spec;
}

}  // namespace carillon::jobtracker
