#include "jobtracker/api/calendar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <numeric>
#include <tuple>
#include <utility>

#include "jobtracker/api/row_pages.h"
#include "shared/base/time_text.h"
#include "shared/job/zone.h"

namespace carillon::jobtracker::api {
namespace {

constexpr Duration kSpanDefault = std::chrono::hours{24};
constexpr Duration kSpanMax = std::chrono::hours{24 * 31};
constexpr Duration kBeginMax = std::chrono::hours{24 * 366 * 10};  // from now
constexpr std::size_t kCalendarJobsMax = 1000;

std::int32_t index_of(std::vector<std::string>& names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  const auto index = static_cast<std::int32_t>(found - names.begin());
  if (found == names.end()) names.push_back(name);
  return index;
}

// Takes a number off the text, and the character after it.
bool take_count(std::string_view& text, std::int64_t& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto taken = static_cast<std::size_t>(end - text.data());
  text.remove_prefix(std::min(text.size(), taken + 1));
  return failed == std::errc{};
}

void add_zone_changes(std::vector<ClockChange>& changes, const std::string& name, WallTime from,
                      WallTime until) {
  const auto zone = Zone::load(name);
  if (!zone.ok()) return;
  // In seconds: a span may begin at a time that has no microseconds.
  const auto first = std::chrono::ceil<std::chrono::seconds>(from);
  const auto end = std::chrono::ceil<std::chrono::seconds>(until);
  auto at = std::chrono::floor<std::chrono::seconds>(from);
  while (true) {
    const ZoneSpan span = zone.value().span_at(at);
    if (span.begin >= first && span.offset != span.offset_before)
      changes.push_back({span.begin, name, (span.offset - span.offset_before).count()});
    if (span.is_last() || span.end >= end) return;
    at = span.end;
  }
}

// ---- the answer ----

Json json_of_changes(const std::vector<ClockChange>& changes) {
  Json items = Json::array();
  for (const ClockChange& change : changes) {
    const Duration amount = std::chrono::seconds{std::abs(change.change_s)};
    items.push_back({{"at", format_time(change.at)},
                     {"zone", change.zone},
                     {"change", (change.change_s > 0 ? "+" : "-") + format_duration(amount)}});
  }
  return items;
}

// As text: an object of the JSON library for each minute of each group takes ten times as much.
std::string text_of_minutes(const Calendar& calendar) {
  std::vector<std::string> names;
  for (const std::string& group : calendar.groups) names.push_back(text_of(Json(group)));
  std::string text = "[";
  std::string at;
  std::int32_t shown = -1;
  for (const Calendar::Minute& one : calendar.minutes) {
    if (one.minute != shown) at = format_time(WallTime{std::chrono::minutes{one.minute}});
    shown = one.minute;
    if (text.size() > 1) text += ',';
    text.append(R"({"at":")").append(at).append(R"(","group":)");
    text.append(names[static_cast<std::size_t>(one.group)]);
    text.append(R"(,"fires":)").append(std::to_string(one.fires)).append("}");
  }
  return text + "]";
}

std::string text_of_calendar(Calendar calendar, const CalendarQuestion& question) {
  calendar.sort();
  const Json changes =
      json_of_changes(clock_changes(calendar.zones, question.from, question.until));
  return R"({"minutes":)" + text_of_minutes(calendar) + R"(,"dst":)" + text_of(changes) +
         R"(,"is_complete":)" + (calendar.is_complete ? "true" : "false") + "}";
}

Result<CalendarQuestion> question_of(const Parameters& parameters, WallTime now) {
  CARILLON_TRY(parameters.allow_only({"from", "to", "group", "minute"}));
  CalendarQuestion question{.group = parameters.text("group")};
  const auto minute = CARILLON_TRY(parameters.time("minute"));
  if (minute) {
    question.from = std::chrono::floor<std::chrono::minutes>(std::min(*minute, now + kBeginMax));
    question.until = question.from + std::chrono::minutes{1};
    question.lists_jobs = true;
    return question;
  }
  question.from = CARILLON_TRY(parameters.time("from")).value_or(now);
  question.until = CARILLON_TRY(parameters.time("to")).value_or(question.from + kSpanDefault);
  if (question.from > now + kBeginMax) {
    return Error{ErrorCode::kInvalidArgument,
                 "from is " + format_time(question.from) + ", must be in the next ten years"};
  }
  const bool is_span = question.until > question.from && question.until - question.from <= kSpanMax;
  if (is_span) return question;
  return Error{ErrorCode::kInvalidArgument,
               "to is " + format_time(question.until) +
                   ", must be later than from, and at most 31 days later"};
}

wire::Query query_of(const CalendarQuestion& question, const char* what) {
  return {.what = what,
          .group = question.group,
          .since_us = question.from.time_since_epoch().count(),
          .until_us = question.until.time_since_epoch().count()};
}

void send_jobs(Api& api, const ExchangePtr& exchange, const CalendarQuestion& question) {
  ask_all_rows(api, exchange, query_of(question, "fires"), kCalendarJobsMax + 1,
               [exchange](const std::vector<wire::Row>& fires) {
                 Json answer{{"jobs", Json::array()},
                             {"dst", Json::array()},
                             {"is_complete", fires.size() <= kCalendarJobsMax}};
                 for (const wire::Row& fire : fires) {
                   if (answer["jobs"].size() == kCalendarJobsMax) break;
                   answer["jobs"].push_back(item_of(fire));
                 }
                 exchange->send(answer);
               });
}

void show_calendar(Api& api, const ExchangePtr& exchange) {
  const CalendarQuestion question = CARILLON_TRY_CALL(
      exchange, question_of(exchange->parameters, api.gateway.clock().wall_now()));
  if (question.lists_jobs) return send_jobs(api, exchange, question);
  ask_calendar(api, exchange, question, [&api, exchange, question](Calendar calendar) {
    const auto found = std::make_shared<Calendar>(std::move(calendar));
    const bool is_begun = api.gateway.run_aside([exchange, question, found] {
      auto text = std::make_shared<std::string>(text_of_calendar(std::move(*found), question));
      return [exchange, text] {
        exchange->responder.send({.content_type = "application/json",
                                  .body = std::move(*text),
                                  .headers = {{"Cache-Control", "no-store"}}});
      };
    });
    if (!is_begun)
      exchange->fail(Error{ErrorCode::kLimit, "too many calendars are being computed, try again"});
  });
}

struct CalendarWork {
  Calendar calendar{};
  std::int64_t fires = 0;
  std::function<void(Calendar)> then{};
};

void collect_calendar(Api& api, const ExchangePtr& exchange, const wire::Query& query,
                      const std::shared_ptr<CalendarWork>& work) {
  ask_rows(api, exchange, query, [&api, exchange, query, work](const wire::Rows& rows) {
    for (const wire::Row& row : rows.rows) work->fires += work->calendar.add(row);
    const bool is_full = work->fires >= kCalendarFiresMax;
    work->calendar.is_complete = rows.next.empty() || !is_full;
    if (rows.next.empty() || is_full) return work->then(std::move(work->calendar));
    wire::Query next = query;
    next.after = rows.next;
    collect_calendar(api, exchange, next, work);
  });
}

constexpr std::array kCalendarRoutes{
    Route{"GET", "/calendar", show_calendar, Right::kRead},
};

}  // namespace

std::int64_t Calendar::add(const wire::Row& row) {
  const std::int32_t group = index_of(groups, text_in(row, "group"));
  const std::string counts = text_in(row, "minutes");
  std::int64_t added = 0;
  for (std::string_view rest = counts; !rest.empty();) {
    std::int64_t minute = 0;
    std::int64_t fires = 0;
    if (!take_count(rest, minute) || !take_count(rest, fires)) break;
    minutes.push_back(
        {.minute = static_cast<std::int32_t>(minute), .group = group, .fires = fires});
    added += fires;
  }
  const std::string names = text_in(row, "zones");
  for (std::size_t at = 0; at < names.size();) {
    const std::size_t end = std::min(names.find(',', at), names.size());
    if (end > at) (void)index_of(zones, names.substr(at, end - at));  // It is in it now.
    at = end + 1;
  }
  return added;
}

void Calendar::sort() {
  std::sort(zones.begin(), zones.end());
  std::vector<std::int32_t> order(groups.size());  // by name
  std::iota(order.begin(), order.end(), 0);
  const auto name = [this](std::int32_t group) -> const std::string& {
    return groups[static_cast<std::size_t>(group)];
  };
  std::sort(order.begin(), order.end(),
            [&](std::int32_t one, std::int32_t other) { return name(one) < name(other); });
  std::vector<std::int32_t> rank(groups.size());
  for (std::size_t i = 0; i < order.size(); ++i)
    rank[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i);
  const auto key = [&](const Minute& one) {
    return std::pair{one.minute, rank[static_cast<std::size_t>(one.group)]};
  };
  std::sort(minutes.begin(), minutes.end(),
            [&](const Minute& one, const Minute& other) { return key(one) < key(other); });
  std::size_t kept = 0;
  for (const Minute& one : minutes) {
    const bool is_same = kept > 0 && key(minutes[kept - 1]) == key(one);
    is_same ? (void)(minutes[kept - 1].fires += one.fires) : (void)(minutes[kept++] = one);
  }
  minutes.resize(kept);
}

void ask_calendar(Api& api, const ExchangePtr& exchange, const CalendarQuestion& question,
                  std::function<void(Calendar)> then) {
  collect_calendar(api, exchange, query_of(question, "calendar"),
                   std::make_shared<CalendarWork>(CalendarWork{.then = std::move(then)}));
}

std::vector<ClockChange> clock_changes(const std::vector<std::string>& zones, WallTime from,
                                       WallTime until) {
  std::vector<ClockChange> changes;
  for (const std::string& name : zones) add_zone_changes(changes, name, from, until);
  return changes;
}

std::span<const Route> calendar_routes() { return kCalendarRoutes; }

}  // namespace carillon::jobtracker::api
