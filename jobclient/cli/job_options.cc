#include "jobclient/cli/job_flags.h"
#include "jobclient/cli/job_words.h"
#include "shared/job/job_limits.h"

namespace carillon::cli {
namespace {

constexpr const char* kAbout = "About the job";
constexpr const char* kWhen = "When it runs";
constexpr const char* kWhat = "What is run";
constexpr const char* kHow = "How it is run";
constexpr const char* kWhere = "On xxl-job executors";

void add(std::vector<Option>& to, const char* section, std::vector<Option> options) {
  for (Option& option : options) {
    option.section = section;
    to.push_back(std::move(option));
  }
}

std::vector<Option> about_options() {
  return {{.name = "task-id",
           .placeholder = "ID",
           .help = "Your own name for it, taken while the job is waiting, executing or defined.",
           .fallback_help = "one is made",
           .if_empty = "leave it out and one is made"},
          {.name = "group",
           .placeholder = "GROUP",
           .help = "The node group whose task trackers may run it.",
           .fallback = "default"},
          {.name = "description", .placeholder = "TEXT", .help = "For people."},
          {.name = "owner", .placeholder = "NAME", .help = "Whom to ask about it."},
          {.name = "tags",
           .kind = OptionKind::kList,
           .placeholder = "TAG,...",
           .help = "Words to find it by.",
           .by_comma = true},
          {.name = "alarm",
           .kind = OptionKind::kList,
           .placeholder = "TO,...",
           .help = "Who is told when it has failed for good: mail addresses and URLs; none for "
                   "nobody.",
           .fallback_help = "whom the job tracker tells",
           .by_comma = true},
          {.name = "replace-on-exist",
           .kind = OptionKind::kSwitch,
           .help = "Replace a job of the same id that is waiting or defined."}};
}

std::vector<Option> when_options() {
  return {{.name = "now",
           .kind = OptionKind::kSwitch,
           .help = "As soon as possible; so it is when nothing else is said."},
          {.name = "at",
           .placeholder = "TIME",
           .help = "Once, at an RFC 3339 time, or so long from now: +5m."},
          {.name = "cron",
           .placeholder = "EXPR",
           .help = "Whenever a Quartz or Unix cron expression says; see jobclient next."},
          {.name = "every",
           .kind = OptionKind::kDuration,
           .placeholder = "DURATION",
           .help = "Again and again, from start to start."},
          {.name = "fixed-delay",
           .kind = OptionKind::kDuration,
           .placeholder = "DURATION",
           .help = "Again and again, from the end of one run to the start of the next."},
          {.name = "manual", .kind = OptionKind::kSwitch, .help = "Only when it is triggered."},
          {.name = "tz",
           .placeholder = "ZONE",
           .help = "With --cron: its time zone, like Asia/Shanghai.",
           .fallback_help = "the job tracker's",
           .if_empty = "leave it out for the job tracker's zone"},
          {.name = "dst",
           .placeholder = "RULE",
           .help = "With --cron: what to do with local times that a change of the clocks skips or "
                   "repeats.",
           .fallback_help = "auto",
           .choices = dst_rule_words()},
          {.name = "count",
           .kind = OptionKind::kNumber,
           .placeholder = "N",
           .help = "With --every and --fixed-delay: how many runs.",
           .fallback_help = "no end",
           .min = 1,
           .if_empty = "leave it out for no end"},
          {.name = "first",
           .placeholder = "TIME",
           .help = "With --every and --fixed-delay: the first fire, RFC 3339 or +5m.",
           .fallback_help = "now"}};
}

std::vector<Option> what_options() {
  return {
      {.name = "shell", .placeholder = "LINE", .help = "A line for /bin/sh."},
      {.name = "script",
       .placeholder = "FILE",
       .help = "The script in this file, which is sent along; - is stdin."},
      {.name = "language",
       .placeholder = "LANG",
       .help =
           "With --script: sh, bash, python, python2, node, php, perl, ruby, lua or powershell.",
       .fallback_help = "by the file's first line or ending",
       .if_empty = "leave it out to go by the file's first line or ending"},
      {.name = "http", .placeholder = "URL", .help = "An HTTP request."},
      {.name = "method",
       .placeholder = "METHOD",
       .help = "With --http: GET, POST, ...",
       .fallback_help = "GET, or POST with --body"},
      {.name = "header",
       .kind = OptionKind::kList,
       .placeholder = "NAME:VALUE",
       .help = "With --http: a header."},
      {.name = "body", .placeholder = "TEXT", .help = "With --http: the body."},
      {.name = "handler",
       .placeholder = "NAME",
       .help = "A handler that the task tracker's program has registered; noop, echo, sleep "
               "and fail are built in."},
      {.name = "param",
       .kind = OptionKind::kList,
       .placeholder = "NAME=VALUE",
       .help = "A parameter; the run sees it as CARILLON_PARAM_NAME."},
      {.name = "payload",
       .placeholder = "TEXT",
       .help = "What the run gets on stdin, at most 1 MiB; with --http and a method like POST, the "
               "body."},
      {.name = "payload-file", .placeholder = "FILE", .help = "The same from a file; - is stdin."}};
}

std::vector<Option> how_options() {
  return {
      {.name = "priority",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "0 to 999, smaller runs first.",
       .fallback = std::to_string(kPriorityDefault),
       .min = 0,
       .max = kPriorityMax},
      {.name = "retries",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "After how many failures it is tried again; 10000 at most.",
       .fallback = "0",
       .min = 0,
       .max = kRetriesMax},
      {.name = "retry-policy",
       .placeholder = "POLICY",
       .help = "How the wait before a retry grows.",
       .fallback_help = "fixed",
       .choices = backoff_words()},
      {.name = "retry-base",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "The wait before the first retry, and after a run that asks for \"later\" (exit "
               "status 75).",
       .fallback_help = "30s"},
      {.name = "retry-cap",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "With --retry-policy exponential: no wait is longer.",
       .fallback_help = "1h, or --retry-base where that is longer"},
      {.name = "retry-jitter",
       .placeholder = "SHARE",
       .help = "0 to 1: by how much of itself each wait is changed at random.",
       .fallback_help = "0"},
      {.name = "timeout",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "A run that takes longer is stopped, and counts as a failure."},
      {.name = "start-deadline",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "Not started so long after its time, it expires."},
      {.name = "overlap",
       .placeholder = "RULE",
       .help = "What happens to a fire while the run before has not ended.",
       .fallback_help = "skip",
       .choices = overlap_words()},
      {.name = "child",
       .kind = OptionKind::kList,
       .placeholder = "GROUP/TASK_ID",
       .help = "A defined task that is triggered each time a run of this one succeeds."},
      {.name = "need-feedback",
       .kind = OptionKind::kSwitch,
       .help = "Tell the clients of --client-group how each run has ended; see jobclient "
               "feedback."},
      {.name = "client-group", .placeholder = "GROUP", .help = "The job clients that are told."},
      {.name = "misfire",
       .placeholder = "POLICY",
       .help = "What happens to fires that came while no job tracker was running.",
       .fallback_help = "fire_once",
       .choices = misfire_words()},
      {.name = "misfire-max",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "With --misfire fire_all: at most so many of them run.",
       .fallback_help = "1000",
       .min = 1},
      {.name = "misfire-window",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "With --misfire fire_all: older ones do not run.",
       .fallback_help = "24h"},
      {.name = "misfire-threshold",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "Later than this after its time counts as missed.",
       .fallback_help = "5s"}};
}

std::vector<Option> where_options() {
  return {{.name = "dispatch",
           .placeholder = "HOW",
           .help = "push: the job tracker calls an executor of the group, with --handler or "
                   "--script, and the payload as its parameter; pull: a task tracker takes it.",
           .fallback_help = "as the group takes its work",
           .choices = dispatch_words()},
          {.name = "route",
           .placeholder = "ROUTE",
           .help = "Which of the executors is called.",
           .fallback_help = "FIRST",
           .choices = route_words()},
          {.name = "block",
           .placeholder = "STRATEGY",
           .help = "What the executor does while the run before has not ended; --overlap follows "
                   "it unless it is given: queue, skip or cancel_running.",
           .fallback_help = "SERIAL_EXECUTION",
           .choices = block_words()},
          {.name = "address",
           .kind = OptionKind::kList,
           .placeholder = "URL",
           .help = "One of the group's executors: only those given are called.",
           .fallback_help = "all of the group's"}};
}

}  // namespace

std::vector<Option> job_options() {
  std::vector<Option> options;
  add(options, kAbout, about_options());
  add(options, kWhen, when_options());
  add(options, kWhat, what_options());
  add(options, kHow, how_options());
  add(options, kWhere, where_options());
  return options;
}

}  // namespace carillon::cli
