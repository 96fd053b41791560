// Bulk actions on jobs and runs.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/job_filter.h"
#include "jobtracker/api/operations.h"
#include "jobtracker/api/run_filter.h"
#include "jobtracker/api/submission.h"
#include "jobtracker/api/task_view.h"

namespace carillon::jobtracker::api {
namespace {

// Of a name in an item, longer than that of any group or task.
constexpr std::size_t kNameBytesMax = 1024;
constexpr std::size_t kItemsMax = 1000;

using OnDone = std::function<void(Status)>;
using Target = Operation::Target;

// ---- acts ----

constexpr std::array<std::pair<std::string_view, wire::Verb>, 5> kVerbs{{
    {"suspend", wire::Verb::kSuspend},
    {"resume", wire::Verb::kResume},
    {"trigger", wire::Verb::kTrigger},
    {"kill", wire::Verb::kKill},
    {"cancel", wire::Verb::kCancel},
}};

wire::Verb verb_of(const std::string& action) {
  return std::find_if(kVerbs.begin(), kVerbs.end(),
                      [&](const auto& one) { return one.first == action; })
      ->second;
}

// The action in the path of the call: "suspend" of "/jobs:suspend".
std::string action_of(const Exchange& exchange) {
  const std::string path{exchange.path()};
  return path.substr(path.rfind(':') + 1);
}

// `fingerprint`: of the act; 0: it has none.
Status status_of(const Result<wire::Message>& answer, std::int64_t fingerprint) {
  if (!answer.ok()) return answer.error();
  const auto* acted = std::get_if<wire::Acted>(&answer.value());
  const bool is_other = fingerprint != 0 && acted != nullptr && acted->fingerprint != fingerprint;
  if (is_other) return Error{ErrorCode::kConflict, used_before().detail};
  return {};
}

// Numbered by the key of the operation, if it has one, so that a repetition does nothing twice.
void send_act(Api& api, const Operation& operation, wire::Act act, OnDone done) {
  if (operation.key) {
    const std::string part =
        act.group + '\n' + act.task_id + '\n' + std::to_string(act.job_id.value);
    const CallKey key = part_of_key(*operation.key, part);
    act.request = key.number;
    act.fingerprint = key.fingerprint;
  }
  const std::int64_t fingerprint = act.fingerprint;
  api.gateway.ask(on_behalf_of(operation.principal, operation.head.peer), std::move(act),
                  [done = std::move(done), fingerprint](const Result<wire::Message>& answer) {
                    done(status_of(answer, fingerprint));
                  });
}

// ---- starting ----

void send_operation(const ExchangePtr& exchange, const Operation& operation) {
  exchange->send(operation.to_json(), operation.is_over ? 200 : 202);
}

// The same call again gets the same operation. True: it was answered.
bool is_repetition(Api& api, const ExchangePtr& exchange, const std::optional<CallKey>& key) {
  if (!key) return false;
  if (!api.keys.note(*key)) {
    exchange->fail(used_before());
    return true;
  }
  const auto operation = api.operations.with_key(*key);
  if (operation) send_operation(exchange, *operation);
  return operation != nullptr;
}

// With items the call is answered when all are done, with a filter at once.
void start_operation(Api& api, const ExchangePtr& exchange, Operation operation) {
  operation.principal = exchange->principal;
  operation.head = head_of(exchange->call);
  const bool has_items = operation.source.queries.empty();
  if (has_items) {
    operation.on_over = [exchange](const Operation& over) { send_operation(exchange, over); };
  }
  const auto started = api.operations.start(std::move(operation));
  if (!started.ok()) return exchange->fail(started.error());
  if (!has_items) send_operation(exchange, *started.value());
}

// The object `filter` of a body as the parameters of a list.
Result<Parameters> filter_in(Body& body, std::initializer_list<std::string_view> names) {
  std::string query;
  const Json* const filter = body.value("filter");
  if (filter != nullptr && !filter->is_object())
    return Error{ErrorCode::kInvalidArgument, "filter must be an object"};
  if (filter != nullptr) {
    for (const auto& [name, value] : filter->items()) {
      if (!value.is_string())
        return Error{ErrorCode::kInvalidArgument, "filter." + name + " must be text"};
      query += (query.empty() ? "" : "&") + percent_encoded(name) + "=" +
               percent_encoded(value.get_ref<const std::string&>());
    }
  }
  Parameters parameters = CARILLON_TRY(Parameters::parse(query));
  CARILLON_TRY(parameters.allow_only(names));
  return parameters;
}

// The objects of the list `items`; nullptr: the body has a filter instead.
Result<const Json*> items_in(Body& body) {
  if (body.has("items") == body.has("filter")) {
    return Error{ErrorCode::kInvalidArgument,
                 "items and filter contradict each other, or both are missing (give one of them)"};
  }
  const Json* const items = body.value("items");
  if (items == nullptr) return items;
  const bool is_list =
      items->is_array() &&
      std::all_of(items->begin(), items->end(), [](const Json& one) { return one.is_object(); });
  if (!is_list) return Error{ErrorCode::kInvalidArgument, "items must be a list of objects"};
  if (items->size() <= kItemsMax) return items;
  return Error{ErrorCode::kInvalidArgument, "items has " + std::to_string(items->size()) +
                                                " elements, at most " + std::to_string(kItemsMax) +
                                                " are allowed (give a filter)"};
}

// The members of an item, which are texts and nothing else.
Result<std::vector<std::string>> texts_of_item(const Json& item,
                                               std::initializer_list<const char*> names) {
  std::vector<std::string> texts;
  for (const char* const name : names) {
    const auto found = item.find(name);
    if (found == item.end() || !found->is_string() || item.size() != names.size()) {
      std::string all;
      for (const char* const one : names) all += (all.empty() ? "" : " and ") + std::string{one};
      return Error{ErrorCode::kInvalidArgument,
                   "each of items must have " + all + " as text, and nothing else"};
    }
    texts.push_back(found->get<std::string>());
    if (texts.back().size() > kNameBytesMax) {
      return Error{ErrorCode::kInvalidArgument, "one of items has a " + std::string{name} + " of " +
                                                    std::to_string(texts.back().size()) +
                                                    " bytes, at most " +
                                                    std::to_string(kNameBytesMax) + " are allowed"};
    }
  }
  return texts;
}

// ---- jobs ----

Result<std::deque<Target>> job_targets(const Json& items) {
  std::deque<Target> targets;
  for (const Json& item : items) {
    auto names = CARILLON_TRY(texts_of_item(item, {"group", "task_id"}));
    targets.push_back({std::move(names[0]), std::move(names[1]), {}});
  }
  return targets;
}

// Reads the jobs that a body names.
Status read_jobs(Body& body, Operation& operation) {
  const Json* const items = CARILLON_TRY(items_in(body));
  if (items != nullptr) {
    operation.targets = CARILLON_TRY(job_targets(*items));
    return {};
  }
  const Parameters filter = CARILLON_TRY(filter_in(
      body, {"group", "state", "kind", "tag", "owner", "task_id", "task_prefix", "text"}));
  operation.source = list_of_jobs(job_filter_of(filter));
  return {};
}

// Starts it, unless the call is a repetition.
void start_numbered(Api& api, const ExchangePtr& exchange, Operation operation) {
  operation.key = CARILLON_TRY_CALL(exchange, call_key_of(*exchange, api.secret()));
  if (is_repetition(api, exchange, operation.key)) return;
  start_operation(api, exchange, std::move(operation));
}

void change_jobs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  Operation operation{.action = action_of(*exchange)};
  CARILLON_TRY_CALL(exchange, read_jobs(body, operation));
  CARILLON_TRY_CALL(exchange, body.finish());
  operation.act = [&api, verb = verb_of(operation.action)](const Operation& one,
                                                           const Target& target, OnDone done) {
    send_act(api, one, {.verb = verb, .group = target.group, .task_id = target.task_id},
             std::move(done));
  };
  start_numbered(api, exchange, std::move(operation));
}

void tag_jobs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  Operation operation{.action = action_of(*exchange)};
  const std::string tag = CARILLON_TRY_CALL(exchange, body.required_text("tag"));
  CARILLON_TRY_CALL(exchange, read_jobs(body, operation));
  CARILLON_TRY_CALL(exchange, body.finish());
  const wire::Verb verb = operation.action == "tag" ? wire::Verb::kTag : wire::Verb::kUntag;
  operation.act = [&api, verb, tag](const Operation& one, const Target& target, OnDone done) {
    send_act(api, one,
             {.verb = verb, .group = target.group, .task_id = target.task_id, .remark = tag},
             std::move(done));
  };
  start_numbered(api, exchange, std::move(operation));
}

