#include "jobtracker/api/operations.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "jobtracker/api/api.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::int64_t kListedRows = 200;

Json json_of_failure(const Operation::Failure& failure) {
  Json json{{"group", failure.target.group},
            {"task_id", failure.target.task_id},
            {"detail", failure.detail}};
  if (failure.target.job_id) json["job_id"] = std::to_string(failure.target.job_id.value);
  return json;
}

JobId job_id_in(const wire::Row& row) {
  const std::string text = text_in(row, "job_id");
  std::int64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return JobId{id};
}

}  // namespace

Json Operation::to_json() const {
  Json json{{"id", id},
            {"action", action},
            {"total", total},
            {"done", done},
            {"failed", failed},
            {"state", !is_over     ? "running"
                      : is_stopped ? "stopped"
                                   : "done"},
            {"created_at", format_time(created_at)},
            {"created_by", principal.name},
            {"errors", Json::array()}};
  for (const Failure& failure : failures) json["errors"].push_back(json_of_failure(failure));
  return json;
}

Result<Operations::OperationPtr> Operations::start(Operation operation) {
  forget_old();
  if (operations_.size() >= kOperationsMax) {
    return Error{ErrorCode::kLimit,
                 std::to_string(kOperationsMax) +
                     " operations are under way or were lately, try again later"};
  }
  auto one = std::make_shared<Operation>(std::move(operation));
  one->id = std::to_string(gateway_.draw() >> 1);
  one->created_at = gateway_.clock().wall_now();
  one->total = static_cast<std::int64_t>(one->targets.size());
  operations_[one->id] = one;
  go_on(one);
  return one;
}

void Operations::forget_old() {
  const SteadyTime now = gateway_.clock().steady_now();
  std::erase_if(operations_, [&](const auto& one) {
    return one.second->is_over && now - one.second->over_at > kKept;
  });
  while (operations_.size() >= kOperationsMax) {
    auto oldest = operations_.end();
    for (auto one = operations_.begin(); one != operations_.end(); ++one) {
      const bool is_older =
          oldest == operations_.end() || one->second->over_at < oldest->second->over_at;
      if (one->second->is_over && is_older) oldest = one;
    }
    if (oldest == operations_.end()) return;
    operations_.erase(oldest);
  }
}

Operations::OperationPtr Operations::with_key(const CallKey& key) const {
  for (const auto& [id, one] : operations_) {
    if (one->key && one->key->number == key.number) return one;
  }
  return nullptr;
}

Operations::OperationPtr Operations::find(const std::string& id) const {
  const auto found = operations_.find(id);
  return found == operations_.end() ? nullptr : found->second;
}

std::vector<Operations::OperationPtr> Operations::all() const {
  std::vector<OperationPtr> all;
  for (const auto& [id, one] : operations_) all.push_back(one);
  std::sort(all.begin(), all.end(), [](const OperationPtr& one, const OperationPtr& other) {
    return one->created_at > other->created_at;
  });
  return all;
}

std::size_t Operations::targets() const {
  std::size_t count = 0;
  for (const auto& [id, one] : operations_) count += one->targets.size();
  return count;
}

// Whether it may take the next step.
bool Operations::may_go_on(Operation& operation) const {
  if (!operation.is_stopped && !is_still_sender_(operation.principal, operation.head))
    stop(operation, "stopped: " + sender_changed().message);
  return !operation.is_stopped;
}

void Operations::stop(Operation& operation, std::string why) {
  operation.is_stopped = true;
  operation.failures.push_back({{}, std::move(why)});
}

void Operations::go_on(const OperationPtr& operation) {
  Operation& one = *operation;
  if (one.is_over || one.is_listing) return;
  if (gateway_.is_stopped()) one.is_stopped = true;
  const bool is_listed = static_cast<std::size_t>(one.phase) >= one.source.queries.size();
  if (!is_listed && may_go_on(one)) return list_more(operation);
  while (!one.targets.empty() && one.under_way < kUnderWayMax && may_go_on(one)) {
    const Operation::Target target = std::move(one.targets.front());
    one.targets.pop_front();
    ++one.under_way;
    one.act(one, target,
            [this, operation, target](const Status& status) { finish(operation, target, status); });
  }
  if (one.is_stopped) one.targets.clear();
  if (one.under_way > 0 || !one.targets.empty()) return;
  one.is_over = true;
  one.over_at = gateway_.clock().steady_now();
  // With the call, whose body may be large.
  if (const auto on_over = std::exchange(one.on_over, nullptr)) on_over(one);
}

void Operations::list_more(const OperationPtr& operation) {
  operation->is_listing = true;
  wire::Query query = operation->source.queries[static_cast<std::size_t>(operation->phase)];
  query.after = operation->after;
  query.limit = kListedRows;
  gateway_.ask(on_behalf_of(operation->principal, operation->head.peer), std::move(query),
               [this, operation](const Result<wire::Message>& answer) {
                 operation->is_listing = false;
                 const auto* rows =
                     answer.ok() ? std::get_if<wire::Rows>(&answer.value()) : nullptr;
                 if (rows != nullptr) return on_listed(operation, *rows);
                 // What is not listed is not done.
                 const std::string why = answer.ok() ? "no rows" : answer.error().message;
                 stop(*operation, "the list ended early, nothing was done: " + why);
                 go_on(operation);
               });
}

void Operations::on_listed(const OperationPtr& operation, const wire::Rows& rows) {
  Operation& one = *operation;
  for (const wire::Row& row : rows.rows) {
    if (one.source.matches && !one.source.matches(row, one.phase)) continue;
    one.targets.push_back({text_in(row, "group"), text_in(row, "task_id"), job_id_in(row)});
    ++one.total;
  }
  if (targets() > kTargetsMax) {
    one.targets.clear();
    one.total = 0;
    stop(one, "nothing was done: more than " + std::to_string(kTargetsMax) +
                  " targets would wait in all operations (use a narrower filter, or try later)");
  }
  one.after = rows.next;
  if (rows.next.empty()) ++one.phase;
  go_on(operation);
}

void Operations::finish(const OperationPtr& operation, const Operation::Target& target,
                        const Status& status) {
  Operation& one = *operation;
  --one.under_way;
  if (status.ok()) {
    ++one.done;
  } else {
    ++one.failed;
    if (one.failures.size() < kFailuresShown)
      one.failures.push_back({target, status.error().message});
  }
  // Not within the call that started the act.
  if (gateway_.is_stopped()) return go_on(operation);
  gateway_.after(Duration{}, [this, operation] { go_on(operation); });
}

}  // namespace carillon::jobtracker::api
