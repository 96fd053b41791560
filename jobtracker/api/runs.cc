// Lists, shows and controls runs.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/row_pages.h"
#include "jobtracker/api/run_filter.h"
#include "jobtracker/api/submission.h"
#include "jobtracker/api/task_view.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kAttemptsMax = 1000;

void list_runs(Api& api, const ExchangePtr& exchange, const std::string& list) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only(
                                  {"group", "task_id", "task_prefix", "state", "since", "until",
                                   "job_id", "node", "text", "page_size", "page_token"}));
  const RunFilter filter = CARILLON_TRY_CALL(exchange, run_filter_of(list, exchange->parameters));
  send_page(api, exchange, list_of_runs(filter));
}

void list_all_runs(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(
      exchange, parameters.allow_only({"group", "task_id", "task_prefix", "state", "since", "until",
                                       "job_id", "node", "text", "page_size", "page_token"}));
  RowList all;
  std::vector<RowList> lists;
  for (const char* const name : {"executing", "waiting", "history"}) {
    const auto filter = CARILLON_TRY_CALL(exchange, filter_of_any_run(name, parameters));
    if (!filter) continue;
    RowList list = list_of_runs(*filter);
    all.queries.push_back(list.queries.front());
    lists.push_back(std::move(list));
  }
  all.matches = [lists](const wire::Row& row, int phase) {
    const auto& matches = lists[static_cast<std::size_t>(phase)].matches;
    return !matches || matches(row, phase);
  };
  all.item = [](const wire::Row& row, int) {
    Json item = item_of(row);
    if (!item.contains("state")) item["state"] = "executing";
    return item;
  };
  send_page(api, exchange, std::move(all));
}

void list_waiting(Api& api, const ExchangePtr& exchange) { list_runs(api, exchange, "waiting"); }
void list_executing(Api& api, const ExchangePtr& exchange) {
  list_runs(api, exchange, "executing");
}
void list_history(Api& api, const ExchangePtr& exchange) { list_runs(api, exchange, "history"); }

// The spec of a run that has not ended, if the principal may see it; then the answer is sent.
void add_spec(Api& api, const ExchangePtr& exchange, Json item) {
  wire::Query query{.what = "show",
                    .group = item.value("group", std::string{}),
                    .task_id = item.value("task_id", std::string{})};
  ask(api, exchange, std::move(query),
      [exchange, item = std::move(item)](const Result<wire::Message>& answer) mutable {
        const auto* rows = answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
        const bool is_known = rows != nullptr && !rows->rows.empty();
        if (is_known) {
          const auto spec = spec_in(rows->rows.front());
          if (spec.ok()) item["spec"] = json_of_spec(spec.value());
        }
        exchange->send(item);
      });
}

void show_run(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  const JobId id = CARILLON_TRY_CALL(exchange, job_id_of(exchange->parts[0]));
  ask_rows(
      api, exchange, {.what = "job", .job_id = id}, [&api, exchange, id](const wire::Rows& rows) {
        if (rows.rows.empty())
          return exchange->fail(Error{ErrorCode::kNotFound, "there is no such run"});
        const wire::Row& row = rows.rows.front();
        Json item{{"job_id", std::to_string(id.value)},
                  {"task_id", text_in(row, "task_id")},
                  {"group", text_in(row, "group")},
                  {"kind", field_of(row, "kind") == nullptr ? Json{} : Json(text_in(row, "kind"))},
                  {"state", text_in(row, "state")},
                  {"attempt", number_in(row, "attempt")},
                  {"done", flag_in(row, "done")}};
        const wire::Query history{.what = "history", .group = text_in(row, "group"), .job_id = id};
        ask_all_rows(api, exchange, history, kAttemptsMax,
                     [&api, exchange, item = std::move(item)](std::vector<wire::Row> past) mutable {
                       std::reverse(past.begin(), past.end());
                       item["attempts"] = Json::array();
                       for (const wire::Row& one : past) item["attempts"].push_back(item_of(one));
                       item["spec"] = nullptr;
                       add_spec(api, exchange, std::move(item));
                     });
      });
}

