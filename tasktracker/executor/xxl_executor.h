#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "carillon/result.h"
#include "carillon/task_tracker.h"
#include "shared/base/clock.h"
#include "shared/base/environment.h"
#include "shared/base/log.h"
#include "shared/base/mutex.h"
#include "shared/net/http/http_server.h"
#include "shared/runtime/thread.h"
#include "shared/runtime/wakeup.h"
#include "tasktracker/executor/admin_client.h"
#include "tasktracker/executor/executor_api.h"
#include "tasktracker/executor/job_threads.h"
#include "tasktracker/executor/job_work.h"
#include "tasktracker/executor/log_folder.h"
#include "tasktracker/executor/result_outbox.h"
#include "tasktracker/executor/taken_triggers.h"
#include "tasktracker/metrics/worker_metrics.h"
#include "tasktracker/run/runner.h"
#include "tasktracker/run/script.h"

namespace carillon::tasktracker {

struct XxlExecutorConfig {
  XxlOptions options{};
  std::string node{};
  std::string data{};         // folder for results, scripts and log files
  std::set<RunKind> allow{};  // kinds of jobs that this worker accepts
  bool insecure = false;
  net::HttpAccess access{};       // of the port for the admin's calls
  std::optional<RunAs> run_as{};  // user of commands and scripts; none: this process's
  ProcessLimits process{};
  WorkerMetrics* metrics = nullptr;                 // must outlive the executor; or null
  Duration beat = std::chrono::seconds{30};         // between registrations
  Duration deliver_wait = std::chrono::seconds{5};  // at the end, for results
};

// An executor for an xxl-job admin, with all its parts and threads: it listens, registers, runs
// jobs and delivers their results.
//
// Threads, besides those of the jobs, the listener and the log reader: one calls the admin, to
// register and to send results. The keeper stops timed-out runs and handles the shutdown, where it
// notifies each admin on a separate thread.
//
// Thread: the owner's; request_stop() any.
class XxlExecutor {
 public:
  // Checks the options. The references must outlive the executor.
  static Result<std::unique_ptr<XxlExecutor>> open(XxlExecutorConfig config,
                                                   const Handlers& handlers,
                                                   const HandlersHooks& hooks,
                                                   const Environment& environment,
                                                   const HttpSend& send, const Clock& clock);
  // Like request_stop() without time, and waits for the end.
  ~XxlExecutor();
  XxlExecutor(const XxlExecutor&) = delete;
  XxlExecutor& operator=(const XxlExecutor&) = delete;

  // Listens and registers from now on. `on_stopped` is the last callback, on its own thread.
  Status start(std::function<void()> on_stopped);

  // Unregisters at the admins and, when they have answered or do not respond, accepts no more
  // triggers. Accepted triggers may run for `drain`. A second call may only shorten the time.
  void request_stop(Duration drain);
  void wait_stopped();

  // See net::HttpServer. Error: kUnavailable, because it has stopped.
  Status reload_certificate();

  // The address for the admin's calls.
  const std::string& address() const { return address_; }

 private:
  XxlExecutor(XxlExecutorConfig config, const Handlers& handlers, const HandlersHooks& hooks,
              const Environment& environment, const HttpSend& send, const Clock& clock,
              const Zone& zone, std::unique_ptr<TakenTriggers> taken);
  Status listen();
  void report_left_behind();
  void answer(const net::HttpCall& call, const net::HttpResponder& responder);
  bool is_stopping() const;

  void talk();
  void beat();
  void register_now();

  void keep();
  void end();
  void leave();
  bool wait_for(Wakeup& wakeup, Duration longest);

  const XxlExecutorConfig config_;
  const Clock& clock_;
  const HttpSend& send_;
  const Logger log_{"xxl"};

  std::atomic<bool> is_started_{false};
  std::atomic<std::int64_t> stop_at_us_;  // of the steady clock; the maximum: not requested
  std::atomic<bool> at_once_{false};      // no time is left
  std::atomic<bool> is_registering_{false};
  std::atomic<bool> has_registered_{false};  // or has tried to
  std::atomic<bool> is_last_talk_{false};
  std::atomic<bool> is_talk_cancelled_{false};
  Wakeup keeper_wakeup_;
  Wakeup talk_wakeup_;
  Wakeup registration_ended_;
  Wakeup talk_ended_;

  std::string address_;
  // Used by the thread that calls the admin.
  AdminClient admin_;
  SteadyTime beat_at_{};
  bool is_registered_ = false;
  bool is_failure_said_ = false;

  Runner runner_;
  ScriptFolder scripts_;
  LogFolder logs_;
  const std::unique_ptr<TakenTriggers> taken_;
  ResultOutbox results_;
  JobWorks works_;
  JobThreads jobs_;
  std::unique_ptr<ExecutorApi> api_;
  Mutex server_mutex_;  // the keeper destroys the server, and another thread may reload it
  std::unique_ptr<net::HttpServer> server_;
  std::function<void()> on_stopped_;
  std::unique_ptr<Thread> talker_;
  Mutex mutex_;  // several threads may wait for the end
  std::unique_ptr<Thread> keeper_;
};

}  // namespace carillon::tasktracker
