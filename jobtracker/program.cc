#include "jobtracker/program.h"

#include <filesystem>
#include <utility>

#include "jobtracker/sign_in_options.h"
#include "shared/base/host_name.h"
#include "shared/base/secret_file.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"
#include "shared/job/zone.h"
#include "shared/net/endpoint.h"
#include "shared/net/networks.h"

namespace carillon::jobtracker {
namespace {

std::string data_folder(const Environment& environment) {
  if (const auto state = environment.get("XDG_STATE_HOME")) return *state + "/carillon/jobtracker";
  if (const auto home = environment.get("HOME")) return *home + "/.local/state/carillon/jobtracker";
  return "carillon-jobtracker";
}

constexpr std::int64_t micros(Duration duration) { return duration.count(); }

constexpr std::size_t kNameBytesMax = 200;

// The same limits as for a task tracker's name.
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
      {.name = "store-file",
       .placeholder = "FILE",
       .help = "File with the URL, instead of --store: other users can read the arguments of a "
               "program.",
       .section = "Store"},
      {.name = "data",
       .placeholder = "DIR",
       .help = "Folder of the default store; made if it is missing.",
       .fallback = data_folder(environment),
       .section = "Store"},
      {.name = "store-wait",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How long to retry at start while the store is unreachable. The wait for --silence "
               "may be longer.",
       .fallback = "30s",
       .section = "Store"},
      {.name = "log-retention",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How long the history keeps ended jobs and their output.",
       .fallback = "7d",
       .section = "Store"},
      {.name = "audit-retention",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How long changes, and who made them, are kept (see jobclient audit).",
       .fallback = "90d",
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
       .help = "Address for task trackers and job clients. Port 0 chooses a free port.",
       .fallback = "tcp://127.0.0.1:35001",
       .check = net::check_endpoint,
       .section = "Network"},
      {.name = "advertise",
       .placeholder = "tcp://HOST:PORT",
       .help = "Address under which task trackers and job clients on other machines reach this job "
               "tracker when another one redirects them.",
       .fallback_help = "the --listen port with this machine's name",
       .check =
           [](const std::string& text) {
             return text.empty() ? Status{} : net::check_endpoint(text);
           },
       .section = "Network"},
      {.name = "http",
       .placeholder = "HOST:PORT",
       .help = "Address that serves /healthz, /readyz, /metrics and /autoscale/GROUP and registers "
               "xxl-job executors. off disables it.",
       .fallback = "127.0.0.1:8080",
       .check = check_http,
       .section = "Network"},
      {.name = "http-cert",
       .placeholder = "FILE",
       .help =
           "PEM file with the certificate of the HTTP ports (--http, --xxl-listen), then those "
           "of its authorities. Both ports then speak HTTPS. SIGHUP reads it and its key again.",
       .section = "Network"},
      {.name = "http-key",
       .placeholder = "FILE",
       .help = "PEM file with the private key of this certificate.",
       .section = "Network"},
      {.name = "behind-proxy",
       .kind = OptionKind::kList,
       .placeholder = "CIDR,...",
       .help = "Networks of the proxies in front of the HTTP ports. Others cannot connect, except "
               "from this machine. The proxies report clients by X-Forwarded-For and "
               "X-Forwarded-Proto, and check host names.",
       .check = net::check_network,
       .section = "Network",
       .by_comma = true},
      {.name = "http-names",
       .kind = OptionKind::kList,
       .placeholder = "NAME,...",
       .help = "Further host names under which these pages may be called, like that of a proxy.",
       .fallback_help = "only the machine's own name and addresses",
       .section = "Network",
       .by_comma = true},
      {.name = "keys",
       .placeholder = "DIR",
       .help = "Folder with server.key, server.pub and clients/*.pub. Only programs with one of "
               "these keys may connect. Required when --listen is not a loopback address.",
       .section = "Network"},
      {.name = "insecure",
       .kind = OptionKind::kSwitch,
       .help = "Accept every connection without authentication. Any program that can connect can "
               "run commands on every task tracker. With --keys, only allow HTTP ports without "
               "encryption on addresses that other machines reach.",
       .section = "Network"},
  };
}

Status check_xxl_listen(const std::string& text) {
  return text.empty() ? Status{} : check_http(text);
}

Status check_token(const std::string& text) {
  if (!text.empty() && is_printable_utf8(text)) return {};
  return Error{ErrorCode::kInvalidArgument, "a token is empty or contains control characters"};
}