void act_on_run(Api& api, const ExchangePtr& exchange, wire::Verb verb) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  CARILLON_TRY_CALL(exchange, body.finish());
  const JobId id = CARILLON_TRY_CALL(exchange, job_id_of(exchange->parts[0]));
  change(api, exchange, {.verb = verb, .job_id = id});
}

void kill_run(Api& api, const ExchangePtr& exchange) {
  act_on_run(api, exchange, wire::Verb::kKill);
}
void cancel_run(Api& api, const ExchangePtr& exchange) {
  act_on_run(api, exchange, wire::Verb::kCancel);
}
void suspend_run(Api& api, const ExchangePtr& exchange) {
  act_on_run(api, exchange, wire::Verb::kSuspend);
}
void resume_run(Api& api, const ExchangePtr& exchange) {
  act_on_run(api, exchange, wire::Verb::kResume);
}

void set_priority(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  const auto priority = CARILLON_TRY_CALL(exchange, body.number("priority", -1, 0, kPriorityMax));
  CARILLON_TRY_CALL(exchange, body.finish());
  if (priority < 0)
    return exchange->fail(
        Error{ErrorCode::kInvalidArgument, "priority is empty or missing, it is required"});
  const JobId id = CARILLON_TRY_CALL(exchange, job_id_of(exchange->parts[0]));
  change(api, exchange,
         {.verb = wire::Verb::kSetPriority,
          .job_id = id,
          .priority = static_cast<std::int32_t>(priority)});
}

// Asks for the task of a run, and triggers it.
void trigger_task_of(Api& api, const ExchangePtr& exchange, std::optional<std::string> payload) {
  const JobId id = CARILLON_TRY_CALL(exchange, job_id_of(exchange->parts[0]));
  ask_rows(api, exchange, {.what = "job", .job_id = id},
           [&api, exchange, payload = std::move(payload)](const wire::Rows& rows) mutable {
             if (rows.rows.empty())
               return exchange->fail(Error{ErrorCode::kNotFound, "there is no such run"});
             const wire::Row& row = rows.rows.front();
             change(api, exchange,
                    {.verb = wire::Verb::kTrigger,
                     .group = text_in(row, "group"),
                     .task_id = text_in(row, "task_id"),
                     .payload = std::move(payload)});
           });
}

// A waiting run, at once.
void trigger_run(Api& api, const ExchangePtr& exchange) {
  act_on_run(api, exchange, wire::Verb::kTrigger);
}

void retry_run(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  auto payload = CARILLON_TRY_CALL(exchange, body.optional_text("payload"));
  CARILLON_TRY_CALL(exchange, body.finish());
  trigger_task_of(api, exchange, std::move(payload));
}

constexpr std::array kRunRoutes{
    Route{"GET", "/runs", list_all_runs, Right::kRead},
    Route{"GET", "/runs/waiting", list_waiting, Right::kRead},
    Route{"GET", "/runs/executing", list_executing, Right::kRead},
    Route{"GET", "/runs/history", list_history, Right::kRead},
    Route{"GET", "/runs/{}", show_run, Right::kRead},
    Route{"POST", "/runs/{}:kill", kill_run, Right::kOperate},
    Route{"POST", "/runs/{}:cancel", cancel_run, Right::kEdit},
    Route{"POST", "/runs/{}:suspend", suspend_run, Right::kOperate},
    Route{"POST", "/runs/{}:resume", resume_run, Right::kOperate},
    Route{"POST", "/runs/{}:priority", set_priority, Right::kOperate},
    Route{"POST", "/runs/{}:trigger", trigger_run, Right::kOperate},
    Route{"POST", "/runs/{}:retry", retry_run, Right::kOperate},
};

}  // namespace

std::span<const Route> run_routes() { return kRunRoutes; }

}  // namespace carillon::jobtracker::api
