#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "shared/base/clock.h"
#include "shared/runtime/event_loop.h"
#include "tasktracker/builtin_handlers.h"
#include "tasktracker/run/run_pool.h"
#include "tasktracker/run/runner.h"
#include "tasktracker/worker.h"
#include "tests/integration/tasktracker/fake_tracker.h"

namespace carillon::tasktracker {

// A worker with real threads on a loop that the test turns, and fake job trackers around it.
struct WorkerBundle {
  struct Options {
    int threads = 1;
    int trackers = 1;
    Duration kill_grace = std::chrono::seconds{5};
    bool kill_leftovers = false;
    bool stop_without_lease = false;
    std::set<RunKind> allow = {RunKind::kHandler, RunKind::kCommand, RunKind::kShell,
                               RunKind::kScript};
    Environment environment = Environment::of_process();
    outbox::OutboxWriter* writer = nullptr;  // none: nothing is kept
    std::int64_t last_id = 0;
    Duration deliver_wait = std::chrono::seconds{2};
    std::int64_t session = 77;
    LoadLimits load{};
  };

  explicit WorkerBundle(Options options) : environment(std::move(options.environment)) {
    for (auto& [name, handler] : builtin_handlers()) handlers.emplace(name, handler);
    // Tells when it runs, and then sleeps.
    handlers["hold"] = [this, sleep = handlers.at("sleep")](JobContext& context) {
      ++holding;
      return sleep(context);
    };
    std::vector<TrackerAddress> list;
    for (int i = 0; i < options.trackers; ++i) {
      auto transport = std::make_unique<FakeTracker>(loop);
      trackers.push_back(transport.get());
      list.push_back(
          {.endpoint = "tracker-" + std::to_string(i), .transport = std::move(transport)});
    }
    const RunnerConfig runner_config{
        .node = "host-1",
        .group = "default",
        .allow = options.allow,
        .process = {.kill_grace = options.kill_grace, .kill_leftovers = options.kill_leftovers}};
    runner = std::make_unique<Runner>(runner_config, handlers, environment, http, clock);
    const RunPoolConfig pool_config{.threads = options.threads, .kill_grace = options.kill_grace};
    pool = std::make_unique<RunPool>(pool_config, *runner, clock, [this] { loop.wake(); });
    WorkerConfig config{.kill_grace = options.kill_grace};
    config.fetcher.session = SessionId{options.session};
    config.fetcher.name = "host-1";
    config.fetcher.group = "default";
    config.fetcher.threads = options.threads;
    config.deliver_wait = options.deliver_wait;
    config.stop_without_lease = options.stop_without_lease;
    config.load = options.load;
    worker = std::make_unique<Worker>(
        config, *pool, loop, clock, std::move(list), ReportOutbox(options.writer, options.last_id),
        Worker::Callbacks{.on_ready = [this](const std::string&) { ++ready; },
                          .on_stopped = [this] { stopped = true; },
                          .wake = [this] { loop.wake(); },
                          .read_load = [this] { return machine; }});
  }
  WorkerBundle() : WorkerBundle(Options{}) {}

  FakeTracker& tracker() { return *trackers.at(0); }

  void start() {
    start_alone();
    for (FakeTracker* each : trackers) each->connect();
  }
  // No tracker is there.
  void start_alone() {
    ASSERT_TRUE(runner->start().ok());
    ASSERT_TRUE(pool->start().ok());
    loop.at_end_of_turn([this] {
      worker->end_turn();
      return false;
    });
  }
  // Turns the loop until it is so. False: it was not, for ten seconds.
  bool until(const std::function<bool()>& is_so) {
    const SteadyTime limit = clock.steady_now() + std::chrono::seconds{10};
    while (!is_so()) {
      if (clock.steady_now() > limit) return false;
      loop.run_once(std::chrono::milliseconds{20});
    }
    return true;
  }
  // Submits a job that runs so long, and waits until it does.
  bool hold(std::int64_t job, const std::string& duration) {
    const int before = holding;
    tracker().submit(job, handler("hold", duration));
    return until([&] { return holding > before; });
  }
  bool until_result(std::int64_t job) {
    return until([&] { return tracker().result_of(job) != nullptr; });
  }

  static JobSpec handler(const std::string& name, const std::string& payload = {}) {
    return {.payload = payload, .run = {.kind = RunKind::kHandler, .handler = name}};
  }
  static JobSpec command(std::vector<std::string> arguments) {
    return {.run = {.kind = RunKind::kCommand, .command = std::move(arguments)}};
  }
  static JobSpec shell(const std::string& line) {
    return {.run = {.kind = RunKind::kShell, .shell = line}};
  }
  static JobSpec script(const std::string& language, const std::string& source) {
    return {
        .run = {.kind = RunKind::kScript, .script_language = language, .script_source = source}};
  }

  // Submits it and waits for its result.
  wire::RunResult run(const JobSpec& spec) {
    const std::int64_t job = ++last_job;
    tracker().submit(job, spec);
    EXPECT_TRUE(until_result(job)) << "no result within ten seconds";
    const wire::RunResult* result = tracker().result_of(job);
    return result == nullptr ? wire::RunResult{} : *result;
  }
  std::string output() const { return trackers.at(0)->output_of(last_job); }

  SystemClock clock;
  Environment environment;
  EventLoop loop{clock};
  Handlers handlers;
  HttpSend http = [](const HttpRequest&, Duration, std::size_t,
                     const std::atomic<bool>&) -> Result<HttpAnswer> {
    return Error{ErrorCode::kUnavailable, "there is no network here"};
  };
  std::vector<FakeTracker*> trackers;
  MachineLoad machine{.memory_all = 100};
  int ready = 0;
  bool stopped = false;
  std::int64_t last_job = 0;
  std::atomic<int> holding{0};  // runs of "hold" that have begun
  std::unique_ptr<Runner> runner;
  std::unique_ptr<RunPool> pool;
  std::unique_ptr<Worker> worker;
};

}  // namespace carillon::tasktracker
