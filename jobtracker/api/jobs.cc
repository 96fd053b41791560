// Lists and shows jobs.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/job_filter.h"
#include "jobtracker/api/json_rows.h"
#include "jobtracker/api/row_pages.h"
#include "jobtracker/api/task_view.h"
#include "shared/job/schedule.h"

namespace carillon::jobtracker::api {
namespace {

constexpr int kNextFires = 10;
constexpr std::int64_t kResultsLooked = 20;

void list_jobs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"group", "state", "kind", "tag",
                                                               "owner", "task_prefix", "text",
                                                               "page_size", "page_token"}));
  send_page(api, exchange, list_of_jobs(job_filter_of(exchange->parameters)));
}

// The next fires of a schedule, from the next one that the job tracker knows.
Json next_fires(const JobSpec& spec, const wire::Row& shown, WallTime now) {
  Json fires = Json::array();
  const Json next = item_of(shown).value("next_fire", Json{});
  if (!next.is_string()) return fires;
  fires.push_back(next);
  auto schedule = CompiledSchedule::compile(spec.schedule, now);
  if (!schedule.ok() || spec.schedule.kind == ScheduleKind::kFixedDelay) return fires;
  const auto first = parse_shown_time(text_in(shown, "next_fire"));
  WallTime after = first.value_or(now) + std::chrono::milliseconds{1};
  while (fires.size() < kNextFires) {
    const auto fire = schedule.value().next_fire(after);
    if (!fire) break;
    fires.push_back(time_text(*fire));
    after = *fire;
  }
  return fires;
}

// Adds the results of the last runs.
void add_results(Json& item, const std::vector<wire::Row>& history) {
  std::int64_t ended = 0;
  std::int64_t succeeded = 0;
  for (const wire::Row& row : history) {
    if (number_in(row, "attempt") == 0) continue;
    ++ended;
    if (text_in(row, "state") == "succeeded") ++succeeded;
  }
  if (ended > 0) item["success_rate"] = static_cast<double>(succeeded) / static_cast<double>(ended);
  if (!history.empty()) item["last_result"] = text_in(history.front(), "state");
}

void show_job(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  const wire::Query shown{
      .what = "show", .group = exchange->parts[0], .task_id = exchange->parts[1]};
  ask_rows(api, exchange, shown, [&api, exchange](const wire::Rows& rows) {
    if (rows.rows.empty())
      return exchange->fail(Error{ErrorCode::kNotFound, "there is no such task"});
    const wire::Row row = rows.rows.front();
    const wire::Query history{.what = "history",
                              .group = text_in(row, "group"),
                              .task_id = text_in(row, "task_id"),
                              .limit = kResultsLooked};
    ask_rows(api, exchange, history, [&api, exchange, row](const wire::Rows& past) {
      const JobSpec spec = CARILLON_TRY_CALL(exchange, spec_in(row));
      Json item = field_of(row, "schedule") != nullptr ? definition_item(row) : item_of(row);
      item["spec"] = json_of_spec(spec);
      item["next_fires"] = next_fires(spec, row, api.gateway.clock().wall_now());
      item["etag"] = etag_of(row);
      add_results(item, past.rows);
      exchange->responder.send(
          {.content_type = "application/json",
           .body = text_of(item),
           .headers = {{"ETag", etag_of(row)}, {"Cache-Control", "no-store"}}});
    });
  });
}

// The children of a task, and the tasks that it is a child of.
void list_children(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"page_size", "page_token"}));
  const wire::Query shown{
      .what = "show", .group = exchange->parts[0], .task_id = exchange->parts[1]};
  ask_rows(api, exchange, shown, [exchange](const wire::Rows& rows) {
    std::vector<Json> items;
    for (const wire::Row& row : rows.rows) {
      const JobSpec spec = CARILLON_TRY_CALL(exchange, spec_in(row));
      for (const Child& child : spec.children) {
        items.push_back(
            {{"group", child.group}, {"task_id", child.task_id}, {"direction", "child"}});
      }
    }
    send_items(exchange, std::move(items), "task_id");
  });
}

constexpr std::array kJobRoutes{
    Route{"GET", "/jobs", list_jobs, Right::kRead},
    Route{"GET", "/jobs/{}/{}", show_job, Right::kRead},
    Route{"GET", "/jobs/{}/{}/children", list_children, Right::kRead},
};

}  // namespace

std::span<const Route> job_routes() { return kJobRoutes; }

}  // namespace carillon::jobtracker::api
