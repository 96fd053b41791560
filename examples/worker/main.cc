// A worker with a handler of its own. Start a jobtracker, then this program, then submit a job:
//
//   jobclient submit --group examples --handler greet --param name=Ann
//
// Ends with SIGTERM or SIGINT (Ctrl-C), after the jobs that run.
#include <csignal>
#include <cstdio>
#include <string>

#include "carillon/task_tracker.h"

namespace {

carillon::RunReport greet(carillon::JobContext& context) {
  const std::string name = context.param("name").value_or("world");
  context.log("hello, " + name);
  // Work that takes long looks here whether it shall stop, for instance because it was killed.
  if (!context.wait(std::chrono::milliseconds{100})) {
    return carillon::RunReport::exception("stopped");
  }
  return carillon::RunReport::succeeded("greeted " + name);
}

}  // namespace

int main(int argc, char** argv) {
  // Before any thread is started, so that all of them leave these signals to sigwait().
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGTERM);
  sigaddset(&stop_signals, SIGINT);
  sigprocmask(SIG_BLOCK, &stop_signals, nullptr);

  carillon::TaskTrackerOptions options;
  if (argc > 1) options.trackers = {argv[1]};
  // All workers of a node group must have the same handlers, so that any can be given its jobs.
  options.group = "examples";
  options.threads = 2;
  options.on_ready = [](const std::string& tracker) {
    std::printf("worker: ready tracker=%s\n", tracker.c_str());
    std::fflush(stdout);
  };

  auto opened = carillon::TaskTracker::open(options);
  if (!opened.ok()) {
    std::fprintf(stderr, "worker: %s\n", opened.error().message.c_str());
    return 2;
  }
  carillon::TaskTracker& tracker = *opened.value();
  for (const carillon::Status& status : {tracker.handle("greet", greet), tracker.start()}) {
    if (status.ok()) continue;
    std::fprintf(stderr, "worker: %s\n", status.error().message.c_str());
    return 1;
  }

  int signal = 0;
  sigwait(&stop_signals, &signal);
  tracker.stop(std::chrono::seconds{10});
  return 0;
}
