// The preview of a schedule.
#include <array>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/json_rows.h"
#include "shared/base/time_text.h"
#include "shared/job/cron.h"
#include "shared/job/cron_note.h"
#include "shared/job/cron_words.h"
#include "shared/job/local_time.h"
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
      return "at " + format_time(schedule.at);
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
  const bool is_cron = preview.schedule.kind == ScheduleKind::kCron && cron.ok();
  while (fire && static_cast<std::int64_t>(fires.size()) < preview.count) {
    fires.push_back(
        {{"utc", format_time(*fire)},
         {"local", local_text(*fire, zone)},
         {"note", is_cron ? dst_note(*fire, zone, cron.value()) : std::string{}},
         {"dst", dst_mark(*fire, preview.schedule, zone, cron.ok() ? &cron.value() : nullptr)}});
    fire = compiled.next_fire(*fire);
  }
  return fires;
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

Result<Duration> interval_in(const std::string& name, const std::string& text) {
  const auto parsed = parse_duration(text);
  if (!parsed.ok()) return parsed.error().with_context(name);
  return parsed.value();
}

// Reads the fields of a job that are about its schedule.
Result<Schedule> read_schedule(Body& body, const std::string& zone) {
  Schedule schedule;
  schedule.cron = CARILLON_TRY(body.text("cron"));
  const std::string every = CARILLON_TRY(body.text("every"));
  const std::string delay = CARILLON_TRY(body.text("fixed_delay"));
  const auto at = CARILLON_TRY(body.time("at"));
  schedule.tz = CARILLON_TRY(body.text("tz"));
  const std::string dst = CARILLON_TRY(body.text("dst"));
  schedule.first = CARILLON_TRY(body.time("first"));
  const int given = !schedule.cron.empty() + !every.empty() + !delay.empty() + at.has_value();
  if (given != 1) {
    return Error{ErrorCode::kInvalidArgument,
                 std::to_string(given) +
                     " of cron, every, fixed_delay and at are given, must be one of them"};
  }
  if (!dst.empty()) schedule.dst = CARILLON_TRY(dst_rule_named(dst));
  if (at) {
    schedule.kind = ScheduleKind::kAt;
    schedule.at = *at;
  } else if (!every.empty()) {
    schedule.kind = ScheduleKind::kEvery;
    schedule.interval = CARILLON_TRY(interval_in("every", every));
  } else if (!delay.empty()) {
    schedule.kind = ScheduleKind::kFixedDelay;
    schedule.interval = CARILLON_TRY(interval_in("fixed_delay", delay));
  } else {
    schedule.kind = ScheduleKind::kCron;
    if (schedule.tz.empty()) schedule.tz = zone;
  }
  return schedule;
}

void preview_schedule(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  SchedulePreview preview;
  preview.count = CARILLON_TRY_CALL(exchange, body.number("n", 10, 1, kFiresShownMax));
  const auto from = CARILLON_TRY_CALL(exchange, body.time("from"));
  preview.from = from.value_or(api.gateway.clock().wall_now());
  const bool is_draft = CARILLON_TRY_CALL(exchange, body.flag("draft"));
  auto schedule = read_schedule(body, api.facts.zone);
  CARILLON_TRY_CALL(exchange, body.finish());
  const auto send_error = [exchange, is_draft](const Error& error) {
    if (!is_draft) return exchange->fail(error);
    exchange->send({{"words", ""}, {"fires", Json::array()}, {"error", error.message}});
  };
  if (!schedule.ok()) return send_error(schedule.error());
  preview.schedule = std::move(schedule).value();
  const bool is_begun = api.gateway.run_aside([exchange, preview, send_error] {
    const auto fires = fires_of_preview(preview);
    return [exchange, preview, fires, send_error] {
      if (!fires.ok()) return send_error(fires.error());
      exchange->send({{"words", sentence(schedule_words(preview.schedule))},
                      {"fires", fires.value()},
                      {"error", nullptr}});
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
