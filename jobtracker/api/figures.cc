// Counters, figures over time, and the overview.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/calendar.h"
#include "jobtracker/api/row_pages.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kFiguresRowsMax = 100'000;
constexpr std::size_t kOverviewGroupsMax = 5'000;
constexpr std::int64_t kLastFailures = 10;

void show_stats(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  ask_rows(api, exchange, {.what = "stats"}, [exchange](const wire::Rows& rows) {
    Json counters = Json::object();
    for (const wire::Row& row : rows.rows) counters.update(item_of(row));
    exchange->send(counters);
  });
}

// Figures of one minute of all node groups.
struct MinuteFigures {
  std::int64_t submitted = 0;
  std::int64_t started = 0;
  std::int64_t ended = 0;
  std::int64_t failed = 0;
  std::int64_t backlog = 0;
  std::int64_t workers = 0;
  std::int64_t threads = 0;
  // Quantiles cannot be combined: the largest is shown.
  std::int64_t p50 = 0;
  std::int64_t p95 = 0;
  std::int64_t p99 = 0;

  void add(const wire::Row& row) {
    submitted += number_in(row, "submitted");
    started += number_in(row, "started");
    ended += number_in(row, "ended");
    failed += number_in(row, "failed");
    backlog += number_in(row, "backlog");
    workers += number_in(row, "workers");
    threads += number_in(row, "threads");
    p50 = std::max(p50, number_in(row, "lateness_p50_ms"));
    p95 = std::max(p95, number_in(row, "lateness_p95_ms"));
    p99 = std::max(p99, number_in(row, "lateness_p99_ms"));
  }
  // A later minute of the same point.
  void merge(const MinuteFigures& later) {
    submitted += later.submitted;
    started += later.started;
    ended += later.ended;
    failed += later.failed;
    backlog = later.backlog;
    workers = later.workers;
    threads = later.threads;
    p50 = std::max(p50, later.p50);
    p95 = std::max(p95, later.p95);
    p99 = std::max(p99, later.p99);
  }
};
using Minutes = std::map<WallTime, MinuteFigures>;

// Asks for the figures since a time. Without any, if the job tracker keeps none.
void ask_figures(Api& api, const ExchangePtr& exchange, wire::Query query,
                 const std::shared_ptr<Minutes>& minutes, std::size_t rows_before,
                 std::function<void(const Minutes&)> then) {
  ask(api, exchange, query,
      [&api, exchange, query, minutes, rows_before, then](Result<wire::Message> answer) mutable {
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        if (rows == nullptr) {
          const bool is_unknown = answer.ok() || answer.error().code == ErrorCode::kInvalidArgument;
          return is_unknown ? then(*minutes) : exchange->fail(answer.error());
        }
        for (const wire::Row& row : rows->rows) {
          const auto at = parse_time(text_in(row, "at"));
          if (at.ok()) (*minutes)[at.value()].add(row);
        }
        rows_before += rows->rows.size();
        if (rows->next.empty() || rows_before >= kFiguresRowsMax) return then(*minutes);
        query.after = rows->next;
        ask_figures(api, exchange, std::move(query), minutes, rows_before, std::move(then));
      });
}

Json point_of(WallTime at, const MinuteFigures& one) {
  return {{"at", format_time(at)},      {"submitted", one.submitted}, {"started", one.started},
          {"ended", one.ended},         {"failed", one.failed},       {"lateness_p50_ms", one.p50},
          {"lateness_p95_ms", one.p95}, {"lateness_p99_ms", one.p99}, {"backlog", one.backlog},
          {"workers", one.workers},     {"threads", one.threads}};
}

struct FiguresRange {
  std::string_view name;
  Duration span;
  Duration step;  // of the points
};
constexpr std::array kRanges{FiguresRange{"15m", std::chrono::minutes{15}, std::chrono::minutes{1}},
                             FiguresRange{"1h", std::chrono::hours{1}, std::chrono::minutes{1}},
                             FiguresRange{"24h", std::chrono::hours{24}, std::chrono::minutes{15}},
                             FiguresRange{"7d", std::chrono::hours{24 * 7}, std::chrono::hours{2}}};

void show_figures(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(exchange, parameters.allow_only({"range", "group"}));
  const std::string name = parameters.has("range") ? parameters.text("range") : "15m";
  const auto* const range = std::find_if(kRanges.begin(), kRanges.end(),
                                         [&](const FiguresRange& one) { return one.name == name; });
  if (range == kRanges.end()) {
    return exchange->fail(
        Error{ErrorCode::kInvalidArgument, "range is '" + name + "', must be 15m, 1h, 24h or 7d"});
  }
  const WallTime since = api.gateway.clock().wall_now() - range->span;
  ask_figures(api, exchange,
              {.what = "figures",
               .group = parameters.text("group"),
               .since_us = since.time_since_epoch().count(),
               .step_us = range->step.count()},
              std::make_shared<Minutes>(), 0, [exchange, step = range->step](const Minutes& all) {
                Minutes points;
                for (const auto& [at, one] : all) {
                  const WallTime begin{at.time_since_epoch() - at.time_since_epoch() % step};
                  points[begin].merge(one);
                }
                Json body{{"points", Json::array()}};
                for (const auto& [at, one] : points) body["points"].push_back(point_of(at, one));
                exchange->send(body);
              });
}

