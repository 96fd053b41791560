#pragma once

#include <future>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/mutex.h"
#include "tasktracker/executor/job_threads.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

namespace carillon::tasktracker {

// Something that a test waits for, and fails rather than hang.
template <class T>
T soon(std::future<T> future) {
  if (future.wait_for(std::chrono::seconds{60}) != std::future_status::ready) {
    abort_with("a test waited in vain", "");
  }
  return future.get();
}

// An executor's job threads with real handlers, without processes, a network and an admin.
struct ExecutorBundle {
  explicit ExecutorBundle(JobThreadsConfig its_config = {}, std::string scripts_refused = {})
      : config(its_config),
        works({.app_name = "billing", .node = "n", .scripts_refused = std::move(scripts_refused)},
              handlers, hooks, runner, scripts, environment) {
    handlers["echo"] = [](JobContext& context) {
      const JobInfo& job = context.job();
      context.log("echo of " + job.payload);
      return RunReport::succeeded(job.payload + " " + std::to_string(job.shard_index) + "/" +
                                  std::to_string(job.shard_total));
    };
    handlers["fail"] = [](JobContext&) { return RunReport::failed("as it was told"); };
    // Runs until it is stopped, or let go by the test.
    handlers["hold"] = [this](JobContext& context) {
      started.add(context.job().job_id.value);
      context.wait(std::chrono::hours{1});
      return RunReport::succeeded("let go");
    };
    jobs = std::make_unique<JobThreads>(
        config, works, logs, clock,
        JobThreads::Callbacks{
            .on_taken = [this](const wire::xxl::RunCall& call) { taken.push_back(call.log_id); },
            .report = [this](const wire::xxl::RunResult& result) { results.add(result); },
            .wake = [] {}});
  }

  // Values in the order in which they came, for a test to take.
  template <class T>
  class Queue {
   public:
    void add(T value) {
      const MutexLock lock(mutex_);
      values_.push_back(std::move(value));
      changed_.notify_all();
    }
    T take() {
      MutexLock lock(mutex_);
      while (values_.empty()) {
        if (!changed_.wait_for(lock, std::chrono::seconds{60}) && values_.empty()) {
          abort_with("a test waited in vain", "");
        }
      }
      T value = std::move(values_.front());
      values_.erase(values_.begin());
      return value;
    }
    bool is_empty() const {
      const MutexLock lock(mutex_);
      return values_.empty();
    }

   private:
    mutable Mutex mutex_;
    Condition changed_;
    std::vector<T> values_;
  };

  static wire::xxl::RunCall call(std::int64_t log_id, const std::string& handler,
                                 const std::string& param = {}) {
    return {.job_id = 1, .handler = handler, .param = param, .log_id = log_id};
  }

  const JobThreadsConfig config;
  ManualClock clock;
  testing::TempFolder folder;
  Environment environment{std::map<std::string, std::string>{{"PATH", "/usr/bin:/bin"}}};
  Handlers handlers;
  HandlersHooks hooks;
  HttpSend http;
  std::vector<std::int64_t> taken;  // log ids
  Queue<std::int64_t> started;
  Queue<wire::xxl::RunResult> results;
  Runner runner{{.node = "n", .allow = {RunKind::kHandler, RunKind::kCommand}},
                handlers,
                environment,
                http,
                clock};
  ScriptFolder scripts{folder.file("scripts")};
  LogFolder logs{folder.file("log"), Zone::utc(), clock};
  JobWorks works;
  std::unique_ptr<JobThreads> jobs;  // last: its threads use the rest
};

}  // namespace carillon::tasktracker
