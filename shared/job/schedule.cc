#include "shared/job/schedule.h"

#include <algorithm>
#include <string>

#include "shared/base/assert.h"

namespace carillon {

namespace {

using std::chrono::sys_days;
using std::chrono::year;

constexpr WallTime kFireMin = sys_days{year{kCronYearMin} / 1 / 1};
constexpr WallTime kFireEnd = sys_days{year{kCronYearMax + 1} / 1 / 1};

Error refuse(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

Status check_time(const char* what, WallTime time) {
  if (time >= kFireMin && time < kFireEnd) return {};
  return refuse(std::string{what} + " is outside the years 1970-2199");
}

Status check_interval(const std::string& what, Duration interval) {
  if (interval >= kIntervalMin && interval <= kIntervalMax) return {};
  return refuse(what + " is " + std::to_string(interval.count()) +
                " us, must be between 1 ms and 100 years");
}

}  // namespace

std::string word_of(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kNow:
      return "now";
    case ScheduleKind::kAt:
      return "at";
    case ScheduleKind::kCron:
      return "cron";
    case ScheduleKind::kEvery:
      return "every";
    case ScheduleKind::kFixedDelay:
      return "fixed_delay";
    case ScheduleKind::kManual:
      return "manual";
  }
  return "this schedule";
}

Result<CompiledSchedule> CompiledSchedule::compile(const Schedule& schedule, WallTime submitted) {
  CompiledSchedule compiled{schedule.kind};
  switch (schedule.kind) {
    case ScheduleKind::kManual:
      return compiled;
    case ScheduleKind::kNow:
      compiled.first_ = submitted;
      return compiled;
    case ScheduleKind::kAt:
      CARILLON_TRY(check_time("at", schedule.at));
      compiled.first_ = schedule.at;
      return compiled;
    case ScheduleKind::kEvery:
    case ScheduleKind::kFixedDelay:
      compiled.first_ = schedule.first.value_or(submitted);
      compiled.interval_ = schedule.interval;
      CARILLON_TRY(check_interval(word_of(schedule.kind), schedule.interval));
      CARILLON_TRY(check_time("first", compiled.first_));
      return compiled;
    case ScheduleKind::kCron: {
      if (schedule.tz.empty()) {
        return refuse("cron '" + schedule.cron + "' has no time zone, set tz to one, like UTC");
      }
      const Cron cron = CARILLON_TRY(Cron::parse(schedule.cron));
      const Zone zone = CARILLON_TRY(Zone::load(schedule.tz));
      if (auto status = cron.check_will_fire(submitted, zone, schedule.dst); !status.ok()) {
        return status.error().with_context("cron '" + schedule.cron + "'");
      }
      compiled.cron_ = CronPart{.cron = cron, .zone = zone, .rule = cron.resolve(schedule.dst)};
      return compiled;
    }
  }
  return refuse("schedule kind " + std::to_string(static_cast<int>(schedule.kind)) +
                " is unknown to this version");
}

std::optional<WallTime> CompiledSchedule::first_fire(WallTime submitted) {
  switch (kind_) {
    case ScheduleKind::kManual:
      return std::nullopt;
    case ScheduleKind::kCron:
      return next_fire(submitted);
    case ScheduleKind::kEvery:
      return next_fire(submitted - Duration{1});
    case ScheduleKind::kNow:
    case ScheduleKind::kAt:
    case ScheduleKind::kFixedDelay:
      break;
  }
  return first_;
}

std::optional<WallTime> CompiledSchedule::next_fire(WallTime after) {
  if (kind_ == ScheduleKind::kManual) return std::nullopt;
  if (kind_ == ScheduleKind::kCron) {
    return cron_->cron.next(after, cron_->zone, cron_->rule, cron_->span);
  }
  if (after < first_) return first_;
  if (kind_ != ScheduleKind::kEvery || after >= kFireEnd) return std::nullopt;
  const WallTime fire = first_ + ((after - first_) / interval_ + 1) * interval_;
  if (fire >= kFireEnd) return std::nullopt;
  return fire;
}

std::optional<WallTime> CompiledSchedule::next_after_end(WallTime end) {
  if (kind_ != ScheduleKind::kFixedDelay) return next_fire(end);
  if (end >= kFireEnd - interval_) return std::nullopt;
  return std::max(first_, end + interval_);
}

std::int64_t CompiledSchedule::count_fires(WallTime after, WallTime until, std::int64_t limit) {
  CARILLON_ASSERT(limit >= 0, "the limit is not negative");
  if (kind_ == ScheduleKind::kEvery) {
    const auto up_to = [&](WallTime time) -> std::int64_t {
      return time < first_ ? 0 : (std::min(time, kFireEnd - Duration{1}) - first_) / interval_ + 1;
    };
    return std::clamp<std::int64_t>(up_to(until) - up_to(after), 0, limit);
  }
  if (kind_ == ScheduleKind::kCron) {
    return cron_->cron.count(after, until, cron_->zone, cron_->rule, cron_->span, limit);
  }
  std::int64_t count = 0;
  for (auto fire = next_fire(after); count < limit && fire && *fire <= until; ++count) {
    fire = next_fire(*fire);
  }
  return count;
}

}  // namespace carillon
