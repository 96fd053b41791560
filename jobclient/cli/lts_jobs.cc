#include "jobclient/cli/lts_jobs.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "shared/base/time_text.h"
#include "shared/job/cron.h"
#include "shared/job/group_name.h"

namespace carillon::cli {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;

// A task as LTS knows it: group and task id.
using Key = std::pair<std::string, std::string>;

constexpr const char* kFirstFire = "__LTS_Repeat_Job_First_Fire_Time";

constexpr std::int64_t kTimeMsMax = 253'402'300'799'999;                             // year 9999
constexpr std::int64_t kIntervalMsMax = std::int64_t{100} * 365 * 24 * 3600 * 1000;  // 100 years

// Nothing where it is no time that can be meant.
std::optional<WallTime> time_of(std::int64_t ms) {
  if (ms < 0 || ms > kTimeMsMax) return std::nullopt;
  return WallTime{milliseconds{ms}};
}

Error no_time(const char* what, std::int64_t ms) {
  return {ErrorCode::kInvalidArgument, std::string{"has a "} + what + " of " + std::to_string(ms) +
                                           " ms, which is not a time between 1970 and 9999"};
}

bool is_definition(LtsQueue queue) {
  return queue == LtsQueue::kCron || queue == LtsQueue::kRepeat || queue == LtsQueue::kSuspended;
}

// As LTS takes it: a row need not have one, and is what its table is for then.
std::string type_of(const LtsRow& row) {
  if (!row.job_type.empty()) return row.job_type;
  if (row.queue == LtsQueue::kCron) return "CRON";
  if (row.queue == LtsQueue::kRepeat) return "REPEAT";
  if (!row.cron.empty()) return "CRON";
  return row.repeat_interval > 0 ? "REPEAT" : "";
}

bool is_periodic(const LtsRow& row) {
  const std::string type = type_of(row);
  return type == "CRON" || type == "REPEAT";
}

// The definition that an occurrence was made of.
Key definition_of(const LtsRow& row) {
  return {row.group, row.real_task_id.empty() ? row.task_id : row.real_task_id};
}

// A map of texts as LTS's JSON writers make it; other values keep their JSON text, and null is
// none. `others`: the names of those.
Result<std::map<std::string, std::string>> params_of(const std::string& text,
                                                     std::vector<std::string>& others) {
  std::map<std::string, std::string> params;
  if (text.empty()) return params;
  const json object = json::parse(text, nullptr, false);
  if (object.is_null()) return params;
  if (!object.is_object()) {
    return Error{ErrorCode::kInvalidArgument, "its ext_params are not a JSON object"};
  }
  for (const auto& [name, value] : object.items()) {
    if (!value.is_string()) others.push_back(name);
    if (value.is_null()) continue;
    params[name] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return params;
}

std::optional<std::int64_t> number_in(const std::map<std::string, std::string>& params,
                                      const char* name) {
  const auto found = params.find(name);
  if (found == params.end() || found->second.empty()) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : found->second) {
    if (c < '0' || c > '9' || number > INT64_MAX / 10 - 10) return std::nullopt;
    number = number * 10 + (c - '0');
  }
  return number;
}

// What other rows say of the tasks.
struct Others {
  std::map<Key, std::vector<const LtsRow*>> waiting{};    // occurrences, by their definition
  std::map<Key, std::vector<const LtsRow*>> executing{};  // the same
  std::set<Key> definitions{};

  explicit Others(const std::vector<LtsRow>& rows) {
    for (const LtsRow& row : rows) {
      const Key key = definition_of(row);
      if (is_definition(row.queue)) definitions.insert(key);
      if (row.queue == LtsQueue::kWaiting && is_periodic(row)) waiting[key].push_back(&row);
      if (row.queue == LtsQueue::kExecuting) executing[key].push_back(&row);
    }
  }

