// Bulk actions on jobs and runs.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/job_filter.h"
#include "jobtracker/api/operations.h"
#include "jobtracker/api/refusals.h"
#include "jobtracker/api/run_filter.h"
#include "jobtracker/api/submission.h"
#include "jobtracker/api/task_view.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kIdsMax = 1000;

using OnDone = std::function<void(Status)>;
using Target = Operation::Target;

// ---- acts ----

struct VerbOfAction {
  std::string_view action;
  wire::Verb verb;
  Right right;
};
constexpr std::array kJobActions{VerbOfAction{"suspend", wire::Verb::kSuspend, Right::kOperate},
                                 VerbOfAction{"resume", wire::Verb::kResume, Right::kOperate},
                                 VerbOfAction{"trigger", wire::Verb::kTrigger, Right::kOperate},
                                 VerbOfAction{"kill", wire::Verb::kKill, Right::kOperate},
                                 VerbOfAction{"cancel", wire::Verb::kCancel, Right::kEdit}};

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

// ---- tags ----

bool is_tagged(const JobSpec& spec, const std::string& tag) {
  return std::find(spec.tags.begin(), spec.tags.end(), tag) != spec.tags.end();
}

void change_tag(JobSpec& spec, const std::string& tag, bool adds) {
  std::erase(spec.tags, tag);
  if (adds) spec.tags.push_back(tag);
  spec.replace_on_exist = true;
}

void send_tagged(Api& api, const Operation& operation, const wire::Row& shown,
                 const std::string& tag, bool adds, OnDone done) {
  auto spec = spec_in(shown);
  if (!spec.ok()) return done(spec.error());
  if (is_tagged(spec.value(), tag) == adds) return done({});
  if (const Status hidden = check_no_mask(spec.value()); !hidden.ok()) return done(hidden.error());
  change_tag(spec.value(), tag, adds);
  std::vector<JobSpec> jobs;
  jobs.push_back(std::move(spec).value());
  api.gateway.submit(on_behalf_of(operation.principal, operation.head.peer), std::move(jobs), false,
                     [done = std::move(done)](const Result<std::vector<SubmitAnswer>>& answers) {
                       if (!answers.ok()) return done(answers.error());
                       const SubmitAnswer& one = answers.value().front();
                       if (one.status == SubmitStatus::kAccepted) return done({});
                       done(Error{ErrorCode::kConflict, one.reason});
                     });
}

void tag_job(Api& api, const Operation& operation, const Target& target, const std::string& tag,
             bool adds, OnDone done) {
  api.gateway.ask(on_behalf_of(operation.principal, operation.head.peer),
                  wire::Query{.what = "show", .group = target.group, .task_id = target.task_id},
                  [&api, operation = &operation, tag, adds,
                   done = std::move(done)](const Result<wire::Message>& answer) {
                    const auto* rows =
                        answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
                    if (!answer.ok()) return done(answer.error());
                    if (rows == nullptr || rows->rows.empty())
                      return done(Error{ErrorCode::kNotFound, "there is no such task"});
                    send_tagged(api, *operation, rows->rows.front(), tag, adds, done);
                  });
}

// ---- starting ----

// The same call again gets the same operation. True: it was answered.
bool is_repetition(Api& api, const ExchangePtr& exchange, const std::optional<CallKey>& key) {
  if (!key) return false;
  if (!api.keys.note(*key)) {
    exchange->fail(used_before());
    return true;
  }
  const auto operation = api.operations.with_key(*key);
  if (operation) exchange->send({{"operation", operation->to_json()}}, 202);
  return operation != nullptr;
}