// ---- the overview ----

void add_current_figures(Json& overview, const Minutes& minutes) {
  overview["jobs_per_second"] = 0.0;
  overview["lateness"] = {{"p50_ms", nullptr}, {"p95_ms", nullptr}, {"p99_ms", nullptr}};
  overview["failures_1h"] = 0;
  if (minutes.empty()) return;
  std::int64_t failed = 0;
  for (const auto& [at, one] : minutes) failed += one.failed;
  const MinuteFigures& last = minutes.rbegin()->second;
  constexpr double kSeconds = 60;
  overview["jobs_per_second"] = static_cast<double>(last.ended) / kSeconds;
  overview["lateness"] = {{"p50_ms", last.p50}, {"p95_ms", last.p95}, {"p99_ms", last.p99}};
  overview["failures_1h"] = failed;
}

void add_nodes(Json& overview, const std::vector<wire::Row>& nodes) {
  std::int64_t workers = 0;
  std::int64_t threads = 0;
  std::int64_t free = 0;
  for (const wire::Row& node : nodes) {
    if (text_in(node, "state") == "gone" || text_in(node, "kind") != "tasktracker") continue;
    ++workers;
    threads += number_in(node, "threads");
    free += number_in(node, "free");
  }
  overview["workers"] = workers;
  overview["threads"] = threads;
  overview["free"] = free;
}

void add_next_hour(Json& overview, const Calendar& calendar) {
  std::map<WallTime, std::int64_t> fires;
  for (const Calendar::Minute& one : calendar.minutes)
    fires[WallTime{std::chrono::minutes{one.minute}}] += one.fires;
  overview["next_hour"] = Json::array();
  for (const auto& [at, count] : fires)
    overview["next_hour"].push_back({{"at", format_time(at)}, {"fires", count}});
}

// One question after the other.
void send_overview(Api& api, const ExchangePtr& exchange, const std::shared_ptr<Json>& overview) {
  const WallTime now = api.gateway.clock().wall_now();
  const wire::Query failures{.what = "history",
                             .since_us = (now - std::chrono::hours{24}).time_since_epoch().count(),
                             .limit = kLastFailures,
                             .states = {"failed", "timed_out", "lost", "killed"}};
  ask_rows(api, exchange, failures, [&api, exchange, overview, now](const wire::Rows& failed) {
    (*overview)["last_failures"] = Json::array();
    for (const wire::Row& row : failed.rows) (*overview)["last_failures"].push_back(item_of(row));
    ask_calendar(api, exchange, {.from = now, .until = now + std::chrono::hours{1}},
                 [exchange, overview](const Calendar& calendar) {
                   add_next_hour(*overview, calendar);
                   exchange->send(*overview);
                 });
  });
}

void show_overview(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  const auto overview = std::make_shared<Json>(Json::object());
  const WallTime since = api.gateway.clock().wall_now() - std::chrono::hours{1};
  ask_figures(
      api, exchange,
      {.what = "figures",
       .since_us = since.time_since_epoch().count(),
       .step_us = Duration{std::chrono::minutes{1}}.count()},
      std::make_shared<Minutes>(), 0, [&api, exchange, overview](const Minutes& minutes) {
        add_current_figures(*overview, minutes);
        ask_all_rows(
            api, exchange, {.what = "groups"}, kOverviewGroupsMax,
            [&api, exchange, overview](const std::vector<wire::Row>& groups) {
              (*overview)["backlog"] = Json::array();
              for (const wire::Row& group : groups) {
                const Json item = item_of(group);
                (*overview)["backlog"].push_back(
                    {{"group", item["group"]}, {"due", item["due"]}, {"waiting", item["waiting"]}});
              }
              ask_all_rows(api, exchange, {.what = "nodes"}, kOverviewGroupsMax,
                           [&api, exchange, overview](const std::vector<wire::Row>& nodes) {
                             add_nodes(*overview, nodes);
                             send_overview(api, exchange, overview);
                           });
            });
      });
}

constexpr std::array kFigureRoutes{
    Route{"GET", "/stats", show_stats, Right::kRead},
    Route{"GET", "/figures", show_figures, Right::kRead},
    Route{"GET", "/overview", show_overview, Right::kRead},
};

}  // namespace

std::span<const Route> figure_routes() { return kFigureRoutes; }

}  // namespace carillon::jobtracker::api