  static const std::vector<const LtsRow*>& find(
      const std::map<Key, std::vector<const LtsRow*>>& rows, const LtsRow& row) {
    static const std::vector<const LtsRow*> kNone;
    const auto found = rows.find(definition_of(row));
    return found == rows.end() ? kNone : found->second;
  }
};

// Makes the entry of one row.
class Maker {
 public:
  Maker(const LtsRow& row, const Others& others, const LtsOptions& options)
      : row_(row), others_(others), options_(options) {
    entry_.row = row;
  }

  LtsEntry make() {
    if (is_definition(row_.queue)) {
      entry_.waiting = std::ssize(others_.find(others_.waiting, row_));
    }
    if (row_.job_type.empty() && is_periodic(row_))
      note("has no job_type in LTS; it is imported as type " + type_of(row_));
    entry_.job = row_.queue == LtsQueue::kExecuting ? executing() : job();
    return std::move(entry_);
  }

 private:
  void note(std::string text) { entry_.notes.push_back(std::move(text)); }

  Result<JobSpec> executing() const {
    if (others_.definitions.contains(definition_of(row_))) {
      return Error{ErrorCode::kConflict,
                   "a run of it executes in LTS; the definition is imported, the run is not"};
    }
    return Error{ErrorCode::kConflict,
                 "executes in LTS: wait until it ends, or stop its task tracker and wait until "
                 "LTS's job tracker has put it back; then import again"};
  }

  Result<JobSpec> job() {
    if (row_.task_id.empty()) {
      return Error{
          ErrorCode::kInvalidArgument,
          "LTS job " + row_.job_id +
              " has no task_id, so a second import could not find it (set one in its row)"};
    }
    JobSpec spec{.task_id = row_.task_id, .group = row_.group};
    spec.description = "LTS job " + row_.job_id;
    spec.params = CARILLON_TRY(params());
    std::vector<std::string> others;  // Its own are not ours to tell of.
    internal_ = CARILLON_TRY(params_of(row_.internal_ext_params, others));
    spec.priority = priority();
    spec.retries.max = retries();
    spec.retries.base = options_.retry_base;
    spec.run = run(spec);
    spec.replace_on_exist = options_.replace;
    spec.schedule = CARILLON_TRY(schedule());
    if (is_periodic(row_) && is_definition(row_.queue)) {
      spec.overlap = row_.relies_on_prev_cycle ? Overlap::kSkip : Overlap::kParallel;
      spec.misfire.policy =
          row_.relies_on_prev_cycle ? MisfirePolicy::kFireOnce : MisfirePolicy::kFireAll;
      if (!row_.relies_on_prev_cycle) {
        note("at most " + std::to_string(spec.misfire.max) + " missed fires of the last " +
             format_duration(spec.misfire.window) + " run here; LTS runs all missed fires");
      }
    }
    tell_of(spec);
    if (internal_.contains("__LTS_ignoreAddOnExecuting")) {
      note(
          "__LTS_ignoreAddOnExecuting is not needed: a second job with the task id of a live job "
          "is "
          "always a duplicate");
    }
    CARILLON_TRY(spec.validate());
    return spec;
  }

  void tell_of(JobSpec& spec) {
    if (!row_.needs_feedback) return;
    if (row_.submit_group.empty()) {
      return note("needFeedback has no submitNodeGroup: nobody gets the result, as in LTS");
    }
    const Status valid = check_group_name("client_group", row_.submit_group);
    if (!valid.ok()) {
      return note("needFeedback is left out, nobody gets the result: " + valid.error().message);
    }
    spec.need_feedback = true;
    spec.client_group = row_.submit_group;
    note("needFeedback: results are kept for client group " + row_.submit_group +
         " (jobclient feedback, or a FeedbackListener)");
  }

  Result<std::map<std::string, std::string>> params() {
    std::vector<std::string> others;
    auto params = CARILLON_TRY(params_of(row_.ext_params, others));
    for (const std::string& name : others) {
      const auto found = params.find(name);
      note("param " + name + " is not text in LTS: " +
           (found == params.end() ? "it is null and left out" : "its JSON text is kept"));
    }
    return params;
  }

