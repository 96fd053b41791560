#include "jobtracker/api/calendar.h"

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "jobtracker/api/api.h"
#include "jobtracker/api/row_pages.h"
#include "shared/base/time_text.h"
#include "shared/job/schedule.h"
#include "shared/job/zone.h"
#include "shared/wire/spec_words.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kDefinitionsMax = 200'000;
constexpr Duration kSpanDefault = std::chrono::hours{24};
constexpr Duration kSpanMax = std::chrono::hours{24 * 31};

// The schedule in a row; none: it does not fire by itself, or not more than once.
std::optional<Schedule> schedule_in(const wire::Row& row, WallTime next) {
  const std::string kind = text_in(row, "kind");
  Schedule schedule;
  if (kind == "cron") {
    schedule.kind = ScheduleKind::kCron;
    schedule.cron = text_in(row, "schedule");
    schedule.tz = text_in(row, "tz");
    for (const auto& [word, rule] : wire::kDstWords) {
      if (word == text_in(row, "dst")) schedule.dst = rule;
    }
    return schedule;
  }
  if (kind != "every") return std::nullopt;
  const std::string text = text_in(row, "schedule");
  const auto interval = parse_duration(text.substr(0, text.find(' ')));
  if (!interval.ok()) return std::nullopt;
  schedule.kind = ScheduleKind::kEvery;
  schedule.interval = interval.value();
  schedule.first = next;
  return schedule;
}

class CalendarBuilder {
 public:
  explicit CalendarBuilder(const CalendarQuestion& question) : question_(question) {}

  void add(const wire::Row& row) {
    if (text_in(row, "state") != "active") return;
    const auto next = parse_time(text_in(row, "next_fire"));
    if (!next.ok()) return;
    auto schedule = schedule_in(row, next.value());
    auto compiled = schedule ? CompiledSchedule::compile(*schedule, next.value())
                             : Result<CompiledSchedule>{Error{}};
    if (schedule && !schedule->tz.empty()) zones_.insert(schedule->tz);
    const WallTime first = std::max(next.value(), question_.from);
    if (!schedule || !compiled.ok()) {
      if (first == next.value() && first < question_.until) add_fire(row, first);
      return;
    }
    auto fire = compiled.value().next_fire(first - Duration{1});
    while (fire && *fire < question_.until && has_room()) {
      add_fire(row, *fire);
      fire = compiled.value().next_fire(*fire);
    }
  }

  Calendar take() {
    for (const std::string& name : zones_) add_changes(name);
    return std::move(calendar_);
  }

 private:
  bool has_room() {
    const bool is_full = question_.lists_jobs ? calendar_.fires.size() >= kCalendarJobsMax
                                              : counted_ >= kCalendarFiresMax;
    if (is_full) calendar_.is_complete = false;
    return !is_full;
  }

  void add_fire(const wire::Row& row, WallTime fire) {
    ++counted_;
    if (question_.lists_jobs) {
      calendar_.fires.push_back({fire, text_in(row, "group"), text_in(row, "task_id")});
    } else {
      const WallTime minute = std::chrono::floor<std::chrono::minutes>(fire);
      ++calendar_.minutes[{minute, text_in(row, "group")}];
    }
  }

  void add_changes(const std::string& name) {
    const auto zone = Zone::load(name);
    if (!zone.ok()) return;
    // In seconds: a span may begin at a time that has no microseconds.
    const auto from = std::chrono::ceil<std::chrono::seconds>(question_.from);
    const auto until = std::chrono::ceil<std::chrono::seconds>(question_.until);
    auto at = std::chrono::floor<std::chrono::seconds>(question_.from);
    while (true) {
      const ZoneSpan span = zone.value().span_at(at);
      if (span.begin >= from && span.offset != span.offset_before) {
        calendar_.changes.push_back({span.begin, name, (span.offset - span.offset_before).count()});
      }
      if (span.is_last() || span.end >= until) return;
      at = span.end;
    }
  }

  const CalendarQuestion question_;
  Calendar calendar_{};
  std::int64_t counted_ = 0;
  std::set<std::string> zones_;
};

Json json_of_calendar(const Calendar& calendar, const CalendarQuestion& question) {
  Json answer = Json::object();
  if (question.lists_jobs) {
    answer["jobs"] = Json::array();
    for (const Calendar::Fire& fire : calendar.fires) {
      answer["jobs"].push_back(
          {{"at", format_time(fire.at)}, {"group", fire.group}, {"task_id", fire.task_id}});
    }
  } else {
    answer["minutes"] = Json::array();
    for (const auto& [minute, fires] : calendar.minutes) {
      answer["minutes"].push_back(
          {{"at", format_time(minute.first)}, {"group", minute.second}, {"fires", fires}});
    }
  }
  answer["dst"] = Json::array();
  for (const Calendar::ClockChange& change : calendar.changes) {
    const Duration amount = std::chrono::seconds{std::abs(change.change_s)};
    answer["dst"].push_back(
        {{"at", format_time(change.at)},
         {"zone", change.zone},
         {"change", (change.change_s > 0 ? "+" : "-") + format_duration(amount)}});
  }
  answer["is_complete"] = calendar.is_complete;
  return answer;
}

Result<CalendarQuestion> question_of(const Parameters& parameters, WallTime now) {
  CARILLON_TRY(parameters.allow_only({"from", "to", "group", "minute"}));
  const auto minute = CARILLON_TRY(parameters.time("minute"));
  if (minute) {
    const WallTime begin = std::chrono::floor<std::chrono::minutes>(*minute);
    return CalendarQuestion{begin, begin + std::chrono::minutes{1}, true};
  }
  CalendarQuestion question;
  question.from = CARILLON_TRY(parameters.time("from")).value_or(now);
  question.until = CARILLON_TRY(parameters.time("to")).value_or(question.from + kSpanDefault);
  const bool is_span = question.until > question.from && question.until - question.from <= kSpanMax;
  if (is_span) return question;
  return Error{ErrorCode::kInvalidArgument,
               "to is " + format_time(question.until) +
                   ", must be later than from, and at most 31 days later"};
}

void show_calendar(Api& api, const ExchangePtr& exchange) {
  const CalendarQuestion question = CARILLON_TRY_CALL(
      exchange, question_of(exchange->parameters, api.gateway.clock().wall_now()));
  const wire::Query list{.what = "list", .group = exchange->parameters.text("group")};
  ask_all_rows(api, exchange, list, kDefinitionsMax,
               [&api, exchange, question](std::vector<wire::Row> definitions) {
                 const auto rows =
                     std::make_shared<const std::vector<wire::Row>>(std::move(definitions));
                 const bool is_begun = api.gateway.run_aside([exchange, question, rows] {
                   const Json answer = json_of_calendar(calendar_of(*rows, question), question);
                   return [exchange, answer] { exchange->send(answer); };
                 });
                 if (!is_begun) {
                   exchange->fail(Error{ErrorCode::kLimit,
                                        "too many calendars are being computed, try again"});
                 }
               });
}

constexpr std::array kCalendarRoutes{
    Route{"GET", "/calendar", show_calendar, Right::kRead},
};

}  // namespace

Calendar calendar_of(const std::vector<wire::Row>& definitions, const CalendarQuestion& question) {
  CalendarBuilder builder(question);
  for (const wire::Row& row : definitions) builder.add(row);
  return builder.take();
}

std::span<const Route> calendar_routes() { return kCalendarRoutes; }

}  // namespace carillon::jobtracker::api
