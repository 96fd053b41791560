#include "tasktracker/program.h"

#include <utility>

#include "shared/net/endpoint.h"
#include "shared/runtime/thread.h"

namespace carillon::tasktracker {
namespace {

constexpr std::int64_t kOutputBytesMax = 64 * 1024 * 1024;

std::string data_folder(const Environment& environment) {
  if (const auto state = environment.get("XDG_STATE_HOME")) return *state + "/carillon/tasktracker";
  if (const auto home = environment.get("HOME")) {
    return *home + "/.local/state/carillon/tasktracker";
  }
  return {};
}

std::vector<Option> work_options() {
  return {
      {.name = "tracker",
       .kind = OptionKind::kList,
       .placeholder = "tcp://HOST:PORT",
       .help = "Where the job tracker is; several addresses by comma: the next where one does not "
               "serve. All of one store.",
       .fallback = "tcp://127.0.0.1:35001",
       .check = net::check_endpoint,
       .section = "Work",
       .by_comma = true},
      {.name = "group",
       .placeholder = "NAME",
       .help = "Whose jobs to run. All workers of a group share its jobs.",
       .fallback = "default",
       .section = "Work"},
      {.name = "threads",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "How many jobs run at a time.",
       .fallback = std::to_string(hardware_threads()),
       .fallback_help = "one per core",
       .min = 1,
       .max = 1024,
       .section = "Work"},
      {.name = "name",
       .placeholder = "NAME",
       .help = "What `jobclient nodes` and CARILLON_NODE call this worker.",
       .fallback_help = "the host's name",
       .section = "Work"},
      {.name = "label",
       .kind = OptionKind::kList,
       .placeholder = "KEY=VALUE",
       .help = "Something to know this worker by; may be given several times.",
       .section = "Work"},
      {.name = "allow",
       .kind = OptionKind::kList,
       .placeholder = "KIND,...",
       .help =
           "Kinds of run to accept. Jobs of other kinds go to other workers of the group, or wait.",
       .fallback = "handler,command,shell,script,http",
       .choices = {"handler", "command", "shell", "script", "http"},
       .section = "Work",
       .by_comma = true},
  };
}

std::vector<Option> limit_options(const Environment& environment) {
  return {
      {.name = "drain-timeout",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "On SIGTERM or SIGINT nothing new is taken; what runs may end for so long. A "
               "second signal stops at once.",
       .fallback = "30s",
       .section = "Limits"},
      {.name = "kill-grace",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "A job that is killed or takes too long gets SIGTERM, and SIGKILL after this time.",
       .fallback = "5s",
       .section = "Limits"},
      {.name = "stop-without-lease",
       .kind = OptionKind::kSwitch,
       .help = "Stop what runs when no job tracker has answered for a lease, because it may run "
               "elsewhere by then. Without this, it runs on and its result is kept.",
       .section = "Limits"},
      {.name = "output-max",
       .kind = OptionKind::kNumber,
       .placeholder = "BYTES",
       .help = "How much of one run's output is kept. More memory and storage when it grows.",
       .fallback = "1048576",
       .min = 0,
       .max = kOutputBytesMax,
       .section = "Limits"},
      {.name = "data",
       .placeholder = "DIR",
       .help = "Folder for the worker's own files: scripts while they run, and results that no job "
               "tracker has confirmed, for the next worker to report. Workers may share it.",
       .fallback = data_folder(environment),
       .section = "Limits"},
  };
}

std::vector<Option> access_options() {
  return {
      {.name = "token-file",
       .placeholder = "FILE",
       .help = "The job tracker's access token, when it runs as another user of this machine.",
       .section = "Access"},
      {.name = "keys",
       .placeholder = "DIR",
       .help = "Folder with client.key, client.pub and server.pub, for a job tracker with keys.",
       .section = "Access"},
      {.name = "insecure",
       .kind = OptionKind::kSwitch,
       .help = "Connect to a job tracker that was started with --insecure.",
       .section = "Access"},
      {.name = "log-level",
       .placeholder = "LEVEL",
       .help = "What is logged on stderr.",
       .fallback = "info",
       .choices = {"debug", "info", "warn", "error", "off"}},
  };
}

void append(std::vector<Option>& all, std::vector<Option>&& more) {
  for (Option& option : more) all.push_back(std::move(option));
}

}  // namespace

Program make_program(const Environment& environment) {
  Program program{
      .name = "tasktracker",
      .summary = "runs the jobs of one group",
      .description =
          "Connects to a job tracker, takes jobs of its group and runs them: commands, "
          "shell lines, scripts, HTTP requests, and the handlers noop, echo, sleep and "
          "fail for trying things. Your own handlers belong into a program of yours "
          "that uses the library.",
      .examples =
          "  tasktracker                                     # work for the tracker here\n"
          "  tasktracker --group mail --threads 8 --name mail-1\n"
          "  tasktracker --allow handler,http                # run no commands\n"
          "  tasktracker --tracker tcp://10.0.0.5:35001 --keys /etc/carillon/keys\n"
          "  tasktracker --tracker tcp://a:35001,tcp://b:35001 --keys /etc/carillon/keys\n"};
  append(program.options, work_options());
  append(program.options, limit_options(environment));
  append(program.options, access_options());
  return program;
}

Result<Settings> read_settings(const Configuration& configuration) {
  Settings settings;
  settings.drain_timeout = configuration.duration("drain-timeout");
  settings.log_level = CARILLON_TRY(parse_log_level(configuration.text("log-level")));
  TaskTrackerOptions& options = settings.options;
  options.trackers = configuration.list("tracker");
  options.group = configuration.text("group");
  options.name = configuration.text("name");
  options.threads = static_cast<int>(configuration.number("threads"));
  for (const std::string& label : configuration.list("label")) {
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return Error{ErrorCode::kInvalidArgument, configuration.source("label") + ": '" + label +
                                                    "' is not a label (write KEY=VALUE)"};
    }
    options.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  options.allow = configuration.list("allow");
  options.data = configuration.text("data");
  options.token_file = configuration.text("token-file");
  options.keys = configuration.text("keys");
  options.insecure = configuration.is_on("insecure");
  options.kill_grace = configuration.duration("kill-grace");
  options.stop_without_lease = configuration.is_on("stop-without-lease");
  options.output_max = static_cast<std::size_t>(configuration.number("output-max"));
  return settings;
}

}  // namespace carillon::tasktracker
