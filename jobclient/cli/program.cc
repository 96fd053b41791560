#include "jobclient/cli/program.h"

#include "jobclient/cli/act.h"
#include "jobclient/cli/alarms.h"
#include "jobclient/cli/ask.h"
#include "jobclient/cli/clean.h"
#include "jobclient/cli/console.h"
#include "jobclient/cli/feedback.h"
#include "jobclient/cli/flush.h"
#include "jobclient/cli/groups_add.h"
#include "jobclient/cli/groups_remove.h"
#include "jobclient/cli/groups_split.h"
#include "jobclient/cli/help.h"
#include "jobclient/cli/import_crontab.h"
#include "jobclient/cli/import_lts.h"
#include "jobclient/cli/import_xxl.h"
#include "jobclient/cli/keys.h"
#include "jobclient/cli/logs.h"
#include "jobclient/cli/next.h"
#include "jobclient/cli/principals.h"
#include "jobclient/cli/report.h"
#include "jobclient/cli/scripts.h"
#include "jobclient/cli/show.h"
#include "jobclient/cli/submit.h"
#include "jobclient/cli/top.h"
#include "jobclient/cli/trigger.h"
#include "shared/base/assert.h"
#include "shared/net/endpoint.h"
#include "shared/net/http_url.h"

namespace carillon::cli {
namespace {

struct CliVerb {
  Verb (*declare)();
  int (*run)(Context&);  // none for help, which parse_configuration() answers
};

// In the order of the program's --help.
constexpr CliVerb kVerbs[] = {{declare_submit, run_submit},
                              {declare_flush, run_flush},
                              {declare_import_crontab, run_import_crontab},
                              {declare_import_lts, run_import_lts},
                              {declare_import_xxl, run_import_xxl},
                              {declare_list, run_list},
                              {declare_show, run_show},
                              {declare_scripts_list, run_scripts_list},
                              {declare_scripts_show, run_scripts_show},
                              {declare_waiting, run_waiting},
                              {declare_executing, run_executing},
                              {declare_history, run_history},
                              {declare_logs, run_logs},
                              {declare_audit, run_audit},
                              {declare_feedback, run_feedback},
                              {declare_nodes, run_nodes},
                              {declare_groups, run_groups},
                              {declare_alarms, run_alarms},
                              {declare_alarms_silence, run_alarms_silence},
                              {declare_alarms_unsilence, run_alarms_unsilence},
                              {declare_alarms_test, run_alarms_test},
                              {declare_groups_add, run_groups_add},
                              {declare_groups_remove, run_groups_remove},
                              {declare_groups_split, run_groups_split},
                              {declare_report, run_report},
                              {declare_stats, run_stats},
                              {declare_top, run_top},
                              {declare_trigger, run_trigger},
                              {declare_cancel, run_cancel},
                              {declare_suspend, run_suspend},
                              {declare_resume, run_resume},
                              {declare_kill, run_kill},
                              {declare_priority, run_priority},
                              {declare_scripts_set, run_scripts_set},
                              {declare_scripts_restore, run_scripts_restore},
                              {declare_clean, run_clean},
                              {declare_next, run_next},
                              {declare_whoami, run_whoami},
                              {declare_console, run_console},
                              {declare_keys_new, run_keys_new},
                              {declare_keys_list, run_keys_list},
                              {declare_keys_revoke, run_keys_revoke},
                              {declare_tokens_new, run_tokens_new},
                              {declare_tokens_list, run_tokens_list},
                              {declare_tokens_revoke, run_tokens_revoke},
                              {declare_users_new, run_users_new},
                              {declare_users_list, run_users_list},
                              {declare_users_change, run_users_change},
                              {declare_users_remove, run_users_remove},
                              {declare_help, nullptr},
                              {declare_completion, run_completion}};

Status check_http(const std::string& text) {
  CARILLON_TRY(net::parse_http_url(text));
  return {};
}

std::vector<Option> program_options(const std::string& state_folder) {
  constexpr const char* kConnection = "Connection";
  return {{.name = "tracker",
           .kind = OptionKind::kList,
           .placeholder = "tcp://HOST:PORT",
           .help = "Job tracker addresses, separated by commas. The next one is used when one is "
                   "unreachable.",
           .fallback = "tcp://127.0.0.1:35001",
           .check = net::check_endpoint,
           .section = kConnection,
           .by_comma = true},
          {.name = "http-url",
           .placeholder = "URL",
           .help = "Use the HTTP API of this job tracker instead, https://HOST[:PORT][/PATH], with "
                   "a token of `jobclient tokens new` in --token-file. Write it before the verb "
                   "submit, which has another --http.",
           .check = check_http,
           .section = kConnection,
           .if_empty = "leave it out to use --tracker",
           .flag = "http"},
          {.name = "ca",
           .placeholder = "FILE",
           .help = "PEM file with the certificate authorities of an https URL.",
           .fallback_help = "those of the system",
           .section = kConnection},
          {.name = "connect-timeout",
           .kind = OptionKind::kDuration,
           .placeholder = "DURATION",
           .help = "Longest wait for a connection.",
           .fallback = "5s",
           .section = kConnection},
          {.name = "answer-timeout",
           .kind = OptionKind::kDuration,
           .placeholder = "DURATION",
           .help = "Longest wait for an answer, across reconnects.",
           .fallback = "30s",
           .section = kConnection},
          {.name = "token-file",
           .placeholder = "FILE",
           .help = "Access token of the job tracker, or with --http an API token. Not needed for a "
                   "job tracker of the same user on this machine.",
           .section = kConnection},
          {.name = "keys",
           .placeholder = "DIR",
           .help = "Folder with CURVE keys, for a job tracker on another machine.",
           .section = kConnection},
          {.name = "insecure",
           .kind = OptionKind::kSwitch,
           .help = "Connect without access control or encryption. With --http: send the token "
                   "without encryption, also to other machines.",
           .section = kConnection},
          {.name = "data",
           .placeholder = "DIR",
           .help = "Folder for jobs that wait for a job tracker (submit --offline).",
           .fallback_help = state_folder,
           .section = kConnection},
          {.name = "output",
           .letter = 'o',
           .placeholder = "FORMAT",
           .help = "Format of answers and errors: a table, a table with every column in full, a "
                   "JSON array, or a JSON object per line.",
           .fallback = "table",
           .choices = {"table", "wide", "json", "jsonl"},
           .section = "Output"}};
}

// Of a command line with an error in it.
bool asks_json(const std::vector<std::string>& arguments, const Environment& environment) {
  std::string format = environment.get(environment_name("output")).value_or("");
  for (std::size_t i = 0; i < arguments.size() && arguments[i] != "--"; ++i) {
    const std::string& word = arguments[i];
    const bool is_flag = word == "-o" || word == "--output";
    if (is_flag && i + 1 < arguments.size()) format = arguments[i + 1];
    if (word.starts_with("--output=")) format = word.substr(word.find('=') + 1);
    if (word.starts_with("-o") && word.size() > 2) format = word.substr(word[2] == '=' ? 3 : 2);
  }
  return format == "json" || format == "jsonl";
}

}  // namespace

Program declare_program(const std::string& state_folder) {
  Program program{
      .name = "jobclient",
      .summary = "Submit jobs to Carillon, control them and see their results",
      .description =
          "Sends each request to a job tracker; without --tracker, to the one on this machine.\n\n"
          "Exit status: 0 done, 1 refused by the job tracker, 2 wrong usage or input, 3 no job "
          "tracker reachable, 4 not found. With --wait: the exit status of the job, or 125 if the "
          "job was refused, did not run, or could not be followed.",
      .options = program_options(state_folder),
      .examples =
          "  jobclient submit -- echo hello\n"
          "  jobclient submit --wait -- sh -c 'date; sleep 1; date'\n"
          "  jobclient submit --task-id nightly --cron '0 2 * * *' -- /usr/local/bin/backup\n"
          "  jobclient list\n"
          "  jobclient history --since 1h\n"};
  for (const CliVerb& verb : kVerbs) program.verbs.push_back(verb.declare());
  return program;
}

// --http stands for another way than the flags of ZeroMQ.
Status check_connection(const Configuration& configuration) {
  if (!configuration.has("http-url")) {
    if (!configuration.has_flag("ca")) return {};
    return Error{ErrorCode::kInvalidArgument,
                 "--ca goes with --http only (write --http before the verb)"};
  }
  for (const char* other : {"tracker", "keys"}) {
    if (configuration.has_flag(other)) {
      return Error{ErrorCode::kInvalidArgument, configuration.source(other) + " and " +
                                                    configuration.source("http-url") +
                                                    " contradict each other (give one)"};
    }
  }
  return {};
}

JobClientOptions client_options(const Configuration& configuration) {
  const bool stores = configuration.verb() == "submit" && configuration.is_on("offline");
  const bool is_http = configuration.has("http-url");
  return {.trackers = configuration.list("tracker"),
          .http = configuration.text("http-url"),
          .ca_file = configuration.text("ca"),
          .connect_timeout = configuration.duration("connect-timeout"),
          .answer_timeout = configuration.duration("answer-timeout"),
          .token_file = configuration.text("token-file"),
          .keys = is_http ? std::string{} : configuration.text("keys"),
          .insecure = configuration.is_on("insecure"),
          .outbox = stores ? OutboxUse::kStore : OutboxUse::kDeliver,
          .data = configuration.text("data"),
          .logs_stored_for_others = false};
}

int run_program(const std::vector<std::string>& arguments, const Environment& environment,
                const Surroundings& around) {
  const Result<Parsed> parsed = parse_configuration(around.program, arguments, environment);
  if (!parsed.ok()) {
    print_failure(around.err, asks_json(arguments, environment), "", kWrongInput,
                  parsed.error().message);
    return kWrongInput;
  }
  if (parsed.value().print) {
    around.out << *parsed.value().print;
    return kDone;
  }
  if (const Status fine = check_connection(parsed.value().configuration); !fine.ok()) {
    print_failure(around.err, asks_json(arguments, environment), "", kWrongInput,
                  fine.error().message);
    return kWrongInput;
  }
  Context context(parsed.value().configuration, around);
  for (std::size_t i = 0; i < std::size(kVerbs); ++i) {
    if (around.program.verbs[i].name == context.configuration.verb()) {
      const int status = kVerbs[i].run(context);
      context.close_client();
      return status;
    }
  }
  abort_with("a verb without anything to run", context.configuration.verb().c_str());
}

}  // namespace carillon::cli
