#include "jobclient/cli/job_flags.h"
#include "jobclient/cli/job_words.h"
#include "shared/job/job_limits.h"

namespace carillon::cli {
namespace {

constexpr const char* kAbout = "Job";
constexpr const char* kWhen = "Schedule";
constexpr const char* kWhat = "Run";
constexpr const char* kHow = "Execution";
constexpr const char* kWhere = "xxl-job executors";

void add(std::vector<Option>& to, const char* section, std::vector<Option> options) {
  for (Option& option : options) {
    option.section = section;
    to.push_back(std::move(option));
  }
}

std::vector<Option> about_options() {
  return {{.name = "task-id",
           .placeholder = "ID",
           .help = "Name of the job in its group.",
           .fallback_help = "generated",
           .if_empty = "leave it out to get a generated one"},
          {.name = "group",
           .placeholder = "GROUP",
           .help = "Node group that runs the job.",
           .fallback = "default"},
          {.name = "description", .placeholder = "TEXT", .help = "Free text."},
          {.name = "owner", .placeholder = "NAME", .help = "Contact for questions."},
          {.name = "tags",
           .kind = OptionKind::kList,
           .placeholder = "TAG,...",
           .help = "Words to find the job by (list --tags).",
           .also_called = {"tag"},
           .by_comma = true},
          {.name = "alarm",
           .kind = OptionKind::kList,
           .placeholder = "TO,...",
           .help = "Recipients of alarms after a permanent failure: mail addresses and URLs, or "
                   "none.",
           .fallback_help = "those of the job tracker",
           .by_comma = true},
          {.name = "replace-on-exist",
           .kind = OptionKind::kSwitch,
           .help = "Replace a waiting or defined job with the same task id."}};
}

std::vector<Option> when_options() {
  return {{.name = "now", .kind = OptionKind::kSwitch, .help = "Run immediately (default)."},
          {.name = "at",
           .placeholder = "TIME",
           .help = "Run once at this time: RFC 3339, '2026-12-01 08:00:00' with --tz, or +5m from "
                   "now."},
          {.name = "cron",
           .placeholder = "EXPR",
           .help = "Run on a Quartz or Unix cron expression; jobclient next previews it."},
          {.name = "every",
           .kind = OptionKind::kDuration,
           .placeholder = "DURATION",
           .help = "Repeat with this interval from start to start."},
          {.name = "fixed-delay",
           .kind = OptionKind::kDuration,
           .placeholder = "DURATION",
           .help = "Repeat with this interval from the end of one run to the start of the next."},
          {.name = "manual", .kind = OptionKind::kSwitch, .help = "Run only when triggered."},
          {.name = "tz",
           .placeholder = "ZONE",
           .help = "With --cron and --at: time zone, like Asia/Shanghai.",
           .fallback_help = "the job tracker's",
           .if_empty = "leave it out for the job tracker's zone"},
          {.name = "dst",
           .placeholder = "RULE",
           .help = "With --cron: rule for local times that a clock change skips or repeats.",
           .fallback_help = "auto",
           .choices = dst_rule_words()},
          {.name = "count",
           .kind = OptionKind::kNumber,
           .placeholder = "N",
           .help = "With --every and --fixed-delay: number of runs.",
           .fallback_help = "no end",
           .min = 1,
           .if_empty = "leave it out for no end"},
          {.name = "first",
           .placeholder = "TIME",
           .help = "With --every and --fixed-delay: time of the first fire, RFC 3339 or +5m.",
           .fallback_help = "now"}};
}

std::vector<Option> what_options() {
  return {
      {.name = "shell", .placeholder = "LINE", .help = "Run a line of /bin/sh."},
      {.name = "script",
       .placeholder = "FILE",
       .help = "Run the script in this file; its text is sent with the job. - is stdin."},
      {.name = "language",
       .placeholder = "LANG",
       .help =
           "With --script: sh, bash, python, python2, node, php, perl, ruby, lua or powershell.",
       .fallback_help = "by the file's first line or ending",
       .if_empty = "leave it out to go by the file's first line or ending"},
      {.name = "http", .placeholder = "URL", .help = "Send an HTTP request."},
      {.name = "method",
       .placeholder = "METHOD",
       .help = "With --http: method, like GET or POST.",
       .fallback_help = "GET, or POST with --body"},
      {.name = "header",
       .kind = OptionKind::kList,
       .placeholder = "NAME:VALUE",
       .help = "With --http: a header."},
      {.name = "body", .placeholder = "TEXT", .help = "With --http: request body."},
      {.name = "handler",
       .placeholder = "NAME",
       .help = "Run a handler of the task tracker's program; noop, echo, sleep and fail are built "
               "in."},
      {.name = "param",
       .kind = OptionKind::kList,
       .placeholder = "NAME=VALUE",
       .help = "Parameter, which the run sees as CARILLON_PARAM_NAME.",
       .also_called = {"params"}},
      {.name = "payload",
       .placeholder = "TEXT",
       .help = "Stdin of the run, at most 1 MiB; the body of an HTTP request that has one."},
      {.name = "payload-file", .placeholder = "FILE", .help = "Payload from a file; - is stdin."}};
}

std::vector<Option> how_options() {
  return {
      {.name = "priority",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "0 to 999; smaller numbers run first.",
       .fallback = std::to_string(kPriorityDefault),
       .min = 0,
       .max = kPriorityMax},
      {.name = "retries",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "Number of retries after failures, at most 10000.",
       .also_called = {"retry"},
       .fallback = "0",
       .min = 0,
       .max = kRetriesMax},
      {.name = "retry-policy",
       .placeholder = "POLICY",
       .help = "Growth of the wait before a retry.",
       .fallback_help = "fixed",
       .choices = backoff_words()},
      {.name = "retry-base",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "Wait before the first retry, and after a run that asks for \"later\" (exit status "
               "75).",
       .fallback_help = "30s"},
      {.name = "retry-cap",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "With --retry-policy exponential: longest wait.",
       .fallback_help = "1h, or --retry-base if that is longer"},
      {.name = "retry-jitter",
       .placeholder = "SHARE",
       .help = "Random share of each wait, 0 to 1.",
       .fallback_help = "0"},
      {.name = "timeout",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "Stop a run that takes longer; it counts as a failure.",
       .fallback_help = "no limit",
       .if_empty = "leave it out for no limit"},
      {.name = "start-deadline",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "A job that has not started this long after its time expires.",
       .fallback_help = "never",
       .if_empty = "leave it out and it never expires"},
      {.name = "overlap",
       .placeholder = "RULE",
       .help = "Rule for a fire while the previous run continues.",
       .fallback_help = "skip",
       .choices = overlap_words()},
      {.name = "child",
       .kind = OptionKind::kList,
       .placeholder = "GROUP/TASK_ID",
       .help = "Task to trigger after each successful run."},
      {.name = "need-feedback",
       .kind = OptionKind::kSwitch,
       .help = "Deliver results to the clients of --client-group; see jobclient feedback."},
      {.name = "client-group",
       .placeholder = "GROUP",
       .help = "Client group that receives results."},
      {.name = "misfire",
       .placeholder = "POLICY",
       .help = "Rule for fires that came while no job tracker was running.",
       .fallback_help = "fire_once",
       .choices = misfire_words()},
      {.name = "misfire-max",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "With --misfire fire_all: most missed fires that run.",
       .fallback_help = "1000",
       .min = 1},
      {.name = "misfire-window",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "With --misfire fire_all: older fires do not run.",
       .fallback_help = "24h"},
      {.name = "misfire-threshold",
       .kind = OptionKind::kDuration,
       .placeholder = "DURATION",
       .help = "A fire later than this counts as missed.",
       .fallback_help = "5s"}};
}

std::vector<Option> where_options() {
  return {{.name = "dispatch",
           .placeholder = "HOW",
           .help = "push: the job tracker calls an xxl-job executor, with --handler or --script "
                   "and the payload as parameter. pull: a task tracker takes the job.",
           .fallback_help = "as the group",
           .choices = dispatch_words()},
          {.name = "route",
           .placeholder = "ROUTE",
           .help = "Rule that chooses the executor.",
           .fallback_help = "FIRST",
           .choices = route_words()},
          {.name = "block",
           .placeholder = "STRATEGY",
           .help = "Overlap rule of the executor. Sets --overlap to queue, skip or "
                   "cancel_running unless that is given.",
           .fallback_help = "SERIAL_EXECUTION",
           .choices = block_words()},
          {.name = "address",
           .kind = OptionKind::kList,
           .placeholder = "URL",
           .help = "Call only this executor.",
           .fallback_help = "all of the group"}};
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
