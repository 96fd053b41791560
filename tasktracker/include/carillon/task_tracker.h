#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "carillon/job_runner.h"
#include "carillon/result.h"
#include "carillon/time.h"

// A worker in your own program: it takes jobs of one node group from a job tracker and runs them.
//
//   auto tracker = carillon::TaskTracker::open({.group = "mail"});
//   if (!tracker.ok()) ...
//   tracker.value()->handle("send", [](carillon::JobContext& context) { ... });
//   tracker.value()->start();
//   ...
//   tracker.value()->stop(std::chrono::seconds{30});
namespace carillon {

// Settings of a worker that serves an xxl-job admin as an executor. JobInfo has the admin's job id
// as task id, its log id as job id, and the parameter of the job as payload.
struct XxlOptions {
  // Addresses like "http://HOST:PORT/xxl-job-admin", tried in order. Empty: no executor.
  std::vector<std::string> admins{};
  std::string app_name{};  // app name of the executor group at the admin
  int port = 9999;         // port for the admin's calls; 0: any free port
  // Address under which the admin calls this executor. Empty: "http://IP:PORT/" (or https) with
  // this machine's address on the route to the first admin.
  std::string address{};
  std::string token{};  // the admin's token; calls without it are rejected. Empty: see `insecure`
  // PEM file with the certificate authorities of admins at https:// addresses. Empty: the system's.
  std::string ca{};
  std::string log_path{};  // folder for log files of runs; empty: xxl-job/log in the data folder
  int log_days = 30;       // how long log files are kept; 0: forever
};

struct TaskTrackerOptions {
  // Addresses of job trackers, "tcp://HOST:PORT". All must use one store. The worker uses the first
  // one that it reaches. It changes to the next, with all its jobs, when that one is unreachable,
  // gives no answer for a lease, or does not accept workers. Empty: the worker serves only an
  // xxl-job admin.
  std::vector<std::string> trackers = {"tcp://127.0.0.1:35001"};
  std::string group = "default";  // node group whose jobs it runs
  std::string name{};  // name in `jobclient nodes`; empty: host and process, "server1-4075"
  int threads = 0;     // most concurrent runs; 0: one per core
  std::map<std::string, std::string> labels{};
  // Accepted kinds of jobs: handler, command, shell, script, http. Jobs of other kinds wait for
  // another task tracker of the group. "command" does not include shell lines.
  std::vector<std::string> allow = {"handler"};
  // Networks that HTTP jobs may call, like "10.0.0.0/8". Empty: all. Link-local and metadata
  // addresses are never called.
  std::vector<std::string> http_job_networks{};

  // Folder for running scripts and for unconfirmed results, which the next task tracker with this
  // folder reports. Created when needed. Empty: the system's folder for temporary files, and
  // $XDG_STATE_HOME/carillon/tasktracker, by default under ~/.local/state.
  std::string data{};

  // User that commands, shell lines and scripts run as; handlers run as this process's user. Needs
  // root, or CAP_SETUID, CAP_SETGID and CAP_KILL. Empty: this process's user.
  std::string run_as{};

  // Access. Not needed on the same machine as the same user.
  std::string token_file{};  // file with the job tracker's token, readable for this user
  std::string keys{};        // folder with CURVE keys
  // Connects to a job tracker without access control. As an executor without a token, also accepts
  // calls from other machines and runs scripts.
  bool insecure = false;

  XxlOptions xxl{};

  // PEM files for https: the certificate with those of its authorities, and its private key. For
  // the admin's calls, whose executor address the certificate must name, and for `http`. Empty:
  // calls are not encrypted.
  std::string http_certificate{};
  std::string http_key{};

  // "HOST:PORT" for pages with the health and metrics of this task tracker; port 0: any free port.
  // The pages need no token. An address that other machines reach needs a certificate or
  // `insecure`. Empty: none.
  std::string http{};

  // Time between SIGTERM and SIGKILL for a process, or between a stop request and the end of the
  // run for a handler.
  Duration kill_grace = std::chrono::seconds{5};
  // Kills background processes of a command, shell line or script when its run ends. Otherwise they
  // continue, unless the run was killed or timed out.
  bool kill_leftovers = false;
  std::size_t output_max = 1024 * 1024;  // limit of one run's output in bytes
  // Takes no new jobs while the machine's CPU use (over three seconds) or memory use exceeds this
  // percentage, until it is 5 points lower. 0: no limit. In a container these are the machine's
  // values.
  int cpu_max = 0;
  int memory_max = 0;
  // Stops runs when no job tracker has answered for a lease, because their jobs may already run
  // elsewhere. Otherwise they continue, and their results are kept.
  bool stop_without_lease = false;

  // Callbacks on a thread of the task tracker; they must return quickly and must not call stop().
  // on_ready: registered with the job tracker at this address, also after a change. Without job
  // trackers it is called once with "off", when the executor accepts calls.
  std::function<void(const std::string& tracker)> on_ready{};
  std::function<void()> on_stopped{};  // always the last callback
};

// Thread: any. Call handle() before start(). Runners run on threads of the task tracker.
class TaskTracker {
 public:
  // Checks the options and connects in the background. No job runs before start().
  static Result<std::unique_ptr<TaskTracker>> open(TaskTrackerOptions options);
  // Stops immediately unless it was stopped before. Waits for runners until `kill_grace` after
  // their stop request. A runner that does not return by then continues, so its data must live
  // until the process ends. As an executor under an xxl-job admin, it waits for all runners.
  virtual ~TaskTracker() = default;
  TaskTracker(const TaskTracker&) = delete;
  TaskTracker& operator=(const TaskTracker&) = delete;

  // Registers the function for a handler name. Error: kConflict if the name is taken or the task
  // tracker has started.
  Status handle(const std::string& name, JobRunner runner) {
    return handle(name, std::move(runner), {});
  }
  virtual Status handle(const std::string& name, JobRunner runner, HandlerHooks hooks) = 0;

  // Address of this executor for an xxl-job admin. Empty: it is not an executor.
  virtual std::string xxl_address() const = 0;

  // Reads the executor's certificate and key again, for connections that are opened later. Error:
  // it continues with what it has. Call it after start() and before stop().
  virtual Status reload_certificate() = 0;

  // Address of its pages, "http://HOST:PORT". Empty: it has none.
  virtual std::string http_address() const = 0;

  // Registers and takes jobs until it is stopped. Retries while no job tracker is reachable, and
  // logs this once.
  virtual Status start() = 0;

  // Stops in the background: takes no new jobs, lets runs continue for `drain`, then requests their
  // stop, returns jobs that have not started and delivers results. Returns immediately. A second
  // call with a shorter time replaces the first.
  virtual void request_stop(Duration drain) = 0;
  // Waits until everything has ended.
  virtual void wait_stopped() = 0;
  void stop(Duration drain) {
    request_stop(drain);
    wait_stopped();
  }

 protected:
  TaskTracker() = default;
};

}  // namespace carillon
