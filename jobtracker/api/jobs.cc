// Lists and shows jobs.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/job_filter.h"
#include "jobtracker/api/job_results.h"
#include "jobtracker/api/json_rows.h"
#include "jobtracker/api/row_pages.h"
#include "jobtracker/api/task_view.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kParentsMax = 1000;

void list_jobs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only(
                                  {"group", "state", "kind", "tag", "owner", "task_id",
                                   "task_prefix", "text", "results", "page_size", "page_token"}));
  RowList list = list_of_jobs(job_filter_of(exchange->parameters));
  if (CARILLON_TRY_CALL(exchange, exchange->parameters.flag("results"))) {
    CARILLON_TRY_CALL(
        exchange, exchange->parameters.number("page_size", kPageSizeDefault, 1, kResultJobsMax));
    list.complete = [&api, exchange](Json items, std::function<void(Json)> send) {
      read_results(api, exchange, std::move(items), std::move(send));
    };
  }
  send_page(api, exchange, std::move(list));
}

void show_job(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  const wire::Query shown{
      .what = "show", .group = exchange->parts[0], .task_id = exchange->parts[1]};
  ask_rows(api, exchange, shown, [&api, exchange](const wire::Rows& rows) {
    if (rows.rows.empty())
      return exchange->fail(Error{ErrorCode::kNotFound, "there is no such task"});
    const wire::Row row = rows.rows.front();
    const wire::Query history = results_query(text_in(row, "group"), text_in(row, "task_id"));
    ask_rows(api, exchange, history, [&api, exchange, row](const wire::Rows& past) {
      const JobSpec spec = CARILLON_TRY_CALL(exchange, spec_in(row));
      Json item = field_of(row, "schedule") != nullptr ? definition_item(row) : item_of(row);
      item["spec"] = json_of_spec(spec);
      item["next_fires"] = next_fires(spec, row);
      item["etag"] = etag_of(row);
      add_results(item, past.rows);
      exchange->responder.send(
          {.content_type = "application/json",
           .body = text_of(item),
           .headers = {{"ETag", etag_of(row)}, {"Cache-Control", "no-store"}}});
    });
  });
}

Json relative(const std::string& group, const std::string& task_id, const char* direction) {
  return {{"group", group}, {"task_id", task_id}, {"direction", direction}};
}

// The children of a task, and the tasks that it is a child of.
void list_children(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"page_size", "page_token"}));
  const wire::Query shown{
      .what = "show", .group = exchange->parts[0], .task_id = exchange->parts[1]};
  ask_rows(api, exchange, shown, [&api, exchange](const wire::Rows& rows) {
    std::vector<Json> items;
    for (const wire::Row& row : rows.rows) {
      const JobSpec spec = CARILLON_TRY_CALL(exchange, spec_in(row));
      for (const Child& child : spec.children)
        items.push_back(relative(child.group, child.task_id, "child"));
    }
    const wire::Query parents{
        .what = "parents", .group = exchange->parts[0], .task_id = exchange->parts[1]};
    ask_all_rows(
        api, exchange, parents, kParentsMax,
        [exchange, items = std::move(items)](const std::vector<wire::Row>& found) mutable {
          for (const wire::Row& row : found) {
            items.push_back(relative(text_in(row, "group"), text_in(row, "task_id"), "parent"));
          }
          send_items(exchange, std::move(items), [](const Json& item) {
            return item["direction"].get<std::string>() + '\n' + item["group"].get<std::string>() +
                   '\n' + item["task_id"].get<std::string>();
          });
        });
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