std::vector<Option> xxl_options() {
  return {
      {.name = "xxl-listen",
       .placeholder = "HOST:PORT",
       .help = "Address where xxl-job executors register and report, as at an xxl-job admin: /api "
               "and /xxl-job-admin/api. off disables it.",
       .fallback_help = "the --http address",
       .check = check_xxl_listen,
       .section = "xxl-job"},
      {.name = "xxl-token",
       .kind = OptionKind::kList,
       .placeholder = "TOKEN",
       .help = "Access token of the executors. With several, each is accepted. Required when the "
               "address is not a loopback address.",
       .check = check_token,
       .section = "xxl-job",
       .secret = true},
      {.name = "xxl-token-file",
       .placeholder = "FILE",
       .help = "File with these access tokens, one per line, instead of --xxl-token.",
       .section = "xxl-job"},
      {.name = "xxl-ca",
       .placeholder = "FILE",
       .help = "PEM file with the certificate authorities that sign the certificates of executors "
               "at https:// addresses.",
       .fallback_help = "the system's certificate authorities",
       .section = "xxl-job"},
      {.name = "executor-networks",
       .kind = OptionKind::kList,
       .placeholder = "CIDR,...",
       .help = "Networks of the executors that may be called, like 10.0.0.0/8. Link-local and "
               "metadata addresses are never called.",
       .fallback_help = "all networks",
       .check = net::check_network,
       .section = "xxl-job",
       .by_comma = true},
      {.name = "executor-silence",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How long an executor may be silent before its runs count as lost and start again "
               "on another executor. An executor is silent after 90 seconds without a registration "
               "or an answered heartbeat.",
       .fallback = "5m",
       .min = micros(std::chrono::seconds{1}),
       .max = micros(std::chrono::hours{24 * 366}),
       .section = "xxl-job"},
  };
}

// HTTP ports that other machines reach need encryption, or --insecure. It may then be given with
// keys, and changes nothing else.
Status read_http(const Configuration& configuration, Settings& settings) {
  settings.http_access = {.certificate = configuration.text("http-cert"),
                          .key = configuration.text("http-key"),
                          .proxies = configuration.list("behind-proxy")};
  CARILLON_TRY(net::check_http_access(settings.http_access));
  for (const auto& [option, address] :
       {std::pair{"--http", settings.http},
        std::pair{"--xxl-listen", configuration.text("xxl-listen")}}) {
    if (address.empty() || address == "off") continue;
    const Status is_private = net::check_http_privacy(settings.http_access, option, address);
    if (is_private.ok()) continue;
    if (!configuration.is_on("insecure")) return is_private;
    if (!settings.access.keys.empty()) settings.access.insecure = false;
  }
  return {};
}

// A registered executor gets jobs, and a reported result ends one, so access needs a token.
Status read_xxl(const Configuration& configuration, Settings& settings) {
  settings.xxl_listen = configuration.text("xxl-listen");
  settings.xxl_tokens = CARILLON_TRY(list_or_file(configuration, "xxl-token", check_token));
  settings.xxl_ca = configuration.text("xxl-ca");
  const std::string& address = settings.xxl_listen.empty() ? settings.http : settings.xxl_listen;
  if (address.empty() || address == "off") return {};
  const net::Endpoint endpoint = CARILLON_TRY(net::parse_host_port(address));
  if (endpoint.is_loopback() || !settings.xxl_tokens.empty() || settings.access.insecure) return {};
  // With keys, --insecure is not about tokens.
  const std::string remedy = " (give the executors' token with --xxl-token" +
                             std::string{settings.access.keys.empty() ? ", or --insecure)" : ")"};
  if (settings.xxl_listen.empty()) {
    settings.xxl_closed =
        "executors cannot register at this job tracker: other machines can reach it, and it has no "
        "token" +
        remedy;
    return {};
  }
  return Error{ErrorCode::kInvalidArgument,
               "--xxl-listen " + address +
                   " would accept calls from every machine that reaches it" + remedy};
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
    return Error{ErrorCode::kInvalidArgument,
                 "--alarm '" + recipient +
                     "' needs a mail server (give one with --smtp, or a URL "
                     "with --alarm)"};
  }
  return {};
}

