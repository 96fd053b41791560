// The preview of a schedule.
#include <array>
#include <cstdio>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/json_rows.h"
#include "shared/base/time_text.h"
#include "shared/job/cron.h"
#include "shared/job/cron_words.h"
#include "shared/job/schedule.h"
#include "shared/job/zone.h"
#include "shared/wire/spec_words.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::int64_t kFiresShownMax = 1000;

struct SchedulePreview {
  Schedule schedule{};
  WallTime from{};
  std::int64_t count = 10;
};

// RFC 3339 with the offset of the zone: "2026-11-29T02:00:00+01:00".
std::string local_time_text(WallTime time, const Zone& zone) {
  const auto instant = std::chrono::floor<std::chrono::seconds>(time);
  const ZoneSpan span = zone.span_at(instant);
  const LocalTime local = span.to_local(instant);
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{local - day};
  const auto offset = std::chrono::duration_cast<std::chrono::minutes>(span.offset).count();
  const auto offset_size = offset < 0 ? -offset : offset;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%04d-%02u-%02uT%02d:%02d:%02d%c%02d:%02d",
                static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                static_cast<unsigned>(date.day()), static_cast<int>(clock.hours().count()),
                static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), offset < 0 ? '-' : '+',
                static_cast<int>(offset_size / 60), static_cast<int>(offset_size % 60));
  return text.data();
}

// Whether a clock change moves the fire, or repeats its local time.
Json dst_mark(WallTime fire, const Schedule& schedule, const Zone& zone, const Cron* cron) {
  if (schedule.kind != ScheduleKind::kCron || cron == nullptr) return nullptr;
  const LocalTime local = zone.to_local(std::chrono::floor<std::chrono::seconds>(fire));
  if (zone.lookup(local).kind == LocalKind::kRepeated) return "repeated";
  return cron->matches(local) ? Json{} : Json("gap");
}

std::string schedule_words(const Schedule& schedule) {
  switch (schedule.kind) {
    case ScheduleKind::kNow:
      return "now";
    case ScheduleKind::kAt:
      return "at " + time_text(schedule.at);
    case ScheduleKind::kManual:
      return "only when it is triggered";
    case ScheduleKind::kEvery:
      return "every " + format_duration(schedule.interval);
    case ScheduleKind::kFixedDelay:
      return format_duration(schedule.interval) + " after the end of each run";
    case ScheduleKind::kCron: {
      const std::string words = cron_words(schedule.cron);
      return words.empty() ? "cron " + schedule.cron : words;
    }
  }
  return {};
}

Result<Json> fires_of_preview(const SchedulePreview& preview) {
  auto compiled = CARILLON_TRY(CompiledSchedule::compile(preview.schedule, preview.from));
  const Zone zone =
      preview.schedule.tz.empty() ? Zone::utc() : CARILLON_TRY(Zone::load(preview.schedule.tz));
  const auto cron =
      Cron::parse(preview.schedule.cron.empty() ? "* * * * *" : preview.schedule.cron);
  Json fires = Json::array();
  std::optional<WallTime> fire = compiled.first_fire(preview.from);
  while (fire && static_cast<std::int64_t>(fires.size()) < preview.count) {
    fires.push_back(
        {{"at", time_text(*fire)},
         {"local", local_time_text(*fire, zone)},
         {"dst", dst_mark(*fire, preview.schedule, zone, cron.ok() ? &cron.value() : nullptr)}});
    fire = compiled.next_fire(*fire);
  }
  return fires;
}

std::optional<ScheduleKind> kind_named(const std::string& name) {
  for (const ScheduleKind kind :
       {ScheduleKind::kNow, ScheduleKind::kAt, ScheduleKind::kCron, ScheduleKind::kEvery,
        ScheduleKind::kFixedDelay, ScheduleKind::kManual}) {
    if (word_of(kind) == name) return kind;
  }
  return std::nullopt;
}

Result<DstRule> dst_rule_named(const std::string& name) {
  for (const auto& [word, rule] : wire::kDstWords) {
    if (word == name) return rule;
  }
  return Error{ErrorCode::kInvalidArgument,
               "dst is '" + name + "', must be auto, skip, once or twice"};
}

// With a capital letter at its beginning.
std::string sentence(std::string words) {
  if (!words.empty() && words.front() >= 'a' && words.front() <= 'z')
    words.front() = static_cast<char>(words.front() - 'a' + 'A');
  return words;
}

// Errors in the schedule itself; those of the call are errors of read_preview().
Result<Schedule> read_schedule(Body& body, const std::string& kind, const std::string& zone) {
  Schedule schedule;
  const auto known = kind_named(kind);
  if (!known) {
    return Error{ErrorCode::kInvalidArgument,
                 "kind is '" + kind + "', must be cron, every, fixed_delay, at, now or manual"};
  }
  schedule.kind = *known;
  schedule.cron = CARILLON_TRY(body.text("cron"));
  schedule.tz = CARILLON_TRY(body.text("tz"));
  const std::string dst = CARILLON_TRY(body.text("dst"));
  if (!dst.empty()) schedule.dst = CARILLON_TRY(dst_rule_named(dst));
  const std::string interval = CARILLON_TRY(body.text("interval"));
  if (!interval.empty()) {
    const auto parsed = parse_duration(interval);
    if (!parsed.ok()) return parsed.error().with_context("interval");
    schedule.interval = parsed.value();
  }
  if (const auto at = CARILLON_TRY(body.time("at"))) schedule.at = *at;
  schedule.first = CARILLON_TRY(body.time("first"));
  if (schedule.kind == ScheduleKind::kCron && schedule.tz.empty()) schedule.tz = zone;
  return schedule;
}

void preview_schedule(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  const std::string kind = CARILLON_TRY_CALL(exchange, body.required_text("kind"));
  SchedulePreview preview;
  preview.count = CARILLON_TRY_CALL(exchange, body.number("count", 10, 1, kFiresShownMax));
  const auto from = CARILLON_TRY_CALL(exchange, body.time("from"));
  preview.from = from.value_or(api.gateway.clock().wall_now());
  auto schedule = read_schedule(body, kind, api.facts.zone);
  CARILLON_TRY_CALL(exchange, body.finish());
  // Errors of an expression that is being written are not errors of the call.
  const auto send_error = [&](const Error& error) {
    exchange->send({{"words", ""}, {"fires", Json::array()}, {"error", error.message}});
  };
  if (!schedule.ok()) return send_error(schedule.error());
  preview.schedule = std::move(schedule).value();
  const bool is_begun = api.gateway.run_aside([exchange, preview] {
    const auto fires = fires_of_preview(preview);
    return [exchange, preview, fires] {
      Json answer{
          {"words", fires.ok() ? sentence(schedule_words(preview.schedule)) : std::string{}},
          {"fires", fires.ok() ? fires.value() : Json::array()},
          {"error", fires.ok() ? Json{} : Json(fires.error().message)}};
      exchange->send(answer);
    };
  });
  if (!is_begun)
    exchange->fail(Error{ErrorCode::kLimit, "too many previews are being computed, try again"});
}

constexpr std::array kScheduleRoutes{
    Route{"POST", "/schedules:preview", preview_schedule, Right::kRead},
};

}  // namespace

std::span<const Route> schedule_routes() { return kScheduleRoutes; }

}  // namespace carillon::jobtracker::api