  int priority() {
    const std::int64_t priority = std::clamp<std::int64_t>(row_.priority, 0, kPriorityMax);
    if (priority != row_.priority) {
      note("priority " + std::to_string(row_.priority) + " becomes " + std::to_string(priority) +
           " (range 0 to " + std::to_string(kPriorityMax) + ")");
    }
    return static_cast<int>(priority);
  }

  // Those that LTS would still have made: its global maximum holds there too.
  int retries() {
    std::int64_t retries = std::max<std::int64_t>(row_.max_retry_times, 0);
    if (retries > options_.retries_max) {
      note("retries " + std::to_string(retries) + " become " +
           std::to_string(options_.retries_max) + ", the limit of LTS (--retries-max)");
      retries = options_.retries_max;
    }
    if (row_.queue == LtsQueue::kWaiting && row_.retry_times > 0) {
      retries = std::max<std::int64_t>(retries - row_.retry_times, 0);
      note("used " + std::to_string(row_.retry_times) +
           (row_.retry_times == 1 ? " retry" : " retries") +
           " in LTS: the remaining ones are kept");
    }
    return static_cast<int>(std::min<std::int64_t>(retries, INT32_MAX));
  }

  Run run(const JobSpec& spec) const {
    if (!options_.shell.empty()) return {.kind = RunKind::kShell, .shell = options_.shell};
    const auto named = spec.params.find(options_.handler_from);
    if (named != spec.params.end() && !named->second.empty()) return {.handler = named->second};
    return {.handler = options_.handler.empty() ? row_.group : options_.handler};
  }

  Result<Schedule> schedule() {
    if (is_definition(row_.queue) && type_of(row_) == "CRON") return cron();
    if (is_definition(row_.queue) && type_of(row_) == "REPEAT") return repeat();
    if (row_.trigger_time && (row_.job_type != "REAL_TIME" || row_.retry_times > 0)) return once();
    if (row_.repeat_count != 0 && row_.job_type == "REAL_TIME") {
      note("has a repeatCount and no repeatInterval: it runs once, as in LTS");
    }
    entry_.schedule = "now";
    return Schedule{};
  }

  Result<Schedule> cron() {
    entry_.schedule = row_.cron;
    const Cron cron = CARILLON_TRY(Cron::parse(row_.cron));
    const Status comes = cron.check_will_fire(options_.now, options_.zone, DstRule::kAuto);
    if (!comes.ok()) return comes.error().with_context("cron '" + row_.cron + "'");
    const WallTime* const lts_next = next_in_lts();
    if (lts_next != nullptr) {
      const auto here =
          cron.next(*lts_next - std::chrono::seconds{1}, options_.zone, DstRule::kAuto);
      if (here != *lts_next) {
        note("LTS has fires planned that do not exist in zone " + options_.zone.name() +
             " (--tz must be the zone of LTS's job trackers)");
      }
    }
    note_waiting();
    return Schedule{.kind = ScheduleKind::kCron, .cron = row_.cron, .tz = options_.zone.name()};
  }