// ---- runs ----

Result<std::deque<Target>> run_targets(const Json& items) {
  std::deque<Target> targets;
  for (const Json& item : items) {
    const auto ids = CARILLON_TRY(texts_of_item(item, {"job_id"}));
    const JobId job_id = CARILLON_TRY(job_id_of(ids.front()));
    targets.push_back({.job_id = job_id});
  }
  return targets;
}

void trigger_again(Api& api, const Operation& operation, const Target& target,
                   const std::optional<std::string>& payload, OnDone done) {
  wire::Act act{.verb = wire::Verb::kTrigger,
                .group = target.group,
                .task_id = target.task_id,
                .job_id = target.job_id,
                .payload = payload};
  if (!target.task_id.empty()) {
    return send_act(api, operation, std::move(act), std::move(done));
  }
  api.gateway.ask(on_behalf_of(operation.principal, operation.head.peer),
                  wire::Query{.what = "job", .job_id = target.job_id},
                  [&api, operation = &operation, act,
                   done = std::move(done)](const Result<wire::Message>& answer) mutable {
                    const auto* rows =
                        answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
                    if (!answer.ok()) return done(answer.error());
                    if (rows == nullptr || rows->rows.empty())
                      return done(Error{ErrorCode::kNotFound, "there is no such run"});
                    act.group = text_in(rows->rows.front(), "group");
                    act.task_id = text_in(rows->rows.front(), "task_id");
                    send_act(api, *operation, std::move(act), std::move(done));
                  });
}