std::vector<Option> alarm_options() {
  return {
      {.name = "alarm",
       .kind = OptionKind::kList,
       .placeholder = "TO",
       .help = "Recipient of alarms about jobs that failed after their last retry and name no "
               "recipient: a mail address, or a URL that receives a POST.",
       .check = check_recipient,
       .section = "Alarms",
       .secret = true},
      {.name = "alarm-file",
       .placeholder = "FILE",
       .help = "File with these recipients, one per line, instead of --alarm.",
       .section = "Alarms"},
      {.name = "alarm-when",
       .kind = OptionKind::kList,
       .placeholder = "RULE",
       .help =
           "Also send alarms about node groups. unserved=TIME: jobs are due and no task tracker is "
           "connected. late=TIME: a due job has waited for TIME. backlog=JOBS: JOBS jobs are due. "
           "failures=PERCENT%: this share of the runs of five minutes failed. overload=TIME: a "
           "task tracker's machine has exceeded its --cpu-max or --memory-max for TIME. "
           "output=TEXT|TEXT: a run writes one of the texts. silent=off: no alarms about silent "
           "executors with runs. GROUP/RULE applies to one group. RULE=off disables a rule.",
       .check = check_rule,
       .section = "Alarms"},
      {.name = "alarm-interval",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "Least time between two messages about a node group to a recipient. One message "
               "lists all failures of that time.",
       .fallback = "1m",
       .min = micros(std::chrono::seconds{1}),
       .section = "Alarms"},
      {.name = "smtp",
       .placeholder = "URL",
       .help = "Mail server: smtp://[USER:PASSWORD@]HOST[:PORT], or smtps://.",
       .fallback_help = "no mail is sent",
       .section = "Alarms",
       .secret = true},
      {.name = "smtp-file",
       .placeholder = "FILE",
       .help = "File with this URL, instead of --smtp.",
       .section = "Alarms"},
      {.name = "smtp-from",
       .placeholder = "ADDRESS",
       .help = "Sender address of mail.",
       .fallback = "carillon@" + host_name(),
       .check = check_sender,
       .section = "Alarms"},
  };
}

std::vector<Option> schedule_options() {
  return {
      {.name = "tz",
       .placeholder = "ZONE",
       .help = "Time zone of cron jobs that do not name one.",
       .fallback_help = "this machine's time zone",
       .section = "Scheduling"},
      {.name = "lease",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How long a task tracker may send no heartbeat before it counts as dead and its "
               "jobs run elsewhere. A successor waits for the longest lease in use.",
       .fallback = "3s",
       .min = micros(2 * JobTrackerConfig{}.pull_interval),
       .max = micros(std::chrono::hours{24}),
       .section = "Scheduling"},
      {.name = "silence",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help =
           "How long another job tracker on the same database may send no heartbeat before it "
           "counts as dead and its node groups are taken over. A longer time tolerates longer "
           "stalls. A job tracker that restarts after a kill also waits for this time and logs it.",
       .fallback = "1500ms",
       .min = micros(kSilence),
       .max = micros(std::chrono::hours{1}),
       .section = "Scheduling"},
      {.name = "isolate-after",
       .kind = OptionKind::kNumber,
       .placeholder = "TASKS",
       .help = "Isolate a task tracker after runs of this many tasks failed on it in a row while "
               "others of its group succeeded. It gets one job a minute until one succeeds.",
       .fallback_help = "never isolate",
       .min = 2,
       .max = 1000,
       .section = "Scheduling"},
      {.name = "pregenerate-horizon",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help = "How far ahead the runs of a schedule are stored.",
       .fallback = "10m",
       .min = micros(std::chrono::seconds{1}),
       .max = micros(std::chrono::hours{24 * 366}),
       .section = "Scheduling"},
      {.name = "pregenerate-period",
       .kind = OptionKind::kDuration,
       .placeholder = "TIME",
       .help =
           "How often the next runs of schedules are generated. Must be shorter than the horizon.",
       .fallback = "9m",
       .min = micros(std::chrono::milliseconds{500}),
       .max = micros(std::chrono::hours{24 * 366}),
       .section = "Scheduling"},
      {.name = "preload-capacity",
       .kind = OptionKind::kNumber,
       .placeholder = "JOBS",
       .help = "How many waiting jobs of a group are kept in memory. The others stay in the table.",
       .fallback = "30000",
       .min = 100,
       .max = 10'000'000,
       .section = "Scheduling"},
      {.name = "definition-memory",
       .kind = OptionKind::kNumber,
       .placeholder = "MIB",
       .help = "Memory limit for jobs with a schedule: their payloads and 1 KiB each. Further jobs "
               "are rejected. The process needs up to three times this amount.",
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
                   "' is not a store (write sqlite:PATH or "
                   "mysql://user:password@host:port[,host:port...]/database)"};
}

}  // namespace