  Result<Schedule> repeat() {
    std::optional<std::int64_t> left;
    if (row_.repeat_count > 0) {
      // What executes will be counted there when it ends.
      left = row_.repeat_count -
             std::clamp<std::int64_t>(row_.repeated_count, 0, row_.repeat_count) -
             std::ssize(others_.find(others_.executing, row_));
      if (*left <= 0) {
        return Error{ErrorCode::kConflict,
                     "all of its " + std::to_string(row_.repeat_count) + " runs ran in LTS"};
      }
      if (*left != row_.repeat_count) {
        note(std::to_string(row_.repeat_count - *left) + " of its " +
             std::to_string(row_.repeat_count) + " runs ran in LTS: the others remain");
      }
    }
    if (row_.repeat_interval <= 0) {
      return Error{ErrorCode::kInvalidArgument, "has no repeat_interval"};
    }
    if (row_.repeat_interval > kIntervalMsMax) {
      return Error{ErrorCode::kInvalidArgument, "has a repeat_interval of " +
                                                    std::to_string(row_.repeat_interval) +
                                                    " ms, which is more than 100 years"};
    }
    const Duration interval = milliseconds{row_.repeat_interval};
    const std::int64_t first_ms =
        number_in(internal_, kFirstFire).value_or(row_.trigger_time.value_or(0));
    if (!time_of(first_ms)) return no_time("first fire", first_ms);
    entry_.schedule =
        "every " + format_duration(interval) +
        (left ? ", " + std::to_string(*left) + (*left == 1 ? " time" : " times") : "");
    WallTime first = *time_of(first_ms);
    // On the grid of its first fire, as in LTS.
    if (first <= options_.now) first += ((options_.now - first) / interval + 1) * interval;
    note_waiting();
    if (!row_.relies_on_prev_cycle && !left) {
      note("LTS ends an overlapping repeat without a count after its first run; here it continues");
    }
    return Schedule{
        .kind = ScheduleKind::kEvery, .interval = interval, .count = left, .first = first};
  }

  Result<Schedule> once() {
    const std::optional<WallTime> at = time_of(*row_.trigger_time);
    if (!at) return no_time("trigger_time", *row_.trigger_time);
    entry_.schedule = "at " + format_time(*at);
    if (is_periodic(row_)) note("its definition is gone in LTS: only this run is imported");
    return Schedule{.kind = ScheduleKind::kAt, .at = *at};
  }

  // When LTS will make the next run; null where it has none waiting.
  const WallTime* next_in_lts() {
    for (const LtsRow* row : others_.find(others_.waiting, row_)) {
      // The time of a retry is no fire.
      if (!row->trigger_time || row->retry_times > 0) continue;
      const std::optional<WallTime> time = time_of(*row->trigger_time);
      if (time && (!next_ || *time < *next_)) next_ = *time;
    }
    return next_ ? &*next_ : nullptr;
  }

  void note_waiting() {
    if (row_.queue == LtsQueue::kSuspended) return;
    const auto& waiting = others_.find(others_.waiting, row_);
    const WallTime* const next = next_in_lts();
    if (next != nullptr && *next <= options_.now) {
      note("has overdue runs in LTS, which do not run here (jobclient trigger starts one)");
    }
    if (std::any_of(waiting.begin(), waiting.end(),
                    [](const LtsRow* row) { return row->retry_times > 0; })) {
      note("a failed run waits for its retry in LTS; the retry is not imported");
    }
    // Of one that does not rely on its runs the next may be too far ahead to be made yet.
    if (row_.relies_on_prev_cycle && waiting.empty() &&
        others_.find(others_.executing, row_).empty()) {
      note("LTS has lost its next run and would never run it again; here it continues");
    }
  }

  const LtsRow& row_;
  const Others& others_;
  const LtsOptions& options_;
  LtsEntry entry_{};
  std::map<std::string, std::string> internal_{};
  std::optional<WallTime> next_{};
};

}  // namespace

std::vector<LtsEntry> read_lts_jobs(const std::vector<LtsRow>& rows, const LtsOptions& options) {
  const Others others(rows);
  std::map<Key, LtsQueue> taken;
  std::vector<LtsEntry> entries;
  for (const LtsRow& row : rows) {
    const bool is_made_again = row.queue == LtsQueue::kWaiting && is_periodic(row) &&
                               others.definitions.contains(definition_of(row));
    if (is_made_again) continue;
    LtsEntry entry = Maker(row, others, options).make();
    if (entry.job.ok()) {
      const auto [first, is_new] = taken.emplace(Key{row.group, row.task_id}, row.queue);
      if (!is_new) {
        entry.job = Error{ErrorCode::kConflict, std::string{"its task id belongs to a "} +
                                                    to_string(first->second) +
                                                    " job, which is imported instead"};
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace carillon::cli