// The filter of a list of runs, which the field `list` names.
Result<RowList> run_source(Body& body) {
  const Json* const filter = body.value("filter");
  std::string list = "history";
  if (filter != nullptr && filter->is_object() && filter->contains("list") &&
      (*filter)["list"].is_string())
    list = (*filter)["list"].get<std::string>();
  if (list != "waiting" && list != "executing" && list != "history") {
    return Error{ErrorCode::kInvalidArgument,
                 "filter.list is '" + list + "', must be waiting, executing or history"};
  }
  const Parameters parameters =
      CARILLON_TRY(filter_in(body, {"list", "group", "task_id", "task_prefix", "state", "since",
                                    "until", "job_id", "node", "text"}));
  return list_of_runs(CARILLON_TRY(run_filter_of(list, parameters)));
}

// Reads the runs that a body names.
Status read_runs(Body& body, Operation& operation) {
  const Json* const items = CARILLON_TRY(items_in(body));
  if (items != nullptr) {
    operation.targets = CARILLON_TRY(run_targets(*items));
  } else {
    operation.source = CARILLON_TRY(run_source(body));
  }
  return {};
}

void change_runs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  Operation operation{.action = action_of(*exchange)};
  CARILLON_TRY_CALL(exchange, read_runs(body, operation));
  CARILLON_TRY_CALL(exchange, body.finish());
  operation.act = [&api, verb = verb_of(operation.action)](const Operation& one,
                                                           const Target& target, OnDone done) {
    send_act(api, one, {.verb = verb, .job_id = target.job_id}, std::move(done));
  };
  start_numbered(api, exchange, std::move(operation));
}

void retry_runs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  Operation operation{.action = action_of(*exchange)};
  const auto payload = CARILLON_TRY_CALL(exchange, body.optional_text("payload"));
  CARILLON_TRY_CALL(exchange, read_runs(body, operation));
  CARILLON_TRY_CALL(exchange, body.finish());
  operation.act = [&api, payload](const Operation& one, const Target& target, OnDone done) {
    trigger_again(api, one, target, payload, std::move(done));
  };
  start_numbered(api, exchange, std::move(operation));
}

// ---- operations ----

bool may_see(const Exchange& exchange, const Operation& operation) {
  return (exchange.principal.may(Right::kAdminister) && exchange.principal.covers_all()) ||
         (exchange.principal.kind == operation.principal.kind &&
          exchange.principal.name == operation.principal.name);
}

void list_operations(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"page_size", "page_token"}));
  Json items = Json::array();
  for (const auto& operation : api.operations.all()) {
    if (may_see(*exchange, *operation)) items.push_back(operation->to_json());
  }
  exchange->send({{"items", std::move(items)}, {"next_page_token", ""}});
}

// nullptr: the call was answered.
Operations::OperationPtr operation_of(Api& api, const ExchangePtr& exchange) {
  auto operation = api.operations.find(exchange->parts[0]);
  if (operation != nullptr && may_see(*exchange, *operation)) return operation;
  exchange->fail(Error{ErrorCode::kNotFound,
                       "there is no operation '" + exchange->parts[0] + "' at this job tracker"});
  return nullptr;
}

void show_operation(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  if (const auto operation = operation_of(api, exchange)) exchange->send(operation->to_json());
}

void stop_operation(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  const auto operation = operation_of(api, exchange);
  if (operation == nullptr) return;
  if (!operation->is_over) operation->is_stopped = true;
  exchange->send(operation->to_json());
}

constexpr std::array kOperationRoutes{
    Route{"POST", "/jobs:suspend", change_jobs, Right::kOperate},
    Route{"POST", "/jobs:resume", change_jobs, Right::kOperate},
    Route{"POST", "/jobs:trigger", change_jobs, Right::kOperate},
    Route{"POST", "/jobs:kill", change_jobs, Right::kOperate},
    Route{"POST", "/jobs:cancel", change_jobs, Right::kEdit},
    Route{"POST", "/jobs:tag", tag_jobs, Right::kEdit},
    Route{"POST", "/jobs:untag", tag_jobs, Right::kEdit},
    Route{"POST", "/runs:kill", change_runs, Right::kOperate},
    Route{"POST", "/runs:cancel", change_runs, Right::kEdit},
    Route{"POST", "/runs:retry", retry_runs, Right::kOperate},
    Route{"GET", "/operations", list_operations, Right::kRead},
    Route{"GET", "/operations/{}", show_operation, Right::kRead},
    Route{"POST", "/operations/{}:stop", stop_operation, Right::kOperate},
};

}  // namespace

std::span<const Route> operation_routes() { return kOperationRoutes; }

}  // namespace carillon::jobtracker::api
