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

// A worker inside your own program: it asks a job tracker for jobs of one group and runs them.
//
//   auto tracker = carillon::TaskTracker::open({.group = "mail"});
//   if (!tracker.ok()) ...
//   tracker.value()->handle("send", [](carillon::JobContext& context) { ... });
//   tracker.value()->start();
//   ...
//   tracker.value()->stop(std::chrono::seconds{30});
namespace carillon {

// Work for an xxl-job admin, as one of its executors. Handlers are known to it by their names; the
// job's parameter is their payload, the id of the job there their task id, that of the log their
// job id.
struct XxlOptions {
  // "http://HOST:PORT/xxl-job-admin", tried in order; empty: no executor.
  std::vector<std::string> admins{};
  std::string app_name{};  // the admin's name for this group of executors
  int port = 9999;         // where the admin's calls are taken; 0: a free one
  // How the admin is to call this executor; empty: "http://IP:PORT/" with the address from which
  // this machine reaches the first admin.
  std::string address{};
  std::string token{};  // the admin's; calls without it are refused. Empty: see `insecure`
  // Who signs the certificates of admins at https:// addresses: a file in PEM; empty: whom the
  // system trusts.
  std::string ca{};
  std::string log_path{};  // for log files of runs; empty: xxl-job/log in the folder for data
  int log_days = 30;       // that they are kept; 0: for ever
};

struct TaskTrackerOptions {
  // Where the job tracker may be, "tcp://HOST:PORT". It works for one at a time: the first that it
  // reaches; and for the next when that one is lost, silent for a lease, or does not serve, with
  // all that it holds. All of them are to be of one store, such as a standby's address. None: it
  // works for an xxl-job admin only.
  std::vector<std::string> trackers = {"tcp://127.0.0.1:35001"};
  std::string group = "default";  // whose jobs it runs
  std::string name{};  // as `jobclient nodes` shows it; empty: host and process, "server1-4075"
  int threads = 0;     // runs at a time; 0: one per core
  std::map<std::string, std::string> labels{};
  // Kinds of run it accepts, of: handler command shell script http. Jobs of other kinds go to other
  // task trackers of the group, or wait for one.
  // "command" alone does not allow shell lines.
  std::vector<std::string> allow = {"handler"};

  // A folder for scripts while they run, and for results that no job tracker has confirmed, which
  // the next task tracker with this folder reports; made when needed. Empty: the folder for
  // temporary files, and $XDG_STATE_HOME/carillon/tasktracker or that below ~/.local/state.
  std::string data{};

  // Access. On the same machine and as the same user nothing is needed.
  std::string token_file{};  // a job tracker's token, made readable for this user
  std::string keys{};        // a folder of CURVE keys
  // Connect to a tracker that asks for nothing; and, as an executor without a token, listen beyond
  // this machine and run scripts.
  bool insecure = false;

  XxlOptions xxl{};

  // From asking a process to end to ending it, and from asking a handler to going on without it.
  Duration kill_grace = std::chrono::seconds{5};
  // What a command, shell line or script leaves in the background ends with its run. Otherwise it
  // goes on, unless the run was killed or timed out.
  bool kill_leftovers = false;
  std::size_t output_max = 1024 * 1024;  // bytes kept of one run's output
  // No new jobs are taken from job trackers while so many percent of all processors of the machine,
  // over three seconds, or of its memory are in use, until it is 5 points less. 0: any load will
  // do. In a container they are the machine's, not the container's.
  int cpu_max = 0;
  int memory_max = 0;
  // When no job tracker has answered for a lease, a run may have been given to another worker:
  // runs are told to stop then. Otherwise they go on, and their results are kept.
  bool stop_without_lease = false;

  // Called on change, on a thread of the task tracker; must be quick and must not call stop().
  // Registered with the job tracker at this address, for the first time or again. Without job
  // trackers: once, with "off", when it listens for the admin's calls.
  std::function<void(const std::string& tracker)> on_ready{};
  std::function<void()> on_stopped{};  // the last call there is
};

// Thread: any; handle() only before start(). Runners are called on threads of its own.
class TaskTracker {
 public:
  // Checks the options and connects in the background; nothing runs before start().
  static Result<std::unique_ptr<TaskTracker>> open(TaskTrackerOptions options);
  // Stops at once, if it was not stopped before. Waits for runners until `kill_grace` after they
  // were told to stop. One that does not return by then goes on without it, so that what it uses
  // must live up to the end of the process. As an executor under an xxl-job admin it waits for all.
  virtual ~TaskTracker() = default;
  TaskTracker(const TaskTracker&) = delete;
  TaskTracker& operator=(const TaskTracker&) = delete;

  // Which function runs jobs of that handler name. kConflict: taken, or already started.
  Status handle(const std::string& name, JobRunner runner) {
    return handle(name, std::move(runner), {});
  }
  virtual Status handle(const std::string& name, JobRunner runner, HandlerHooks hooks) = 0;

  // How an xxl-job admin calls this executor; empty: it is none.
  virtual std::string xxl_address() const = 0;

  // Registers and takes jobs from now on, until stopped. A job tracker that cannot be reached is
  // tried again and again, and said once on stderr.
  virtual Status start() = 0;

  // Takes nothing new, lets what runs end for so long, tells those that still run to stop, gives
  // back what was not started and delivers results. Returns at once; a second call with a shorter
  // time overrides.
  virtual void request_stop(Duration drain) = 0;
  // Until everything has ended.
  virtual void wait_stopped() = 0;
  void stop(Duration drain) {
    request_stop(drain);
    wait_stopped();
  }

 protected:
  TaskTracker() = default;
};

}  // namespace carillon
