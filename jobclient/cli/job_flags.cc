#include "jobclient/cli/job_flags.h"

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

#include "jobclient/cli/job_words.h"
#include "shared/base/time_text.h"
#include "shared/job/cron.h"
#include "shared/job/zone.h"
#include "shared/wire/spec_words.h"

namespace carillon::cli {
namespace {

Error wrong(const std::string& message) { return {ErrorCode::kInvalidArgument, message}; }

// The one flag of a set that was given; empty when none was, an error when several were.
Result<std::string> one_of(const Configuration& configuration,
                           const std::vector<const char*>& names) {
  std::string given;
  for (const char* name : names) {
    if (!configuration.was_given(name)) continue;
    if (!given.empty()) {
      return wrong("--" + given + " and --" + name + " contradict each other (give one)");
    }
    given = name;
  }
  return given;
}

// Refuses flags that say something about another flag which was not given.
Status need(const Configuration& configuration, const std::vector<const char*>& names, bool fits,
            const char* with) {
  for (const char* name : names) {
    if (!fits && configuration.was_given(name)) {
      return wrong("--" + std::string{name} + " goes with " + with + " only");
    }
  }
  return {};
}

// An RFC 3339 time, or "+5m".
Result<WallTime> time_from(const char* flag, const std::string& text, WallTime now) {
  if (text.starts_with('+')) {
    const Result<Duration> later = parse_duration(text.substr(1));
    if (later.ok()) return now + later.value();
    return later.error().with_context("--" + std::string{flag});
  }
  if (parse_duration(text).ok())
    return wrong("--" + std::string{flag} + " '" + text + "' is a duration, not a time (write +" +
                 text + " for that long from now)");
  const Result<WallTime> time = parse_time(text);
  if (time.ok()) return time.value();
  return time.error().with_context("--" + std::string{flag});
}

// "2026-12-01 08:00:00" on the clocks of the zone.
Result<WallTime> local_time_from(const std::string& text, const Zone& zone) {
  if (parse_time(text).ok())
    return wrong("--at '" + text + "' says its offset from UTC, so --tz does not go with it");
  const Result<WallTime> as_utc = parse_time(text + "Z");
  if (!as_utc.ok())
    return wrong("--at '" + text + "' is not a time (write 2026-12-01 08:00:00 with --tz)");
  const auto second = std::chrono::floor<std::chrono::seconds>(as_utc.value());
  return zone.lookup(LocalTime{second.time_since_epoch()}).first + (as_utc.value() - second);
}

Result<WallTime> at_from(const Configuration& configuration, WallTime now) {
  const std::string& text = configuration.text("at");
  if (configuration.was_given("tz")) {
    const Result<Zone> zone = Zone::load(configuration.text("tz"));
    if (!zone.ok()) return zone.error().with_context("--tz");
    return local_time_from(text, zone.value());
  }
  if (!parse_time(text).ok() && parse_time(text + "Z").ok())
    return wrong("--at '" + text +
                 "' needs a zone (add --tz ZONE, or end it with Z or an offset like +08:00)");
  return time_from("at", text, now);
}

// The halves of NAME=VALUE or NAME:VALUE.
Result<std::pair<std::string, std::string>> halves(const char* flag, const std::string& text,
                                                   char between) {
  const std::size_t at = text.find(between);
  if (at == std::string::npos || at == 0) {
    return wrong("--" + std::string{flag} + " '" + text + "' has no " +
                 (at == 0 ? "name before the '" : "'") + between + "' (write NAME" + between +
                 "VALUE)");
  }
  std::size_t value = at + 1;
  while (between == ':' && value < text.size() && text[value] == ' ') ++value;
  return std::pair{text.substr(0, at), text.substr(value)};
}

Error twice(const char* flag, const std::string& name) {
  return wrong("--" + std::string{flag} + " '" + name + "' was given twice");
}

// Refuses what is wrong whatever a job tracker may say.
Status check_cron(const Schedule& schedule, WallTime now) {
  const Cron cron = CARILLON_TRY(Cron::parse(schedule.cron));
  const bool has_zone = !schedule.tz.empty();
  const Result<Zone> zone = Zone::load(has_zone ? schedule.tz : "UTC");
  // The job tracker may know zones that this machine does not.
  if (!zone.ok()) return {};
  // Without a zone it is the job tracker's that counts, which is less than a day from UTC.
  const WallTime from = has_zone ? now : now - std::chrono::hours{24};
  const Status fires = cron.check_will_fire(from, zone.value(), schedule.dst);
  if (fires.ok()) return {};
  return fires.error().with_context("cron '" + schedule.cron + "'");
}

Result<Schedule> schedule_from(const Configuration& configuration, WallTime now) {
  Schedule schedule;
  const std::string kind =
      CARILLON_TRY(one_of(configuration, {"now", "at", "cron", "every", "fixed-delay", "manual"}));
  const bool repeats = kind == "every" || kind == "fixed-delay";
  CARILLON_TRY(need(configuration, {"tz"}, kind == "cron" || kind == "at", "--cron and --at"));
  CARILLON_TRY(need(configuration, {"dst"}, kind == "cron", "--cron"));
  CARILLON_TRY(need(configuration, {"count", "first"}, repeats, "--every and --fixed-delay"));
  if (kind == "at") {
    schedule.kind = ScheduleKind::kAt;
    schedule.at = CARILLON_TRY(at_from(configuration, now));
  } else if (kind == "cron") {
    schedule.kind = ScheduleKind::kCron;
    schedule.cron = configuration.text("cron");
    schedule.tz = configuration.text("tz");
    if (configuration.has("dst")) {
      schedule.dst = CARILLON_TRY(parse_dst_rule(configuration.text("dst")));
    }
    CARILLON_TRY(check_cron(schedule, now));
  } else if (repeats) {
    schedule.kind = kind == "every" ? ScheduleKind::kEvery : ScheduleKind::kFixedDelay;
    schedule.interval = configuration.duration(kind);
    if (configuration.has("count")) schedule.count = configuration.number("count");
    if (configuration.has("first")) {
      schedule.first = CARILLON_TRY(time_from("first", configuration.text("first"), now));
    }
  } else if (kind == "manual") {
    schedule.kind = ScheduleKind::kManual;
  }
  return schedule;
}

// What stands behind "#!" of a script, without its folder and version: "python" of
// "#!/usr/bin/env python3".
std::string language_of_first_line(const std::string& source) {
  if (!source.starts_with("#!")) return {};
  std::string line = source.substr(2, source.find('\n') - 2);
  while (!line.empty() && (line.back() == ' ' || line.back() == '\r')) line.pop_back();
  std::size_t program_end = line.find(' ', line.find_first_not_of(' '));
  std::string program = line.substr(0, program_end);
  if (program.ends_with("/env") && program_end != std::string::npos) {
    program = line.substr(program_end + 1);
    program = program.substr(0, program.find(' '));
  }
  program = program.substr(program.find_last_of("/ ") + 1);
  while (!program.empty() &&
         (program.back() == '.' || (program.back() >= '0' && program.back() <= '9'))) {
    program.pop_back();
  }
  return program;
}

std::string language_of_ending(const std::string& path) {
  constexpr std::array kEndings{std::pair{".sh", "sh"},          std::pair{".bash", "bash"},
                                std::pair{".py", "python"},      std::pair{".js", "node"},
                                std::pair{".php", "php"},        std::pair{".pl", "perl"},
                                std::pair{".rb", "ruby"},        std::pair{".lua", "lua"},
                                std::pair{".ps1", "powershell"}, std::pair{".groovy", "groovy"}};
  for (const auto& [ending, language] : kEndings) {
    if (path.ends_with(ending)) return language;
  }
  return {};
}

}  // namespace

std::string language_of_script(const std::string& source, const std::string& path) {
  std::string language = language_of_first_line(source);
  return language.empty() ? language_of_ending(path) : language;
}

namespace {

Result<Run> script_from(const Configuration& configuration, int input) {
  const std::string& path = configuration.text("script");
  Run run{.kind = RunKind::kScript, .script_language = configuration.text("language")};
  run.script_source = CARILLON_TRY(read_file(path, kCommandBytesMax, input));
  if (run.script_language.empty())
    run.script_language = language_of_script(run.script_source, path);
  if (run.script_language.empty()) {
    return wrong("the language of --script '" + path +
                 "' is unknown (give --language, or a first line like #!/bin/sh)");
  }
  return run;
}

Result<Run> http_from(const Configuration& configuration) {
  Run run{.kind = RunKind::kHttp};
  run.http.url = configuration.text("http");
  run.http.body = configuration.text("body");
  run.http.method = run.http.body.empty() ? "GET" : "POST";
  if (configuration.has("method")) run.http.method = configuration.text("method");
  for (const std::string& header : configuration.list("header")) {
    auto [name, value] = CARILLON_TRY(halves("header", header, ':'));
    if (!run.http.headers.emplace(name, value).second) return twice("header", name);
  }
  return run;
}

Result<Run> run_from(const Configuration& configuration, int input) {
  const std::string kind =
      CARILLON_TRY(one_of(configuration, {"shell", "script", "http", "handler"}));
  CARILLON_TRY(need(configuration, {"language"}, kind == "script", "--script"));
  CARILLON_TRY(need(configuration, {"method", "header", "body"}, kind == "http", "--http"));
  if (!configuration.rest().empty()) {
    if (!kind.empty()) {
      return wrong("--" + kind + " and a command after -- contradict each other (give one)");
    }
    return Run{.kind = RunKind::kCommand, .command = configuration.rest()};
  }
  if (kind == "shell") return Run{.kind = RunKind::kShell, .shell = configuration.text("shell")};
  if (kind == "script") return script_from(configuration, input);
  if (kind == "http") return http_from(configuration);
  if (kind == "handler") {
    return Run{.kind = RunKind::kHandler, .handler = configuration.text("handler")};
  }
  return wrong(
      "nothing to run (put a command after --, or give --shell, --script, --http or "
      "--handler)");
}

Result<RetryPolicy> retries_from(const Configuration& configuration) {
  RetryPolicy retries;
  retries.max = static_cast<int>(configuration.number("retries"));
  // Not retry-base: a run that asks for "later" waits for it too, without any retries.
  CARILLON_TRY(need(configuration, {"retry-policy", "retry-cap", "retry-jitter"}, retries.max > 0,
                    "--retries"));
  if (configuration.has("retry-policy")) {
    retries.policy = CARILLON_TRY(parse_backoff(configuration.text("retry-policy")));
  }
  CARILLON_TRY(need(configuration, {"retry-cap"}, retries.policy == RetryBackoff::kExponential,
                    "--retry-policy exponential"));
  if (configuration.has("retry-base")) retries.base = configuration.duration("retry-base");
  retries.cap = std::max(retries.cap, retries.base);
  if (configuration.has("retry-cap")) {
    retries.cap = configuration.duration("retry-cap");
    if (retries.cap < retries.base) {
      return wrong("--retry-cap is " + format_duration(retries.cap) +
                   ", must be at least --retry-base, which is " + format_duration(retries.base));
    }
  }
  if (configuration.has("retry-jitter")) {
    const std::string& text = configuration.text("retry-jitter");
    const char* end = text.data() + text.size();
    const auto [stopped, error] = std::from_chars(text.data(), end, retries.jitter);
    if (error != std::errc{} || stopped != end || retries.jitter < 0 || retries.jitter > 1) {
      return wrong("--retry-jitter '" + text + "' is not a share (a number from 0 to 1)");
    }
  }
  return retries;
}

Result<Misfire> misfire_from(const Configuration& configuration) {
  Misfire misfire;
  if (configuration.has("misfire")) {
    misfire.policy = CARILLON_TRY(parse_misfire(configuration.text("misfire")));
  }
  CARILLON_TRY(need(configuration, {"misfire-max", "misfire-window"},
                    misfire.policy == MisfirePolicy::kFireAll, "--misfire fire_all"));
  if (configuration.has("misfire-max")) misfire.max = configuration.number("misfire-max");
  if (configuration.has("misfire-window")) {
    misfire.window = configuration.duration("misfire-window");
  }
  if (configuration.has("misfire-threshold")) {
    misfire.threshold = configuration.duration("misfire-threshold");
  }
  return misfire;
}

Result<std::vector<Child>> children_from(const Configuration& configuration) {
  std::vector<Child> children;
  for (const std::string& text : configuration.list("child")) {
    const std::size_t slash = text.find('/');
    if (slash == std::string::npos) {
      return wrong("--child '" + text + "' names no group (write GROUP/TASK_ID, like default/" +
                   text + ")");
    }
    children.push_back({.group = text.substr(0, slash), .task_id = text.substr(slash + 1)});
  }
  return children;
}

Status take_push(const Configuration& configuration, JobSpec& job) {
  if (configuration.has("dispatch")) {
    job.dispatch = CARILLON_TRY(parse_dispatch(configuration.text("dispatch")));
  }
  CARILLON_TRY(need(configuration, {"route", "block", "address"}, job.dispatch != Dispatch::kPull,
                    "--dispatch push"));
  if (configuration.has("route")) {
    job.push.route = CARILLON_TRY(parse_route(configuration.text("route")));
  }
  if (configuration.has("block")) {
    job.push.block = CARILLON_TRY(parse_block(configuration.text("block")));
    job.overlap = wire::overlap_of(job.push.block);
  }
  job.push.addresses = configuration.list("address");
  if (configuration.has("route") || configuration.has("block") || !job.push.addresses.empty()) {
    job.dispatch = Dispatch::kPush;
  }
  return {};
}

}  // namespace

Result<std::string> payload_from(const Configuration& configuration, int input) {
  const std::string kind = CARILLON_TRY(one_of(configuration, {"payload", "payload-file"}));
  if (kind != "payload-file") return configuration.text("payload");
  return read_file(configuration.text("payload-file"), kPayloadBytesMax, input);
}

Result<JobSpec> job_from_flags(const Configuration& configuration, WallTime now, int input) {
  JobSpec job{.task_id = configuration.text("task-id"),
              .group = configuration.text("group"),
              .description = configuration.text("description"),
              .owner = configuration.text("owner"),
              .tags = configuration.list("tags"),
              .priority = static_cast<int>(configuration.number("priority")),
              .need_feedback = configuration.is_on("need-feedback"),
              .client_group = configuration.text("client-group"),
              .alarm = configuration.list("alarm"),
              .replace_on_exist = configuration.is_on("replace-on-exist")};
  job.schedule = CARILLON_TRY(schedule_from(configuration, now));
  for (const std::string& param : configuration.list("param")) {
    auto [name, value] = CARILLON_TRY(halves("param", param, '='));
    if (!job.params.emplace(name, value).second) return twice("param", name);
  }
  job.run = CARILLON_TRY(run_from(configuration, input));
  job.payload = CARILLON_TRY(payload_from(configuration, input));
  job.retries = CARILLON_TRY(retries_from(configuration));
  job.misfire = CARILLON_TRY(misfire_from(configuration));
  job.children = CARILLON_TRY(children_from(configuration));
  CARILLON_TRY(take_push(configuration, job));
  if (configuration.has("overlap")) {
    job.overlap = CARILLON_TRY(parse_overlap(configuration.text("overlap")));
  }
  if (configuration.has("timeout")) job.timeout = configuration.duration("timeout");
  if (configuration.has("start-deadline")) {
    job.start_deadline = configuration.duration("start-deadline");
  }
  CARILLON_TRY(job.validate());
  return job;
}

Result<std::string> read_file(const std::string& path, std::size_t bytes_max, int input) {
  const auto failed = [&path](int number) {
    return wrong("cannot read '" + path + "': " + std::strerror(number));
  };
  const bool is_input = path == "-";
  const int fd = is_input ? input : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failed(errno);
  std::string bytes;
  std::array<char, 64 * 1024> chunk{};
  int problem = 0;
  while (bytes.size() <= bytes_max) {
    const ssize_t got = ::read(fd, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) problem = errno;
    if (got <= 0) break;
    bytes.append(chunk.data(), static_cast<std::size_t>(got));
  }
  if (!is_input) ::close(fd);
  if (problem != 0) return failed(problem);
  if (bytes.size() > bytes_max) {
    return wrong("'" + path + "' is too large, the limit is " + std::to_string(bytes_max) +
                 " bytes");
  }
  return bytes;
}

}  // namespace carillon::cli