Program make_program(const Environment& environment) {
  Program program{
      .name = "jobtracker",
      .summary = "stores jobs, computes when each is due, and hands it to a task tracker"};
  program.description =
      "Needs no configuration on one machine: an SQLite file keeps the jobs, and this user's task "
      "trackers and job clients may connect. When it is ready, it prints one line on stdout. The "
      "log goes to stderr. SIGTERM and SIGINT stop it cleanly. Each request is on disk before it "
      "is answered, so kill -9 loses nothing.";
  append(program.options, store_options(environment));
  append(program.options, network_options());
  append(program.options, xxl_options());
  append(program.options, sign_in_options());
  append(program.options, alarm_options());
  append(program.options, schedule_options());
  program.options.push_back({.name = "name",
                             .placeholder = "NAME",
                             .help = "Name of this job tracker in logs and for other job trackers.",
                             .fallback = "jobtracker",
                             .check = check_name});
  program.options.push_back({.name = "log-level",
                             .placeholder = "LEVEL",
                             .help = "Least severe level that is logged on stderr.",
                             .fallback = "info",
                             .choices = {"debug", "info", "warn", "error", "off"}});
  program.examples =
      "  jobtracker\n"
      "      on this machine, with jobs in an SQLite file in your home folder\n"
      "  jobtracker --data /srv/carillon --listen tcp://127.0.0.1:36001 --http off\n"
      "  jobtracker --store mysql://carillon:secret@db.example.com:3306/carillon\n"
      "  jobtracker --listen tcp://0.0.0.0:35001 --keys /etc/carillon/keys\n"
      "      for other machines; create keys with: jobclient keys new DIR\n";
  return program;
}

Result<Settings> read_settings(const Configuration& configuration, const Environment& environment) {
  Settings settings;
  settings.options = configuration.effective();
  settings.name = configuration.text("name");
  settings.data = configuration.text("data");
  const std::string store = CARILLON_TRY(text_or_file(configuration, "store"));
  settings.default_store = store.empty();
  settings.store = CARILLON_TRY(store_url(store, settings.data));
  settings.listen = configuration.text("listen");
  settings.advertise = configuration.text("advertise");
  settings.http = configuration.text("http") == "off" ? "" : configuration.text("http");
  settings.http_names = configuration.list("http-names");
  settings.store_wait = configuration.duration("store-wait");
  settings.silence = configuration.duration("silence");
  settings.access = {.keys = configuration.text("keys"),
                     .insecure = configuration.is_on("insecure")};
  CARILLON_TRY(read_http(configuration, settings));
  CARILLON_TRY(read_xxl(configuration, settings));
  settings.sign_in =
      CARILLON_TRY(read_sign_in(configuration, !settings.http_access.proxies.empty()));
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
  tracker.executor_guard =
      CARILLON_TRY(net::AddressGuard::only(configuration.list("executor-networks")));
  tracker.pusher.silence = configuration.duration("executor-silence");
  tracker.alarms.recipients = CARILLON_TRY(list_or_file(configuration, "alarm", check_recipient));
  for (const std::string& text : configuration.list("alarm-when"))
    tracker.alarms.rules.push_back(CARILLON_TRY(parse_alarm_rule(text)));
  tracker.alarms.interval = configuration.duration("alarm-interval");
  settings.smtp = CARILLON_TRY(text_or_file(configuration, "smtp"));
  settings.smtp_from = configuration.text("smtp-from");
  tracker.retention.log = configuration.duration("log-retention");
  tracker.retention.audit = configuration.duration("audit-retention");
  tracker.submit.definition_bytes_max =
      static_cast<std::size_t>(configuration.number("definition-memory")) * 1024 * 1024;
  tracker.dispatcher.preload.capacity =
      static_cast<std::size_t>(configuration.number("preload-capacity"));
  CARILLON_TRY(tracker.validate());
  CARILLON_TRY(check_mail_server(settings));
  return settings;
}

}  // namespace carillon::jobtracker