void start_operation(Api& api, const ExchangePtr& exchange, Operation operation, Right right) {
  if (!exchange->principal.may(right)) {
    record_refusal(api.gateway, exchange->principal, exchange->call.peer,
                   change_of_action(operation.action));
    return exchange->fail(Error{ErrorCode::kDenied, "the action '" + operation.action +
                                                        "' needs the role " + least_role(right)});
  }
  operation.principal = exchange->principal;
  operation.head = head_of(exchange->call);
  const auto started = api.operations.start(std::move(operation));
  if (!started.ok()) return exchange->fail(started.error());
  exchange->send({{"operation", started.value()->to_json()}}, 202);
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

Status check_ids_or_filter(Body& body, const char* ids) {
  if (body.has(ids) != body.has("filter")) return {};
  return Error{ErrorCode::kInvalidArgument,
               "ids and filter contradict each other, or both are missing (give one)"};
}

// ---- jobs ----

Result<std::deque<Target>> job_targets(Body& body) {
  std::deque<Target> targets;
  const Json* const ids = body.value("ids");
  if (ids == nullptr) return targets;
  if (!ids->is_array()) return Error{ErrorCode::kInvalidArgument, "ids must be a list of objects"};
  if (ids->size() > kIdsMax) {
    return Error{ErrorCode::kInvalidArgument, "ids has " + std::to_string(ids->size()) +
                                                  " elements, at most " + std::to_string(kIdsMax) +
                                                  " are allowed (give a filter)"};
  }
  for (const Json& id : *ids) {
    const auto group = id.is_object() ? id.find("group") : id.end();
    const auto task = id.is_object() ? id.find("task_id") : id.end();
    const bool is_id = id.is_object() && group != id.end() && task != id.end() &&
                       group->is_string() && task->is_string();
    if (!is_id)
      return Error{ErrorCode::kInvalidArgument, "ids must be objects with group and task_id"};
    targets.push_back({group->get<std::string>(), task->get<std::string>(), {}});
  }
  return targets;
}

void batch_jobs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  Operation operation;
  operation.action = CARILLON_TRY_CALL(exchange, body.required_text("action"));
  const std::string tag = CARILLON_TRY_CALL(exchange, body.text("tag"));
  CARILLON_TRY_CALL(exchange, check_ids_or_filter(body, "ids"));
  operation.targets = CARILLON_TRY_CALL(exchange, job_targets(body));
  if (body.has("filter")) {
    const Parameters filter = CARILLON_TRY_CALL(
        exchange,
        filter_in(body, {"group", "state", "kind", "tag", "owner", "task_prefix", "text"}));
    operation.source = list_of_jobs(job_filter_of(filter));
  }
  CARILLON_TRY_CALL(exchange, body.finish());
  operation.key = CARILLON_TRY_CALL(exchange, call_key_of(*exchange, api.secret()));
  if (is_repetition(api, exchange, operation.key)) return;
  const bool tags = operation.action == "tag" || operation.action == "untag";
  if (tags && tag.empty())
    return exchange->fail(Error{ErrorCode::kInvalidArgument, "tag is missing, it is required"});
  if (tags) {
    operation.act = [&api, tag](Operation& one, const Target& target, OnDone done) {
      tag_job(api, one, target, tag, one.action == "tag", std::move(done));
    };
    return start_operation(api, exchange, std::move(operation), Right::kEdit);
  }
  const auto* const known =
      std::find_if(kJobActions.begin(), kJobActions.end(),
                   [&](const VerbOfAction& one) { return one.action == operation.action; });
  if (known == kJobActions.end()) {
    return exchange->fail(
        Error{ErrorCode::kInvalidArgument,
              "action is '" + operation.action +
                  "', must be suspend, resume, trigger, kill, cancel, tag or untag"});
  }
  operation.act = [&api, verb = known->verb](const Operation& one, const Target& target,
                                             OnDone done) {
    send_act(api, one, {.verb = verb, .group = target.group, .task_id = target.task_id},
             std::move(done));
  };
  start_operation(api, exchange, std::move(operation), known->right);
}

// ---- runs ----

Result<std::deque<Target>> run_targets(Body& body) {
  std::deque<Target> targets;
  for (const std::string& id : CARILLON_TRY(body.texts("ids", kIdsMax))) {
    const JobId job = CARILLON_TRY(job_id_of(id));
    targets.push_back({.job_id = job});
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
                                    "until", "job_id", "text"}));
  return list_of_runs(CARILLON_TRY(run_filter_of(list, parameters)));
}

void batch_runs(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  Operation operation;
  operation.action = CARILLON_TRY_CALL(exchange, body.required_text("action"));
  const auto payload = CARILLON_TRY_CALL(exchange, body.optional_text("payload"));
  CARILLON_TRY_CALL(exchange, check_ids_or_filter(body, "ids"));
  operation.targets = CARILLON_TRY_CALL(exchange, run_targets(body));
  if (body.has("filter")) operation.source = CARILLON_TRY_CALL(exchange, run_source(body));
  CARILLON_TRY_CALL(exchange, body.finish());
  operation.key = CARILLON_TRY_CALL(exchange, call_key_of(*exchange, api.secret()));
  if (is_repetition(api, exchange, operation.key)) return;
  const std::string action = operation.action;
  if (action != "rerun" && action != "kill" && action != "cancel") {
    return exchange->fail(Error{ErrorCode::kInvalidArgument,
                                "action is '" + action + "', must be rerun, kill or cancel"});
  }
  if (action == "rerun") {
    operation.act = [&api, payload](const Operation& one, const Target& target, OnDone done) {
      trigger_again(api, one, target, payload, std::move(done));
    };
    return start_operation(api, exchange, std::move(operation), Right::kOperate);
  }
  const wire::Verb verb = action == "kill" ? wire::Verb::kKill : wire::Verb::kCancel;
  operation.act = [&api, verb](const Operation& one, const Target& target, OnDone done) {
    send_act(api, one, {.verb = verb, .job_id = target.job_id}, std::move(done));
  };
  start_operation(api, exchange, std::move(operation),
                  verb == wire::Verb::kKill ? Right::kOperate : Right::kEdit);
}

// ---- operations ----

bool may_see(const Exchange& exchange, const Operation& operation) {
  return exchange.principal.may(Right::kAdminister) ||
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
    Route{"POST", "/jobs:batch", batch_jobs, Right::kOperate},
    Route{"POST", "/runs:batch", batch_runs, Right::kOperate},
    Route{"GET", "/operations", list_operations, Right::kRead},
    Route{"GET", "/operations/{}", show_operation, Right::kRead},
    Route{"POST", "/operations/{}:stop", stop_operation, Right::kOperate},
};

}  // namespace

std::span<const Route> operation_routes() { return kOperationRoutes; }

}  // namespace carillon::jobtracker::api
