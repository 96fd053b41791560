#include "jobtracker/push/managed_spec.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "shared/job/run_words.h"
#include "shared/wire/spec_words.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::seconds;

constexpr std::string_view kBlanks = " \t\r\n";
constexpr Duration kRetryAfter = seconds{10};  // like xxl-job's retry interval

// xxl-job's misfire strategies.
constexpr wire::Words<MisfirePolicy, 2> kMisfireWords{
    {{"DO_NOTHING", MisfirePolicy::kSkip}, {"FIRE_ONCE_NOW", MisfirePolicy::kFireOnce}}};

Error wrong(const std::string& field, const std::string& value, const std::string& must) {
  return {ErrorCode::kInvalidArgument, field + " is '" + value + "', must be " + must};
}

template <class Enum, std::size_t kCount>
Result<Enum> choice(const std::string& field, const std::string& word,
                    const wire::Words<Enum, kCount>& words, Enum fallback) {
  if (word.empty()) return fallback;
  for (const auto& [known, value] : words) {
    if (known == word) return value;
  }
  return wrong(field, word, "one of xxl-job's words, like " + std::string{words.front().first});
}

Result<Schedule> schedule_of(const wire::xxl::ManagedJob& job) {
  if (job.schedule_type.empty() || job.schedule_type == "NONE")
    return Schedule{.kind = ScheduleKind::kManual};
  const std::string& conf = job.schedule_conf;
  if (job.schedule_type == "CRON") return Schedule{.kind = ScheduleKind::kCron, .cron = conf};
  if (job.schedule_type != "FIX_RATE")
    return wrong("scheduleType", job.schedule_type, "NONE, CRON or FIX_RATE");
  std::int64_t rate = 0;
  const auto parsed = std::from_chars(conf.data(), conf.data() + conf.size(), rate);
  if (parsed.ec != std::errc{} || parsed.ptr != conf.data() + conf.size() || rate < 1 ||
      rate > INT32_MAX)
    return wrong("scheduleConf", conf, "a number of seconds");
  return Schedule{.kind = ScheduleKind::kEvery, .interval = seconds{rate}};
}

Status check_filled(const std::string& field, const std::string& value, const std::string& must) {
  if (value.find_first_not_of(kBlanks) == std::string::npos) return wrong(field, value, must);
  return {};
}

// Whether it is a handler or a script, and a script's text, do not change with an update.
Result<Run> run_of(const wire::xxl::ManagedJob& job, const JobSpec* before) {
  if (before != nullptr && before->run.kind == RunKind::kScript) return before->run;
  if (before != nullptr || job.glue_type.empty() || job.glue_type == "BEAN") {
    CARILLON_TRY(check_filled("executorHandler", job.handler, "the name of a handler"));
    return Run{.handler = job.handler};
  }
  // The first language with this name, in order of preference.
  for (const char* language :
       {"bash", "python", "python2", "php", "node", "powershell", "groovy"}) {
    if (glue_type(language) != job.glue_type) continue;
    return Run{.kind = RunKind::kScript,
               .script_language = language,
               .script_source = job.glue_source,
               .script_remark = job.glue_remark};
  }
  return wrong("glueType", job.glue_type, "BEAN or a script language, like GLUE_SHELL");
}

Result<std::vector<std::string>> alarm_of(const std::string& list) {
  std::vector<std::string> recipients;
  for (std::string& address : parts_of(list)) {
    if (const Status valid = check_alarm_recipient(address); !valid.ok())
      return valid.error().with_context("alarmEmail");
    if (std::find(recipients.begin(), recipients.end(), address) == recipients.end())
      recipients.push_back(std::move(address));
  }
  return recipients;
}

}  // namespace

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    const std::string_view part = list.substr(0, comma);
    const std::size_t begin = part.find_first_not_of(kBlanks);
    if (begin != std::string_view::npos)
      parts.emplace_back(part.substr(begin, part.find_last_not_of(kBlanks) - begin + 1));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return parts;
}

Result<JobSpec> managed_spec(const wire::xxl::ManagedJob& job, const std::string& group,
                             const JobSpec* before) {
  JobSpec spec;
  if (before != nullptr) spec = *before;
  spec.group = group;
  spec.dispatch = Dispatch::kPush;
  spec.description = job.name;
  spec.owner = job.author;
  if (job.alarm_email) spec.alarm = CARILLON_TRY(alarm_of(*job.alarm_email));
  spec.schedule = CARILLON_TRY(schedule_of(job));
  spec.run = CARILLON_TRY(run_of(job, before));
  spec.payload = job.param.value_or("");
  spec.push.route =
      CARILLON_TRY(choice("executorRouteStrategy", job.route, wire::kRouteWords, Route::kFirst));
  spec.push.block = CARILLON_TRY(
      choice("executorBlockStrategy", job.block, wire::kBlockWords, Block::kSerialExecution));
  spec.overlap = wire::overlap_of(spec.push.block);
  const auto misfire =
      CARILLON_TRY(choice("misfireStrategy", job.misfire, kMisfireWords, MisfirePolicy::kSkip));
  spec.misfire = {};
  // A job without a schedule has no missed fires.
  if (spec.schedule.kind != ScheduleKind::kManual) spec.misfire.policy = misfire;
  spec.timeout = seconds{std::clamp<std::int64_t>(job.timeout_s, 0, INT32_MAX)};
  spec.retries.max = static_cast<int>(std::clamp<std::int64_t>(job.retries, 0, INT32_MAX));
  spec.retries.base = kRetryAfter;
  CARILLON_TRY(spec.validate());
  CARILLON_TRY(check_filled("name", job.name, "what the job does"));
  CARILLON_TRY(check_filled("author", job.author, "whose job it is"));
  return spec;
}

}  // namespace carillon::jobtracker
