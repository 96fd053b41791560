#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <utility>

#include "carillon/task_tracker.h"
#include "shared/base/clock.h"
#include "shared/base/configuration.h"
#include "shared/base/environment.h"
#include "shared/base/hidden_arguments.h"
#include "shared/base/host_name.h"
#include "shared/base/log.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/open_files.h"
#include "shared/runtime/private_process.h"
#include "shared/runtime/sd_notify.h"
#include "shared/runtime/signals.h"
#include "tasktracker/builtin_handlers.h"
#include "tasktracker/program.h"

namespace carillon::tasktracker {
namespace {

constexpr int kExitUsage = 2;
constexpr int kExitBug = 70;

int fail(int status, const std::string& message) {
  std::fprintf(stderr, "tasktracker: %s\n", message.c_str());
  return status;
}

// Prints once that this worker is ready, and reports its job tracker to the service manager; later
// reconnects are only logged.
class ReadyLine {
 public:
  ReadyLine(const TaskTrackerOptions& options, const Environment& environment)
      : options_(options), environment_(environment) {}

  // `xxl`: address for an xxl-job admin; `http`: address of its pages; or empty.
  void say(const std::string& tracker, const std::string& xxl, const std::string& http) {
    const bool is_off = tracker == "off";
    if (!said_.exchange(true)) {
      std::string line = "tasktracker: ready name=" + options_.name + " tracker=off";
      // Group and number of threads have no meaning for an xxl-job admin.
      if (!is_off)
        line = "tasktracker: ready group=" + options_.group + " name=" + options_.name +
               " threads=" + std::to_string(options_.threads) + " tracker=" + tracker;
      if (!xxl.empty()) line += " appname=" + options_.xxl.app_name + " xxl=" + xxl;
      if (!http.empty()) line += " http=" + http;
      std::puts(line.c_str());
      std::fflush(stdout);
    }
    // An error of the service manager is ignored.
    (void)sd_notify(environment_,
                    "READY=1\nSTATUS=working for " + (is_off ? "an xxl-job admin" : tracker));
  }

 private:
  const TaskTrackerOptions& options_;
  const Environment& environment_;
  std::atomic<bool> said_{false};
};

// What SIGHUP means.
enum class Hangup : std::uint8_t {
  kIgnored,  // started with nohup
  kStops,    // the terminal was closed
  kReloads   // read the certificate again
};

Hangup meaning_of_hangup(const TaskTrackerOptions& options, const Environment& environment) {
  if (!options.http_certificate.empty() || is_managed(environment)) return Hangup::kReloads;
  struct sigaction action {};
  const bool is_ignored =
      ::sigaction(SIGHUP, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
  return is_ignored ? Hangup::kIgnored : Hangup::kStops;
}

void reload_certificate(TaskTracker& tracker, const std::string& file) {
  const Logger log{"tasktracker"};
  if (file.empty()) return log.info("there is no certificate to read again");
  const Status status = tracker.reload_certificate();
  if (status.ok())
    log.info("read the certificate again; new connections use it", "file", file);
  else
    log.error("cannot use the new certificate; keeping the old one", "error",
              status.error().message);
}

int run(Settings settings, const Environment& environment) {
  const Hangup hangup = meaning_of_hangup(settings.options, environment);
  const SystemClock clock;
  EventLoop loop(clock);
  std::unique_ptr<TaskTracker> tracker;
  bool stopping = false;
  const auto signals = Signals::open(loop, [&](int signal, int) {
    if (signal == SIGHUP && hangup == Hangup::kIgnored) return;
    if (signal == SIGHUP && hangup == Hangup::kReloads)
      return reload_certificate(*tracker, settings.options.http_certificate);
    (void)sd_notify(environment, "STOPPING=1");  // See above.
    tracker->request_stop(stopping ? Duration{0} : settings.drain_timeout);
    stopping = true;
  });
  if (!signals.ok()) return fail(kExitBug, signals.error().message);

  if (settings.options.name.empty()) settings.options.name = process_name();
  ReadyLine ready(settings.options, environment);
  settings.options.on_ready = [&](const std::string& at) {
    ready.say(at, tracker->xxl_address(), tracker->http_address());
  };
  settings.options.on_stopped = [&loop] { loop.stop(); };
  auto opened = TaskTracker::open(settings.options);
  if (!opened.ok()) return fail(kExitUsage, opened.error().message);
  tracker = std::move(opened).value();
  for (auto& [name, handler] : builtin_handlers()) {
    if (const Status added = tracker->handle(name, handler); !added.ok()) {
      return fail(kExitBug, added.error().message);
    }
  }
  if (const Status started = tracker->start(); !started.ok()) {
    return fail(kExitBug, started.error().message);
  }
  loop.run();
  tracker->wait_stopped();
  return 0;
}

int main_of(int argc, char** argv) {
  const Environment environment = Environment::of_process();
  const Program program = make_program(environment);
  const auto parsed = parse_configuration(program, argc, argv);
  hide_secret_arguments(program, argc, argv);
  if (!parsed.ok()) return fail(kExitUsage, parsed.error().message);
  if (parsed.value().print) {
    std::fputs(parsed.value().print->c_str(), stdout);
    return 0;
  }
  const Configuration& configuration = parsed.value().configuration;
  Result<Settings> settings = read_settings(configuration);
  if (!settings.ok()) return fail(kExitUsage, settings.error().message);
  set_log_level(settings.value().log_level);
  const Logger log{"configuration"};
  for (const EffectiveOption& option : configuration.effective()) {
    log.debug("option", "name", option.name, "value", option.value, "source", option.source);
  }
  allow_all_open_files();
  return run(std::move(settings).value(), environment);
}

}  // namespace
}  // namespace carillon::tasktracker

int main(int argc, char** argv) {
  carillon::Signals::block();
  carillon::make_process_private();
  try {
    return carillon::tasktracker::main_of(argc, argv);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "tasktracker: bug: %s\n", thrown.what());
    return carillon::tasktracker::kExitBug;
  }
}
