#include "carillon/job_spec.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "shared/base/time_text.h"
#include "shared/base/utf8.h"
#include "shared/job/group_name.h"
#include "shared/job/job_limits.h"
#include "shared/job/made_task_id.h"
#include "shared/job/run_words.h"
#include "shared/job/schedule.h"
#include "shared/job/secrets.h"

namespace carillon {
namespace {

constexpr std::size_t kListMax = 256;  // tags, headers
constexpr Duration kIntervalLeast = std::chrono::milliseconds{1};
constexpr Duration kDurationMost = std::chrono::hours{24 * 366 * 100};
constexpr WallTime kTimeFirst{};
constexpr WallTime kTimeEnd = std::chrono::sys_days{std::chrono::year{2200} / 1 / 1};
constexpr std::string_view kNameCharacters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";

Error wrong(const std::string& problem) { return {ErrorCode::kInvalidArgument, problem}; }

// An excerpt that is safe to print.
std::string shown(std::string_view value) {
  if (!is_printable_utf8(value)) return "the given value";
  return value.size() <= 80 ? "'" + std::string{value} + "'" : "the given value";
}

Status check_size(const std::string& field, std::size_t size, std::size_t max) {
  if (size <= max) return {};
  return wrong(field + " has " + std::to_string(size) + " bytes, at most " + std::to_string(max));
}

Status check_count(const std::string& field, std::size_t count, std::size_t max) {
  if (count <= max) return {};
  return wrong(field + " has " + std::to_string(count) + " entries, at most " +
               std::to_string(max));
}

// LOCAL@DOMAIN as allowed in a mail header, without quotes and comments.
bool is_mail_address(std::string_view text) {
  const std::size_t at = text.find('@');
  constexpr std::string_view kNever = " \t<>()[],;:\\\"";
  return at != std::string_view::npos && at > 0 && at + 1 < text.size() &&
         text.find('@', at + 1) == std::string_view::npos && text.front() != '-' &&
         text.find_first_of(kNever) == std::string_view::npos;
}

// HOST[:PORT] of a URL, without a user; port 1 to 65535.
bool is_host(std::string_view text) {
  const std::size_t colon = text.find(':', text.starts_with('[') ? text.find(']') : 0);
  const std::string_view host = text.substr(0, colon);
  if (host.empty() || colon == std::string_view::npos) return !host.empty();
  const std::string_view port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [stopped, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc{} && stopped == port.data() + port.size() && number > 0;
}

bool is_webhook(std::string_view text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!text.starts_with(scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::string_view host = text.substr(0, text.find_first_of("/?#"));
    return is_host(host.substr(host.find('@') + 1)) &&
           text.find_first_of("\\ \"<>") == std::string_view::npos;
  }
  return false;
}

// http[s]://HOST[:PORT][/PATH]
bool is_http_address(std::string_view address) {
  const std::size_t scheme = address.starts_with("https") ? 5 : 4;
  if (!address.starts_with("http") || !address.substr(scheme).starts_with("://")) return false;
  address.remove_prefix(scheme + 3);
  const std::string_view host = address.substr(0, address.find('/'));
  return is_host(host) && address.find_first_of("@?#\\ \"") == std::string_view::npos;
}

Status check_range(const std::string& field, std::int64_t value, std::int64_t min,
                   std::int64_t max) {
  if (value >= min && value <= max) return {};
  return wrong(field + " is " + std::to_string(value) + ", must be " + std::to_string(min) +
               " to " + std::to_string(max));
}

Status check_text(const std::string& field, std::string_view text, std::size_t max) {
  CARILLON_TRY(check_size(field, text.size(), max));
  if (is_utf8(text) && text.find('\0') == std::string_view::npos) return {};
  return wrong(field + " is not valid UTF-8 text without zero bytes");
}

Status check_line(const std::string& field, std::string_view text, std::size_t max) {
  CARILLON_TRY(check_size(field, text.size(), max));
  if (is_printable_utf8(text)) return {};
  return wrong(field + " must be UTF-8 text without control characters");
}

Status check_task_id(std::string_view task_id) {
  CARILLON_TRY(check_line("task_id", task_id, kTaskIdBytesMax));
  if (number_of_made_task_id(task_id).value_or(0) < kMadeTaskIdMin) return {};
  return wrong("task_id '" + std::string{task_id} +
               "': 'job-' with a long number is reserved for jobs without a chosen task id, choose "
               "another");
}

Status check_name(const std::string& field, std::string_view name, std::size_t max) {
  if (name.empty()) return wrong(field + " is empty");
  CARILLON_TRY(check_size(field, name.size(), max));
  if (name.find_first_not_of(kNameCharacters) == std::string_view::npos) return {};
  return wrong(field + " is " + shown(name) +
               ", must have only letters, digits, dots, underscores and hyphens");
}

Status check_duration(const std::string& field, Duration value, Duration min) {
  if (value >= min && value <= kDurationMost) return {};
  const std::string least =
      min == Duration{0} ? "more than 0 and at most" : format_duration(min) + " to";
  return wrong(field + " is " + format_duration(value) + ", must be " + least + " 100 years");
}

Status check_time(const std::string& field, WallTime time) {
  if (time >= kTimeFirst && time < kTimeEnd) return {};
  return wrong(field + " must be in the years 1970 to 2199");
}

Status check_absent(bool is_given, const std::string& field, const std::string& kind) {
  if (!is_given) return {};
  return wrong(field + " cannot be combined with " + kind);
}

Status check_schedule(const Schedule& schedule) {
  const bool is_cron = schedule.kind == ScheduleKind::kCron;
  const bool repeats =
      schedule.kind == ScheduleKind::kEvery || schedule.kind == ScheduleKind::kFixedDelay;
  const std::string kind = word_of(schedule.kind);
  CARILLON_TRY(check_absent(!is_cron && !schedule.cron.empty(), "cron", kind));
  CARILLON_TRY(check_absent(!is_cron && !schedule.tz.empty(), "tz", kind));
  CARILLON_TRY(check_absent(!is_cron && schedule.dst != DstRule::kAuto, "dst", kind));
  CARILLON_TRY(check_absent(!repeats && schedule.interval != Duration{}, "an interval", kind));
  CARILLON_TRY(check_absent(!repeats && schedule.count.has_value(), "count", kind));
  CARILLON_TRY(check_absent(!repeats && schedule.first.has_value(), "first", kind));
  CARILLON_TRY(
      check_absent(schedule.kind != ScheduleKind::kAt && schedule.at != WallTime{}, "at", kind));
  if (schedule.kind == ScheduleKind::kAt) return check_time("at", schedule.at);
  if (is_cron) {
    if (schedule.cron.empty()) return wrong("cron is empty");
    CARILLON_TRY(check_line("cron", schedule.cron, kTextBytesMax));
    return check_line("tz", schedule.tz, kTaskIdBytesMax);
  }
  if (!repeats) return {};
  CARILLON_TRY(check_duration(kind, schedule.interval, kIntervalLeast));
  CARILLON_TRY(check_range("count", schedule.count.value_or(1), 1, INT64_MAX));
  return check_time("first", schedule.first.value_or(WallTime{}));
}

// One argument of a program.
Status check_argument(const std::string& field, std::size_t size) {
  if (size <= kArgumentBytesMax) return {};
  return wrong(field + " has " + std::to_string(size) +
               " bytes, but one argument of a program can have at most " +
               std::to_string(kArgumentBytesMax) + " bytes (send it as payload or script)");
}

Status check_command(const std::vector<std::string>& command) {
  if (command.empty() || command.front().empty()) return wrong("command names no program");
  std::size_t size = 0;
  for (const std::string& argument : command) {
    size += argument.size() + 1;
    CARILLON_TRY(check_argument("an argument of command", argument.size()));
    CARILLON_TRY(check_text("an argument of command", argument, kCommandBytesMax));
  }
  return check_size("command", size, kCommandBytesMax);
}

constexpr std::string_view kHttpMethods[] = {"GET",    "POST", "PUT",    "PATCH",
                                             "DELETE", "HEAD", "OPTIONS"};

Status check_http(const HttpRequest& http) {
  if (std::find(std::begin(kHttpMethods), std::end(kHttpMethods), http.method) ==
      std::end(kHttpMethods)) {
    return wrong("http.method is " + shown(http.method) +
                 ", must be GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS");
  }
  CARILLON_TRY(check_line("http.url", http.url, kTextBytesMax));
  if (!http.url.starts_with("http://") && !http.url.starts_with("https://")) {
    return wrong("http.url is " + shown(masked_url(http.url)) +
                 ", must start with http:// or https://");
  }
  if (http.url.find(' ') != std::string::npos) {
    return wrong("http.url is " + shown(masked_url(http.url)) +
                 ", must have no spaces (write %20)");
  }
  std::string_view host = http.url;
  host.remove_prefix(host.find("//") + 2);
  host = host.substr(0, host.find_first_of("/?#"));
  if (!is_host(host.substr(host.find('@') + 1))) {
    return wrong("http.url is " + shown(masked_url(http.url)) +
                 ", must have a host, and a port of 1 to 65535 if it has one");
  }
  CARILLON_TRY(check_count("http.headers", http.headers.size(), kListMax));
  for (const auto& [name, value] : http.headers) {
    CARILLON_TRY(check_name("a name in http.headers", name, kTaskIdBytesMax));
    CARILLON_TRY(check_line("http.headers." + name, value, kTextBytesMax));
  }
  return check_text("http.body", http.body, kPayloadBytesMax);
}

Status check_source(const Run& run) {
  if (run.script_source.empty()) return wrong("script.source is empty");
  CARILLON_TRY(check_text("script.source", run.script_source, kCommandBytesMax));
  return check_line("script.remark", run.script_remark, kRemarkBytesMax);
}

Status check_script(const Run& run) {
  if (script_language(run.script_language).empty()) {
    std::string known;
    for (const std::string_view usual : kScriptLanguages) known += " " + std::string{usual};
    return wrong("script.language is " + shown(run.script_language) + ", must be one of" + known +
                 " (run another interpreter as a command)");
  }
  return check_source(run);
}

// Checks a script for an executor.
Status check_glue(const Run& run) {
  if (glue_type(run.script_language).empty()) {
    return wrong("script.language is " + shown(run.script_language) +
                 ", must be one of sh bash python python2 php node powershell groovy (executors "
                 "support no others)");
  }
  return check_source(run);
}

bool is_for_executors(const Run& run) {
  return script_language(run.script_language).empty() && !glue_type(run.script_language).empty();
}

Status check_run(const Run& run, Dispatch dispatch) {
  struct Given {
    RunKind kind;
    const char* word;
    bool is_given;
  };
  const Given all[] = {
      {RunKind::kHandler, "handler", !run.handler.empty()},
      {RunKind::kCommand, "command", !run.command.empty()},
      {RunKind::kShell, "shell", !run.shell.empty()},
      {RunKind::kScript, "script",
       !run.script_language.empty() || !run.script_source.empty() || !run.script_remark.empty()},
      {RunKind::kHttp, "http", run.http != HttpRequest{}},
  };
  for (const Given& given : all) {
    if (given.kind == run.kind && !given.is_given) {
      return wrong("nothing to run: " + std::string{given.word} +
                   " is missing or empty (give one of handler, command, shell, script, http)");
    }
    if (given.kind != run.kind && given.is_given) {
      return wrong(std::string{given.word} + " is given, but the job runs something else");
    }
  }
  switch (run.kind) {
    case RunKind::kHandler:
      return check_line("handler", run.handler, kTaskIdBytesMax);
    case RunKind::kCommand:
      return check_command(run.command);
    case RunKind::kShell:
      CARILLON_TRY(check_argument("shell", run.shell.size()));
      return check_text("shell", run.shell, kArgumentBytesMax);
    case RunKind::kScript: {
      // By default the job tracker decides by the group.
      const bool may_be_glue = dispatch == Dispatch::kDefault && is_for_executors(run);
      return dispatch == Dispatch::kPush || may_be_glue ? check_glue(run) : check_script(run);
    }
    case RunKind::kHttp:
      return check_http(run.http);
  }
  return wrong("run.kind is unknown");
}

// Parameters become environment variables: two names must not give the same variable, and the size
// is limited.
Status check_variables(const JobSpec& spec) {
  if (spec.run.kind == RunKind::kHandler) return {};
  std::map<std::string, std::string> params;
  for (const auto& [name, value] : spec.params) {
    const auto [first, is_new] = params.emplace(param_variable(name), name);
    CARILLON_TRY(check_argument("params." + name + " with its variable's name",
                                first->first.size() + 1 + value.size()));
    if (is_new) continue;
    return wrong("params " + shown(first->second) + " and " + shown(name) + " would both be " +
                 shown(first->first) + " to the run (rename one)");
  }
  return {};
}

Status check_params(const JobSpec& spec) {
  CARILLON_TRY(check_count("params", spec.params.size(), kParamsMax));
  if (spec.run.kind == RunKind::kHttp && !spec.params.empty()) {
    return wrong("params cannot be combined with http (put them into its url, headers or body)");
  }
  std::size_t size = 0;
  for (const auto& [name, value] : spec.params) {
    if (name.empty()) return wrong("a name in params is empty");
    CARILLON_TRY(check_line("a name in params", name, kTaskIdBytesMax));
    CARILLON_TRY(check_text("params." + name, value, kCommandBytesMax));
    size += name.size() + value.size();
  }
  // They become the run's environment, which the system limits.
  CARILLON_TRY(check_size("params", size, kCommandBytesMax));
  return check_variables(spec);
}

Status check_push(const JobSpec& spec) {
  if (spec.dispatch != Dispatch::kPush) {
    if (spec.push == Push{}) return {};
    return wrong("route, block and addresses require dispatch push");
  }
  if (spec.run.kind != RunKind::kHandler && spec.run.kind != RunKind::kScript) {
    return wrong(
        "executors run only handlers and scripts (dispatch push, route, block and addresses apply "
        "to executors)");
  }
  if (!spec.params.empty()) {
    return wrong(
        "params cannot be combined with dispatch push (an executor accepts one text: the payload)");
  }
  CARILLON_TRY(check_text("payload", spec.payload, kPayloadBytesMax));
  CARILLON_TRY(check_count("addresses", spec.push.addresses.size(), kAddressesMax));
  std::set<std::string> given;
  for (const std::string& address : spec.push.addresses) {
    CARILLON_TRY(check_address(address));
    if (!given.insert(address).second)
      return wrong("address " + shown(address) + " is given twice");
  }
  return {};
}

Status check_alarm(const std::vector<std::string>& recipients) {
  CARILLON_TRY(check_count("alarm", recipients.size(), kAlarmRecipientsMax));
  if (recipients.size() == 1 && recipients.front() == kNoAlarm) return {};
  std::set<std::string_view> given;
  for (const std::string& recipient : recipients) {
    if (recipient == kNoAlarm)
      return wrong(
          "alarm 'none' cannot be combined with recipients (give it alone, or leave it out)");
    CARILLON_TRY(check_alarm_recipient(recipient));
    if (!given.insert(recipient).second)
      return wrong("alarm recipient " + shown(recipient) + " is given twice (give it once)");
  }
  return {};
}

// An http run has no stdin: a payload must fit its body.
Status check_payload(const JobSpec& spec) {
  CARILLON_TRY(check_size("payload", spec.payload.size(), kPayloadBytesMax));
  if (spec.run.kind != RunKind::kHttp || spec.payload.empty()) return {};
  const HttpRequest& http = spec.run.http;
  if (!http.body.empty()) {
    return wrong("payload cannot be combined with http.body (both are the body; give one)");
  }
  if (http.method != "GET" && http.method != "HEAD") return {};
  return wrong("payload cannot be combined with http " + http.method +
               " (choose a method that sends a body, like POST)");
}

Status check_retries(const RetryPolicy& retries) {
  CARILLON_TRY(check_range("retries.max", retries.max, 0, kRetriesMax));
  CARILLON_TRY(check_duration("retries.base", retries.base, Duration{0}));
  CARILLON_TRY(check_duration("retries.cap", retries.cap, Duration{0}));
  if (retries.policy == RetryBackoff::kExponential && retries.cap < retries.base) {
    return wrong("retries.cap is " + format_duration(retries.cap) +
                 ", must be at least retries.base, which is " + format_duration(retries.base));
  }
  if (retries.jitter >= 0.0 && retries.jitter <= 1.0) return {};
  return wrong("retries.jitter is " + std::to_string(retries.jitter) + ", must be 0 to 1");
}

Status check_misfire(const Misfire& misfire, ScheduleKind kind) {
  const bool is_missed_never = kind == ScheduleKind::kNow || kind == ScheduleKind::kManual;
  CARILLON_TRY(check_absent(is_missed_never && misfire != Misfire{}, "misfire",
                            word_of(kind) + ", which cannot be missed (leave it out)"));
  CARILLON_TRY(check_range("misfire.max", misfire.max, 1, kMisfiresMax));
  CARILLON_TRY(check_duration("misfire.window", misfire.window, Duration{0}));
  return check_duration("misfire.threshold", misfire.threshold, Duration{0});
}

// Rejects fields that contradict each other.
Status check_overlap(const JobSpec& spec) {
  const bool keeps_newest =
      spec.overlap == Overlap::kQueueOne || spec.overlap == Overlap::kCancelRunning;
  if (keeps_newest && spec.misfire.policy == MisfirePolicy::kFireAll) {
    return wrong(
        "misfire.policy fire_all cannot be combined with overlap queue_one or cancel_running, "
        "which run only the newest fire (choose fire_once, or overlap queue)");
  }
  const ScheduleKind kind = spec.schedule.kind;
  const bool fires_once = kind == ScheduleKind::kNow || kind == ScheduleKind::kAt;
  // A pushed job has the overlap rule of its block strategy.
  const bool is_given = spec.overlap != Overlap::kSkip && spec.dispatch != Dispatch::kPush;
  return check_absent(fires_once && is_given, "overlap",
                      word_of(kind) + ", which fires once (leave it out)");
}

Status check_feedback(const JobSpec& spec) {
  if (spec.client_group.empty()) {
    if (!spec.need_feedback) return {};
    return wrong(
        "need_feedback is given without client_group (name the client group that gets the "
        "feedback)");
  }
  CARILLON_TRY(check_group_name("client_group", spec.client_group));
  if (spec.need_feedback) return {};
  return wrong(
      "client_group is given without need_feedback (give both to get feedback, or leave it out)");
}

Status check_children(const std::vector<Child>& children) {
  CARILLON_TRY(check_count("children", children.size(), kChildrenMax));
  std::set<std::pair<std::string, std::string>> given;
  for (const Child& child : children) {
    CARILLON_TRY(check_name("the group of a child", child.group, kGroupBytesMax));
    if (child.task_id.empty()) return wrong("the task_id of a child is empty");
    CARILLON_TRY(check_line("the task_id of a child", child.task_id, kTaskIdBytesMax));
    if (given.emplace(child.group, child.task_id).second) continue;
    return wrong("child " + shown(child.group + "/" + child.task_id) +
                 " is given twice (give it once)");
  }
  return {};
}

}  // namespace

std::optional<std::int64_t> number_of_made_task_id(std::string_view task_id) {
  if (!task_id.starts_with(kMadeTaskIdPrefix)) return std::nullopt;
  const std::string_view digits = task_id.substr(kMadeTaskIdPrefix.size());
  std::int64_t number = 0;
  const auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (failure != std::errc{} || end != digits.data() + digits.size() || number <= 0) {
    return std::nullopt;
  }
  return number;
}

Status check_group_name(const std::string& field, std::string_view name) {
  return check_name(field, name, kGroupBytesMax);
}

Status check_traceparent(std::string_view traceparent) {
  // Two digits of the version, 32 of the trace, 16 of the span and two of flags, in lower case.
  constexpr std::string_view kForm = "hh-hhhhhhhhhhhhhhhhhhhhhhhhhhhhhhhh-hhhhhhhhhhhhhhhh-hh";
  const bool fits =
      std::equal(traceparent.begin(), traceparent.end(), kForm.begin(), kForm.end(),
                 [](char given, char form) {
                   if (form == '-') return given == '-';
                   return (given >= '0' && given <= '9') || (given >= 'a' && given <= 'f');
                 });
  if (fits) return {};
  return wrong(
      "traceparent must look like 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
}

Status check_alarm_recipient(std::string_view recipient) {
  CARILLON_TRY(check_line("an alarm recipient", recipient, kAlarmRecipientBytesMax));
  if (is_mail_address(recipient) || is_webhook(recipient)) return {};
  return wrong("alarm recipient " + shown(recipient) +
               " is neither a mail address, like ops@example.com, nor a URL, like "
               "https://chat.example.com/hook");
}

Status check_address(std::string_view address) {
  CARILLON_TRY(check_line("address", address, kAddressBytesMax));
  if (is_http_address(address)) return {};
  return wrong("address is " + shown(address) +
               ", must be like http://10.0.0.7:9999/ (without user, query or fragment)");
}

Status JobSpec::validate() const {
  CARILLON_TRY(check_task_id(task_id));
  CARILLON_TRY(check_name("group", group, kGroupBytesMax));
  CARILLON_TRY(check_text("description", description, kTextBytesMax));
  CARILLON_TRY(check_line("owner", owner, kTextBytesMax));
  CARILLON_TRY(check_count("tags", tags.size(), kListMax));
  for (const std::string& tag : tags) CARILLON_TRY(check_line("a tag", tag, kTextBytesMax));
  CARILLON_TRY(check_schedule(schedule));
  CARILLON_TRY(check_range("priority", priority, 0, kPriorityMax));
  CARILLON_TRY(check_params(*this));
  CARILLON_TRY(check_run(run, dispatch));
  CARILLON_TRY(check_push(*this));
  CARILLON_TRY(check_payload(*this));
  CARILLON_TRY(check_misfire(misfire, schedule.kind));
  CARILLON_TRY(check_retries(retries));
  CARILLON_TRY(check_children(children));
  CARILLON_TRY(check_alarm(alarm));
  if (!traceparent.empty()) CARILLON_TRY(check_traceparent(traceparent));
  CARILLON_TRY(check_overlap(*this));
  CARILLON_TRY(check_feedback(*this));
  CARILLON_TRY(check_duration("timeout", timeout, Duration{0}));
  return check_duration("start_deadline", start_deadline, Duration{0});
}

}  // namespace carillon
