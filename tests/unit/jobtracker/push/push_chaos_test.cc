#include <cstdlib>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobtracker/push/push_bundle.h"

// Executors that die, come back, refuse, hang, lose answers, call themselves idle and tell results
// late, twice, otherwise and of runs that are not, and a job tracker that is killed again and
// again, at random from a seed.
namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

class Chaos {
 public:
  explicit Chaos(std::uint64_t seed) : random_(seed) {
    for (const std::string& address : {kOne, kTwo, kThree}) {
      test_.executor(address);
      test_.keep_registering(address);
    }
    test_.bundle.executors.on_result = [this](wire::xxl::RunResult result) {
      if (below(5) == 0) tell(result);
      if (below(10) == 0) tell({.log_id = result.log_id, .code = 500, .message = "or not"});
      if (below(10) == 0) tell({.log_id = result.log_id + below(1000), .message = "whose?"});
      tell(std::move(result));
    };
  }

  void run() {
    for (int step = 0; step < 60; ++step) {
      if (below(2) == 0) submit();
      disturb();
      test_.bundle.run_for(milliseconds{below(6000)});
    }
    for (const std::string& address : {kOne, kTwo, kThree}) heal(address);
    test_.bundle.run_for(minutes{10});
  }

  void check() {
    for (const auto& [task, shards] : tasks_) {
      SCOPED_TRACE(task + "\n" + test_.bundle.story(task));
      std::size_t finals = 0;
      std::size_t ends = 0;
      for (const LogEntry& entry : test_.bundle.log(task)) {
        const bool is_of_shard = entry.message.starts_with("shard ");
        // Lost three times in a row, it is in quarantine.
        const bool is_held = entry.message.find("in quarantine") != std::string::npos;
        if (entry.final || is_held) ++finals;
        if (shards == 1 ? entry.attempt > 0 : is_of_shard || entry.state == LogState::kLost) ++ends;
      }
      EXPECT_EQ(finals, 1U);
      // Each run that an executor took has an end of its own; a lost one may not have been taken.
      EXPECT_LE(taken(task), ends);
    }
    EXPECT_TRUE(test_.bundle.tables().executing.empty());
    EXPECT_TRUE(test_.bundle.tables().push_runs.empty());
  }

 private:
  std::int64_t below(std::uint64_t bound) {
    return static_cast<std::int64_t>(random_.next() % bound);
  }
  const std::string& any() {
    const auto which = below(3);
    return which == 0 ? kOne : which == 1 ? kTwo : kThree;
  }

  void submit() {
    const std::string task = "task-" + std::to_string(tasks_.size());
    JobSpec job = pushed(task, static_cast<Route>(below(10)));
    job.payload = task;
    job.retries = {.max = static_cast<int>(below(3)), .base = seconds{1}};
    if (below(3) == 0) job.timeout = seconds{20};
    test_.bundle.client.submit({job});
    tasks_[task] = job.push.route == Route::kShardingBroadcast ? 3 : 1;
    test_.bundle.run_for(milliseconds{below(10)});
  }

  void disturb() {
    const std::string address = any();
    auto& one = test_.bundle.executors.at(address);
    one.run_time = milliseconds{below(12'000)};
    one.says_idle = below(6) == 0;
    one.code = below(4) == 0 ? 500 : 200;
    switch (below(9)) {
      case 0:
        return test_.bundle.executors.kill(address);
      case 1:
        test_.bundle.executors.kill(address);
        return restart_soon(address);
      case 2:
        one.loses_answer = true;
        return;
      case 3:
        one.refuses = "no";
        return;
      case 4:
        one.hangs = true;
        return;
      case 5:
        return test_.bundle.restart_after(milliseconds{below(3000)}, below(2) == 0);
      default:
        return heal(address);
    }
  }

  void restart_soon(const std::string& address) {
    test_.bundle.task_runner.post_at(
        test_.bundle.clock.steady_now() + milliseconds{10 + below(1000)},
        [this, address] { heal(address); });
  }

  void heal(const std::string& address) {
    auto& one = test_.bundle.executors.at(address);
    one.hangs = one.loses_answer = false;
    one.refuses.clear();
    one.is_up = true;
    if (test_.bundle.is_up()) {
      test_.bundle.tracker().on_executor(
          ExecutorRegistration{.app_name = "app", .address = address}, [](const Status&) {});
    }
  }

  // After a while, and again until it is stored.
  void tell(wire::xxl::RunResult result) {
    test_.bundle.task_runner.post_at(
        test_.bundle.clock.steady_now() + milliseconds{below(2000)}, [this, result] {
          const auto again = [this, result](const Status& status) {
            if (!status.ok()) later(result);
          };
          if (!test_.bundle.is_up()) return later(result);
          ExecutorResults results;
          results.results.push_back(result);
          test_.bundle.tracker().on_executor(std::move(results), again);
        });
  }
  void later(const wire::xxl::RunResult& result) {
    test_.bundle.task_runner.post_at(test_.bundle.clock.steady_now() + seconds{10},
                                     [this, result] { tell(result); });
  }

  std::size_t taken(const std::string& task) {
    std::size_t all = 0;
    for (const std::string& address : {kOne, kTwo, kThree}) {
      for (const auto& call : test_.bundle.executors.at(address).taken) all += call.param == task;
    }
    return all;
  }

  Pushed test_;
  SeededRandom random_;
  std::map<std::string, int> tasks_;  // with their shards
};

void run_chaos(std::uint64_t seed) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Chaos chaos(seed);
  chaos.run();
  chaos.check();
}

TEST(PushChaos, EachJobEndsOnceAndOnlyLostRunsRunTwice) {
  // A person can have more: of each, thirteen minutes of virtual time.
  const char* wanted = std::getenv("CARILLON_PUSH_SEEDS");
  const std::uint64_t last = wanted == nullptr ? 20 : std::strtoull(wanted, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= last && !::testing::Test::HasFailure(); ++seed)
    run_chaos(seed);
}

TEST(PushChaos, SeedsOfFormerFailuresPass) {
  for (const std::uint64_t seed : {377U, 1068U}) run_chaos(seed);
}

}  // namespace
}  // namespace carillon::jobtracker
