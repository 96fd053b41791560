#include "jobtracker/program.h"

#include <filesystem>
#include <utility>

#include "shared/base/host_name.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"
#include "shared/job/zone.h"
#include "shared/net/endpoint.h"

namespace carillon::jobtracker {
namespace {

std::string data_folder(const Environment& environment) {
  if (const auto state = environment.get("XDG_STATE_HOME")) return *state + "/carillon/jobtracker";
  if (const auto home = environment.get("HOME")) return *home + "/.local/state/carillon/jobtracker";
  return "carillon-jobtracker";
}

constexpr std::int64_t micros(Duration duration) { return duration.count(); }

constexpr std::size_t kNameBytesMax = 200;

// As that of a task tracker.
Status check_name(const std::string& name) {
  const bool is_short = name.size() <= kNameBytesMax;
  if (!name.empty() && is_short && is_printable_utf8(name)) return {};
  const std::string what = name.empty() ? "'' is empty"
                           : is_short   ? "the name has control characters or is not UTF-8"
                                        : "the name has " + std::to_string(name.size()) + " bytes";
  return Error{
      ErrorCode::kInvalidArgument,
      what + ", must be 1 to " + std::to_string(kNameBytesMax) + " bytes of printable UTF-8 text"};
}

std::vector<Option> store_options(const Environment& environment) {
  return {
      {.name = "store",
       .placeholder = "URL",
       .help = "Where jobs are kept: sqlite:PATH (embedded, one job tracker) or "
               "mysql://user:password@host:port/database. Of several hosts, "
               "host1:port,host2:port, the first that can be written to is used.",
       .fallback_help = "sqlite:DATA/carillon.db",
       .section = "Store",
       .if_empty = "leave it out for the default",
       .secret = true},
      {.name = "data",
       .placeholder = "DIR",
       .help = "Folder of the default store; made if it is missing.",
       .fallback = data_folder(environment),
       .section = "Store"},
      {.name = "store-wait",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help =
           "How long to try at start while the store can't be reached. Waiting for --silence is "
           "not bounded by it.",
       .fallback = "30s",
       .section = "Store"},
      {.name = "log-retention",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How long ended jobs stay in the history, with their output.",
       .fallback = "7d",
       .section = "Store"},
  };
}

Status check_http(const std::string& text) {
  if (text != "off") CARILLON_TRY(net::parse_host_port(text));
  return {};
}

std::vector<Option> network_options() {
  return {
      {.name = "listen",
       .placeholder = "tcp://HOST:PORT",
       .help = "Where task trackers and job clients connect. Port 0 takes a free one.",
       .fallback = "tcp://127.0.0.1:35001",
       .check = net::check_endpoint,
       .section = "Network"},
      {.name = "advertise",
       .placeholder = "tcp://HOST:PORT",
       .help =
           "Where task trackers and job clients reach this one from other machines, when another "
           "job tracker sends them here.",
       .fallback_help = "as it listens, by this machine's name",
       .check =
           [](const std::string& text) {
             return text.empty() ? Status{} : net::check_endpoint(text);
           },
       .section = "Network"},
      {.name = "http",
       .placeholder = "HOST:PORT",
       .help = "Where /healthz, /readyz and /metrics are served, and xxl-job executors register; "
               "off for nowhere.",
       .fallback = "127.0.0.1:8080",
       .check = check_http,
       .section = "Network"},
      {.name = "keys",
       .placeholder = "DIR",
       .help = "Folder with server.key, server.pub and clients/*.pub: only programs with one of "
               "these keys get in. Needed off loopback.",
       .section = "Network"},
      {.name = "insecure",
       .kind = OptionKind::kSwitch,
       .help = "Let everybody in who can connect. They can run commands on every task tracker.",
       .section = "Network"},
  };
}

Status check_xxl_listen(const std::string& text) {
  return text.empty() ? Status{} : check_http(text);
}

Status check_token(const std::string& text) {
  if (!text.empty() && is_printable_utf8(text)) return {};
  return Error{ErrorCode::kInvalidArgument, "a token is empty or holds control characters"};
}

std::vector<Option> xxl_options() {
  return {
      {.name = "xxl-listen",
       .placeholder = "HOST:PORT",
       .help = "Where xxl-job executors register and report, as to an xxl-job admin: /api and "
               "/xxl-job-admin/api; off for nowhere.",
       .fallback_help = "the --http address",
       .check = check_xxl_listen,
       .section = "xxl-job"},
      {.name = "xxl-token",
       .kind = OptionKind::kList,
       .placeholder = "TOKEN",
       .help = "Access token of the executors; any of several. Needed off loopback.",
       .check = check_token,
       .section = "xxl-job",
       .secret = true},
      {.name = "xxl-ca",
       .placeholder = "FILE",
       .help =
           "Certificates, in PEM, of those who sign the ones of executors at https:// addresses.",
       .fallback_help = "those that the system trusts",
       .section = "xxl-job"},
      {.name = "executor-silence",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "The runs of an executor that has been silent for so long are lost and start again "
               "at another one. It is silent after 90 seconds without a registration and without "
               "an answer to a beat.",
       .fallback = "5m",
       .min = micros(std::chrono::seconds{1}),
       .max = micros(std::chrono::hours{24 * 366}),
       .section = "xxl-job"},
  };
}

// Whoever registers an executor is sent jobs, and whoever reports a result ends one.
Status read_xxl(const Configuration& configuration, Settings& settings) {
  settings.xxl_listen = configuration.text("xxl-listen");
  settings.xxl_tokens = configuration.list("xxl-token");
  settings.xxl_ca = configuration.text("xxl-ca");
  const std::string& address = settings.xxl_listen.empty() ? settings.http : settings.xxl_listen;
  if (address.empty() || address == "off") return {};
  const net::Endpoint endpoint = CARILLON_TRY(net::parse_host_port(address));
  if (endpoint.is_loopback() || !settings.xxl_tokens.empty() || settings.access.insecure) return {};
  constexpr const char* kRemedy = " (give the executors' token with --xxl-token, or --insecure)";
  if (settings.xxl_listen.empty()) {
    settings.xxl_closed =
        "this job tracker takes no executors: others than this machine reach it, and it has no "
        "token" +
        std::string{kRemedy};
    return {};
  }
  return Error{ErrorCode::kInvalidArgument,
               "--xxl-listen " + address + " would be open to everybody who reaches it" + kRemedy};
}

Status check_recipient(const std::string& recipient) { return check_alarm_recipient(recipient); }

Status check_rule(const std::string& text) {
  CARILLON_TRY(parse_alarm_rule(text));
  return {};
}

Status check_sender(const std::string& address) {
  const bool is_url = address.find("://") != std::string::npos;
  if (!is_url && check_alarm_recipient(address).ok()) return {};
  return Error{ErrorCode::kInvalidArgument,
               "'" + address + "' is not a mail address, like carillon@example.com"};
}

Status check_mail_server(const Settings& settings) {
  if (!settings.smtp.empty()) return {};
  for (const std::string& recipient : settings.tracker.alarms.recipients) {
    if (recipient.find("://") != std::string::npos) continue;
    return Error{
        ErrorCode::kInvalidArgument,
        "--alarm '" + recipient +
            "' would be told nothing without a mail server (name one with --smtp, or a URL "
            "with --alarm)"};
  }
  return {};
}

std::vector<Option> alarm_options() {
  return {
      {.name = "alarm",
       .kind = OptionKind::kList,
       .placeholder = "TO",
       .help = "Who is told of jobs that have failed for good and name nobody themselves: a mail "
               "address, or a URL that gets a POST.",
       .check = check_recipient,
       .section = "Alarms",
       .secret = true},
      {.name = "alarm-when",
       .kind = OptionKind::kList,
       .placeholder = "RULE",
       .help =
           "They are also told when a node group is not as it should be: unserved=TIME (jobs are "
           "due and no task tracker is there), late=TIME (a due job has waited so long), "
           "backlog=JOBS (so many are due), failures=PERCENT% (of the runs of five minutes), "
           "overload=TIME (the machine of a task tracker has been beyond its --cpu-max or "
           "--memory-max for so long), output=TEXT|TEXT (what runs write holds one of them); of "
           "an executor with runs that is silent, unless silent=off. "
           "GROUP/RULE is for one group, and =off for none.",
       .check = check_rule,
       .section = "Alarms"},
      {.name = "alarm-interval",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "Between two messages of a node group to a recipient; what fails meanwhile is told "
               "in one.",
       .fallback = "1m",
       .min = micros(std::chrono::seconds{1}),
       .section = "Alarms"},
      {.name = "smtp",
       .placeholder = "URL",
       .help = "Mail server: smtp://[USER:PASSWORD@]HOST[:PORT], or smtps://.",
       .fallback_help = "no mails are sent",
       .section = "Alarms",
       .secret = true},
      {.name = "smtp-from",
       .placeholder = "ADDRESS",
       .help = "Sender of mails.",
       .fallback = "carillon@" + host_name(),
       .check = check_sender,
       .section = "Alarms"},
  };
}

std::vector<Option> schedule_options() {
  return {
      {.name = "tz",
       .placeholder = "ZONE",
       .help = "Time zone of cron jobs that name none.",
       .fallback_help = "this machine's",
       .section = "Scheduling"},
      {.name = "lease",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help =
           "A task tracker not heard of for so long is dead, and its jobs run elsewhere. Who takes "
           "over waits for the longest that was given.",
       .fallback = "3s",
       .min = micros(2 * JobTrackerConfig{}.pull_interval),
       .max = micros(std::chrono::hours{24}),
       .section = "Scheduling"},
      {.name = "silence",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "Another job tracker on the same database not heard of for so long is dead, and its "
               "node groups are taken over. Longer forgives one that stands still; one that was "
               "killed and is started again waits for it, too, and says so in its log.",
       .fallback = "1500ms",
       .min = micros(kSilence),
       .max = micros(std::chrono::hours{1}),
       .section = "Scheduling"},
      {.name = "isolate-after",
       .kind = OptionKind::kNumber,
       .placeholder = "TASKS",
       .help = "A task tracker on which runs of so many tasks failed in a row, while others of its "
               "group had a success, is handed one job a minute until one succeeds.",
       .fallback_help = "none is isolated",
       .min = 2,
       .max = 1000,
       .section = "Scheduling"},
      {.name = "pregenerate-horizon",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How far ahead the runs of a schedule stand in their table.",
       .fallback = "10m",
       .min = micros(std::chrono::seconds{1}),
       .max = micros(std::chrono::hours{24 * 366}),
       .section = "Scheduling"},
      {.name = "pregenerate-period",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How often the next stretch is generated; shorter than the horizon.",
       .fallback = "9m",
       .min = micros(std::chrono::milliseconds{500}),
       .max = micros(std::chrono::hours{24 * 366}),
       .section = "Scheduling"},
      {.name = "preload-capacity",
       .kind = OptionKind::kNumber,
       .placeholder = "JOBS",
       .help = "Waiting jobs of a group that are held in memory; the others stay in the table.",
       .fallback = "30000",
       .min = 100,
       .max = 10'000'000,
       .section = "Scheduling"},
      {.name = "definition-memory",
       .kind = OptionKind::kNumber,
       .placeholder = "MIB",
       .help = "What jobs with a schedule may take, with their payloads and 1 KiB each; more are "
               "refused. The process needs up to three times as much for them.",
       .fallback = "512",
       .min = 1,
       .max = 1'000'000,
       .section = "Scheduling"},
  };
}

void append(std::vector<Option>& all, std::vector<Option>&& more) {
  for (Option& option : more) all.push_back(std::move(option));
}

Result<std::string> store_url(const std::string& given, const std::string& data) {
  if (given.empty())
    return "sqlite:" +
           (std::filesystem::absolute(data) / "carillon.db").lexically_normal().string();
  if (given.rfind("mysql://", 0) == 0) return given;
  if (given.rfind("sqlite:", 0) == 0 && given.size() > 7) {
    return "sqlite:" + std::filesystem::absolute(given.substr(7)).lexically_normal().string();
  }
  return Error{ErrorCode::kInvalidArgument,
               "--store '" + mask_secrets(given) +
                   "': not a store (write sqlite:PATH or "
                   "mysql://user:password@host:port[,host:port...]/database)"};
}

}  // namespace

Program make_program(const Environment& environment) {
  Program program{
      .name = "jobtracker",
      .summary = "stores jobs, works out when each is due, and hands it to a task tracker"};
  program.description =
      "Needs no configuration on one machine: jobs are kept in an SQLite file, and this user's "
      "task trackers and job "
      "clients get in by themselves. When it is ready it prints one line on stdout; the log goes "
      "to stderr. SIGTERM and "
      "SIGINT stop it cleanly; whatever it was told is on disk before it is answered, so kill -9 "
      "loses nothing.";
  append(program.options, store_options(environment));
  append(program.options, network_options());
  append(program.options, xxl_options());
  append(program.options, alarm_options());
  append(program.options, schedule_options());
  program.options.push_back({.name = "name",
                             .placeholder = "NAME",
                             .help = "What the log and other job trackers call this one.",
                             .fallback = "jobtracker",
                             .check = check_name});
  program.options.push_back({.name = "log-level",
                             .placeholder = "LEVEL",
                             .help = "What is logged on stderr.",
                             .fallback = "info",
                             .choices = {"debug", "info", "warn", "error", "off"}});
  program.examples =
      "  jobtracker\n"
      "      on this machine, jobs in an SQLite file under your home\n"
      "  jobtracker --data /srv/carillon --listen tcp://127.0.0.1:36001 --http off\n"
      "  jobtracker --store mysql://carillon:secret@db.example.com:3306/carillon\n"
      "  jobtracker --listen tcp://0.0.0.0:35001 --keys /etc/carillon/keys\n"
      "      for other machines; make keys with: jobclient keys new DIR\n";
  return program;
}

Result<Settings> read_settings(const Configuration& configuration, const Environment& environment) {
  Settings settings;
  settings.name = configuration.text("name");
  settings.data = configuration.text("data");
  settings.default_store = configuration.text("store").empty();
  settings.store = CARILLON_TRY(store_url(configuration.text("store"), settings.data));
  settings.listen = configuration.text("listen");
  settings.advertise = configuration.text("advertise");
  settings.http = configuration.text("http") == "off" ? "" : configuration.text("http");
  settings.store_wait = configuration.duration("store-wait");
  settings.silence = configuration.duration("silence");
  settings.access = {.keys = configuration.text("keys"),
                     .insecure = configuration.is_on("insecure")};
  CARILLON_TRY(read_xxl(configuration, settings));
  settings.log_level = CARILLON_TRY(parse_log_level(configuration.text("log-level")));

  JobTrackerConfig& tracker = settings.tracker;
  tracker.submit.zone = configuration.text("tz");
  if (tracker.submit.zone.empty()) {
    tracker.submit.zone = CARILLON_TRY(local_zone(environment)).name();
  } else if (const auto zone = Zone::load(tracker.submit.zone); !zone.ok()) {
    return zone.error().with_context(configuration.source("tz"));
  }
  tracker.recovery.lease = configuration.duration("lease");
  if (configuration.has("isolate-after"))
    tracker.dispatcher.isolation.after =
        static_cast<std::int32_t>(configuration.number("isolate-after"));
  tracker.recurrence.horizon = configuration.duration("pregenerate-horizon");
  tracker.recurrence.period = configuration.duration("pregenerate-period");
  if (tracker.recurrence.period >= tracker.recurrence.horizon) {
    return Error{ErrorCode::kInvalidArgument,
                 configuration.source("pregenerate-period") + " is " +
                     format_duration(tracker.recurrence.period) +
                     ", must be shorter than pregenerate-horizon, which is " +
                     format_duration(tracker.recurrence.horizon)};
  }
  if (!settings.xxl_tokens.empty()) tracker.pusher.token = settings.xxl_tokens.front();
  tracker.pusher.silence = configuration.duration("executor-silence");
  tracker.alarms.recipients = configuration.list("alarm");
  for (const std::string& text : configuration.list("alarm-when"))
    tracker.alarms.rules.push_back(CARILLON_TRY(parse_alarm_rule(text)));
  tracker.alarms.interval = configuration.duration("alarm-interval");
  settings.smtp = configuration.text("smtp");
  settings.smtp_from = configuration.text("smtp-from");
  tracker.retention.log = configuration.duration("log-retention");
  tracker.submit.definition_bytes_max =
      static_cast<std::size_t>(configuration.number("definition-memory")) * 1024 * 1024;
  tracker.dispatcher.preload.capacity =
      static_cast<std::size_t>(configuration.number("preload-capacity"));
  CARILLON_TRY(tracker.validate());
  CARILLON_TRY(check_mail_server(settings));
  return settings;
}

}  // namespace carillon::jobtracker
