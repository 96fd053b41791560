#include "tasktracker/program.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "shared/base/secret_file.h"
#include "shared/base/utf8.h"
#include "shared/net/endpoint.h"
#include "shared/net/networks.h"
#include "shared/runtime/thread.h"

namespace carillon::tasktracker {
namespace {

constexpr const char* kOff = "off";
constexpr std::int64_t kPortMax = 65535;
constexpr std::size_t kLabelsMax = 64;
constexpr std::size_t kLabelBytesMax = 200;
constexpr std::int64_t kLogDaysMax = 36'500;
constexpr std::int64_t kOutputBytesMax = 64 * 1024 * 1024;

std::string data_folder(const Environment& environment) {
  if (const auto state = environment.get("XDG_STATE_HOME")) return *state + "/carillon/tasktracker";
  if (const auto home = environment.get("HOME")) {
    return *home + "/.local/state/carillon/tasktracker";
  }
  return {};
}

Status check_tracker(const std::string& text) {
  if (text == kOff) return {};
  return net::check_endpoint(text);
}

Status check_http(const std::string& text) {
  if (text != kOff) CARILLON_TRY(net::parse_host_port(text));
  return {};
}

std::vector<Option> work_options() {
  return {
      {.name = "tracker",
       .kind = OptionKind::kList,
       .placeholder = "tcp://HOST:PORT",
       .help =
           "Address of the job tracker. With several, separated by commas, the next is used when "
           "one fails; all must use one store. off: no job tracker, only an xxl-job admin.",
       .fallback = "tcp://127.0.0.1:35001",
       .check = check_tracker,
       .section = "Work",
       .by_comma = true},
      {.name = "group",
       .placeholder = "NAME",
       .help = "Node group whose jobs to run. All workers of a group share its jobs.",
       .fallback = "default",
       .section = "Work"},
      {.name = "threads",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "How many jobs run concurrently.",
       .fallback = std::to_string(hardware_threads()),
       .fallback_help = "one per core",
       .min = 1,
       .max = 1024,
       .section = "Work"},
      {.name = "name",
       .placeholder = "NAME",
       .help = "Name of this worker in `jobclient nodes` and CARILLON_NODE.",
       .fallback_help = "host and process, like server1-4075",
       .section = "Work",
       .if_empty = "leave it out for host and process"},
      {.name = "label",
       .kind = OptionKind::kList,
       .placeholder = "KEY=VALUE",
       .help = "Label of this worker, shown by `jobclient nodes`.",
       .section = "Work"},
      {.name = "metrics",
       .placeholder = "HOST:PORT",
       .help = "Address that serves /healthz and /metrics of this worker. off disables it. On an "
               "address that other machines reach, it needs --http-cert or --insecure.",
       .fallback = kOff,
       .check = check_http,
       .section = "Work"},
      {.name = "allow",
       .kind = OptionKind::kList,
       .placeholder = "KIND,...",
       .help = "Kinds of jobs to accept. Jobs of other kinds go to other workers of the group, or "
               "wait.",
       .fallback = "handler,command,shell,script,http",
       .choices = {"handler", "command", "shell", "script", "http"},
       .section = "Work",
       .by_comma = true},
      {.name = "http-job-networks",
       .kind = OptionKind::kList,
       .placeholder = "CIDR,...",
       .help = "Networks that HTTP jobs may call, like 10.0.0.0/8. Link-local and metadata "
               "addresses are never called.",
       .fallback_help = "all networks",
       .check = net::check_network,
       .section = "Work",
       .by_comma = true},
  };
}

std::vector<Option> limit_options(const Environment& environment) {
  return {
      {.name = "drain-timeout",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "After SIGTERM or SIGINT, the worker takes no new jobs and lets running jobs end "
               "for this time. A second signal stops immediately.",
       .fallback = "30s",
       .section = "Limits"},
      {.name = "kill-grace",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "A job that is killed or times out gets SIGTERM, and SIGKILL after this time. A C++ "
               "handler gets a stop request; after this time its run ends even if the handler "
               "continues.",
       .fallback = "5s",
       .section = "Limits"},
      {.name = "kill-leftovers",
       .kind = OptionKind::kSwitch,
       .help = "Kill background processes of a command, shell line or script when it ends. Without "
               "this flag they continue. A kill or time-out always ends them.",
       .section = "Limits"},
      {.name = "stop-without-lease",
       .kind = OptionKind::kSwitch,
       .help = "Stop a run when the job tracker that owns it has not answered for a lease, because "
               "the job may already run elsewhere. Without this flag the run continues and its "
               "result is kept.",
       .section = "Limits"},
      {.name = "cpu-max",
       .kind = OptionKind::kNumber,
       .placeholder = "PERCENT",
       .help = "Take no new jobs while the machine's CPU use over three seconds exceeds this "
               "percentage, until it is 5 points lower.",
       .fallback_help = "no limit",
       .min = 1,
       .max = 100,
       .section = "Limits"},
      {.name = "memory-max",
       .kind = OptionKind::kNumber,
       .placeholder = "PERCENT",
       .help = "The same for the machine's memory in use: all memory that programs could not get "
               "without "
               "swapping.",
       .fallback_help = "no limit",
       .min = 1,
       .max = 100,
       .section = "Limits"},
      {.name = "output-max",
       .kind = OptionKind::kNumber,
       .placeholder = "BYTES",
       .help = "How much output of one run is kept. A higher limit needs more memory and storage.",
       .fallback = "1048576",
       .min = 1,
       .max = kOutputBytesMax,
       .section = "Limits"},
      {.name = "data",
       .placeholder = "DIR",
       .help = "Folder for the worker's own files: running scripts, and unconfirmed results, which "
               "the next worker reports. Workers may share it.",
       .fallback = data_folder(environment),
       .section = "Limits"},
  };
}

std::vector<Option> xxl_options() {
  return {
      {.name = "xxl-admin",
       .kind = OptionKind::kList,
       .placeholder = "URL",
       .help =
           "Serve this xxl-job admin as one of its executors, like "
           "http://HOST:8080/xxl-job-admin. Several are separated by commas and tried in order.",
       .section = "xxl-job",
       .by_comma = true},
      {.name = "xxl-appname",
       .placeholder = "NAME",
       .help = "The admin's name for this group of executors.",
       .section = "xxl-job"},
      {.name = "xxl-port",
       .kind = OptionKind::kNumber,
       .placeholder = "PORT",
       .help = "Port for the admin's calls. 0 chooses a free port.",
       .fallback = "9999",
       .min = 0,
       .max = kPortMax,
       .section = "xxl-job"},
      {.name = "xxl-address",
       .placeholder = "URL",
       .help = "Address under which the admin calls this executor.",
       .fallback_help = "this machine's address on the route to the admin",
       .section = "xxl-job"},
      {.name = "xxl-token",
       .placeholder = "TOKEN",
       .help = "The admin's access token. Calls without it are rejected. Without a token, the "
               "admin must be on this machine and scripts are not run, unless --insecure is given.",
       .section = "xxl-job",
       .secret = true},
      {.name = "xxl-token-file",
       .placeholder = "FILE",
       .help = "File with this access token, instead of --xxl-token: other users can read the "
               "arguments of a program.",
       .section = "xxl-job"},
      {.name = "http-cert",
       .placeholder = "FILE",
       .help =
           "PEM file with the certificate of --xxl-port and --metrics, then those of its "
           "authorities. Both then speak HTTPS, and the executor registers an https:// address, "
           "whose host the certificate must name. SIGHUP reads it and its key again.",
       .section = "xxl-job"},
      {.name = "http-key",
       .placeholder = "FILE",
       .help = "PEM file with the private key of this certificate.",
       .section = "xxl-job"},
      {.name = "xxl-ca",
       .placeholder = "FILE",
       .help = "PEM file with the certificate authorities that sign the certificates of admins at "
               "https:// addresses.",
       .fallback_help = "the system's certificate authorities",
       .section = "xxl-job"},
      {.name = "xxl-log-path",
       .placeholder = "DIR",
       .help = "Folder for the log files of runs, DIR/yyyy-MM-dd/LOG_ID.log.",
       .fallback_help = "xxl-job/log in --data",
       .section = "xxl-job"},
      {.name = "xxl-log-days",
       .kind = OptionKind::kNumber,
       .placeholder = "DAYS",
       .help = "How long log files are kept. 0: forever.",
       .fallback = "30",
       .min = 0,
       .max = kLogDaysMax,
       .section = "xxl-job"},
  };
}

std::vector<Option> access_options() {
  return {
      {.name = "run-as",
       .placeholder = "USER",
       .help = "Run commands, shell lines and scripts as this user, in its home folder. It cannot "
               "read the worker's files and keys. Needs root, or CAP_SETUID, CAP_SETGID and "
               "CAP_KILL.",
       .fallback_help = "the worker's user",
       .section = "Access",
       .if_empty = "leave it out for the worker's user"},
      {.name = "token-file",
       .placeholder = "FILE",
       .help = "File with the job tracker's access token, for a job tracker that runs as another "
               "user of this machine.",
       .section = "Access"},
      {.name = "keys",
       .placeholder = "DIR",
       .help = "Folder with client.key, client.pub and server.pub, for a job tracker with --keys.",
       .section = "Access"},
      {.name = "insecure",
       .kind = OptionKind::kSwitch,
       .help = "Connect to a job tracker that was started with --insecure. As an executor without "
               "a token, accept all calls.",
       .section = "Access"},
      {.name = "log-level",
       .placeholder = "LEVEL",
       .help = "Least severe level that is logged on stderr.",
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
          "shell lines, scripts, HTTP requests, and the test handlers noop, echo, sleep and fail. "
          "To run your own handlers, write a program with the carillon::tasktracker library.",
      .examples =
          "  tasktracker                                     # work for the tracker here\n"
          "  tasktracker --group mail --threads 8 --name mail-1\n"
          "  tasktracker --allow handler,http                # run no commands\n"
          "  tasktracker --tracker tcp://10.0.0.5:35001 --keys /etc/carillon/keys\n"
          "  tasktracker --tracker tcp://a:35001,tcp://b:35001 --keys /etc/carillon/keys\n"
          "  tasktracker --tracker off --xxl-admin http://127.0.0.1:8080/xxl-job-admin \\\n"
          "              --xxl-appname billing        # an executor of xxl-job, and nothing "
          "else\n"};
  append(program.options, work_options());
  append(program.options, limit_options(environment));
  append(program.options, xxl_options());
  append(program.options, access_options());
  return program;
}

namespace {

Result<XxlOptions> read_xxl(const Configuration& configuration) {
  for (const char* name : {"xxl-appname", "xxl-port", "xxl-address", "xxl-token", "xxl-token-file",
                           "xxl-ca", "xxl-log-path", "xxl-log-days"}) {
    if (configuration.was_given(name) && !configuration.was_given("xxl-admin")) {
      return Error{ErrorCode::kInvalidArgument, configuration.source(name) +
                                                    " requires an xxl-job admin (give one with "
                                                    "--xxl-admin)"};
    }
  }
  std::string token = CARILLON_TRY(text_or_file(configuration, "xxl-token"));
  return XxlOptions{.admins = configuration.list("xxl-admin"),
                    .app_name = configuration.text("xxl-appname"),
                    .port = static_cast<int>(configuration.number("xxl-port")),
                    .address = configuration.text("xxl-address"),
                    .token = std::move(token),
                    .ca = configuration.text("xxl-ca"),
                    .log_path = configuration.text("xxl-log-path"),
                    .log_days = static_cast<int>(configuration.number("xxl-log-days"))};
}

Result<std::vector<std::string>> read_trackers(const Configuration& configuration) {
  const std::vector<std::string>& trackers = configuration.list("tracker");
  if (std::find(trackers.begin(), trackers.end(), kOff) == trackers.end()) return trackers;
  if (trackers.size() > 1) {
    return Error{ErrorCode::kInvalidArgument,
                 configuration.source("tracker") + ": off cannot be combined with an address"};
  }
  if (!configuration.was_given("xxl-admin")) {
    return Error{ErrorCode::kInvalidArgument,
                 configuration.source("tracker") +
                     " is off and --xxl-admin is missing, so there is nothing to do"};
  }
  return std::vector<std::string>{};
}

// For scripts and unconfirmed results.
Status make_data_folder(const Configuration& configuration) {
  const std::string& folder = configuration.text("data");
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (!failed && ::access(folder.c_str(), W_OK | X_OK) != 0) {
    failed = std::error_code(errno, std::generic_category());
  }
  if (!failed) return {};
  return Error{ErrorCode::kInvalidArgument, configuration.source("data") + ": cannot use folder " +
                                                folder + ": " + failed.message() +
                                                " (give a folder that this user may write to)"};
}

// Takes the rights of other users from folders that this program made: earlier versions let every
// user read them. A folder that --data names may be more than a data folder, and is left as it is.
void close_own_folders(const Configuration& configuration) {
  const std::string& data = configuration.text("data");
  std::vector<std::string> folders{data + "/outbox", data + "/xxl-job"};
  if (!configuration.was_given("data")) folders.push_back(data);
  for (const std::string& folder : folders) {
    struct stat status {};
    if (::lstat(folder.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) continue;
    if (status.st_uid == ::geteuid() && (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
      ::chmod(folder.c_str(), status.st_mode & S_IRWXU);
    }
  }
}

Result<std::map<std::string, std::string>> read_labels(const Configuration& configuration) {
  std::map<std::string, std::string> labels;
  const auto wrong = [&](const std::string& what) {
    return Error{ErrorCode::kInvalidArgument, configuration.source("label") + ": " + what};
  };
  for (const std::string& label : configuration.list("label")) {
    if (label.size() > kLabelBytesMax) {
      return wrong("a label has " + std::to_string(label.size()) + " bytes, at most " +
                   std::to_string(kLabelBytesMax));
    }
    if (!is_printable_utf8(label)) {
      return wrong("a label must be UTF-8 text without control characters");
    }
    const std::size_t equals = label.find('=');
    if (equals == std::string::npos || equals == 0) {
      return wrong("'" + label + "' is not a label (write KEY=VALUE)");
    }
    const std::string key = label.substr(0, equals);
    if (!labels.emplace(key, label.substr(equals + 1)).second) {
      return wrong("'" + key + "' is given twice (give it once)");
    }
  }
  if (labels.size() <= kLabelsMax) return labels;
  return wrong(std::to_string(labels.size()) + " labels are given, at most " +
               std::to_string(kLabelsMax));
}

}  // namespace

Result<Settings> read_settings(const Configuration& configuration) {
  Settings settings;
  settings.drain_timeout = configuration.duration("drain-timeout");
  settings.log_level = CARILLON_TRY(parse_log_level(configuration.text("log-level")));
  TaskTrackerOptions& options = settings.options;
  options.trackers = CARILLON_TRY(read_trackers(configuration));
  options.xxl = CARILLON_TRY(read_xxl(configuration));
  options.group = configuration.text("group");
  options.name = configuration.text("name");
  options.threads = static_cast<int>(configuration.number("threads"));
  options.labels = CARILLON_TRY(read_labels(configuration));
  if (configuration.text("metrics") != kOff) options.http = configuration.text("metrics");
  options.allow = configuration.list("allow");
  options.http_job_networks = configuration.list("http-job-networks");
  if (configuration.was_given("data")) CARILLON_TRY(make_data_folder(configuration));
  options.data = configuration.text("data");
  if (!options.data.empty()) close_own_folders(configuration);
  options.run_as = configuration.text("run-as");
  options.token_file = configuration.text("token-file");
  options.keys = configuration.text("keys");
  options.insecure = configuration.is_on("insecure");
  options.http_certificate = configuration.text("http-cert");
  options.http_key = configuration.text("http-key");
  options.kill_grace = configuration.duration("kill-grace");
  options.kill_leftovers = configuration.is_on("kill-leftovers");
  options.stop_without_lease = configuration.is_on("stop-without-lease");
  if (configuration.has("cpu-max"))
    options.cpu_max = static_cast<int>(configuration.number("cpu-max"));
  if (configuration.has("memory-max"))
    options.memory_max = static_cast<int>(configuration.number("memory-max"));
  options.output_max = static_cast<std::size_t>(configuration.number("output-max"));
  return settings;
}

}  // namespace carillon::tasktracker
