// Actions that are not about a single job: groups of executors, the history.
#include <algorithm>
#include <limits>
#include <utility>

#include "jobtracker/job_tracker.h"
#include "shared/base/joined.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"
#include "shared/net/http_url.h"
#include "shared/wire/codec.h"
#include "shared/wire/spec_json.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kCleanRows = 2000;
constexpr Duration kSilenceMax = std::chrono::hours{24 * 366};

std::string until_json(std::optional<WallTime> until) {
  return wire::row_to_json({{"until", until ? wire::Field{format_time(*until)} : wire::Field{}}});
}

Status check_executor(const std::string& address, const net::AddressGuard& guard) {
  CARILLON_TRY(check_address(address));
  const net::HttpUrl url = CARILLON_TRY(net::parse_http_url(address));
  const Status allowed = guard.check_host(url.host);
  if (allowed.ok()) return {};
  return Error{ErrorCode::kInvalidArgument,
               "address '" + address + "': " + allowed.error().message};
}

}  // namespace

void JobTracker::refuse(const Asker& asker, const wire::Act& message, const Error& why) {
  auditor_.refused(
      asker,
      {.action = action_of(message.verb), .group = message.group, .task_id = message.task_id}, why);
  answer(asker, wire::ErrorReply{why});
}

// A registered executor gets the group's jobs. So a registration must not convert a group that task
// trackers serve, or that they served and that still has jobs.
Status JobTracker::may_have_executors(const Group& group) const {
  if (catalog_.parts(group.id) > 1) return split_group_error(group);
  if (executors_.has(group.id) || !group.served) return {};
  // Only the owner of the group knows its jobs.
  if (!ownership_.has(group.id)) return task_trackers_error(group);
  const auto is_for_them = [&](const auto& one) {
    return one.second->row.group == group.id && one.second->spec.dispatch != Dispatch::kPush;
  };
  const auto& definitions = catalog_.definitions();
  const bool is_theirs = workers_.count(group.id) > 0 ||
                         std::any_of(definitions.begin(), definitions.end(), is_for_them);
  return is_theirs ? Status{task_trackers_error(group)} : Status{};
}

// A repetition has the same effect.
void JobTracker::on_add_executors(const Asker& asker, wire::Act message) {
  Status valid = batcher_.check_room();
  for (const std::string& address : message.addresses) {
    if (valid.ok()) valid = check_executor(address, config_.executor_guard);
  }
  if (valid.ok() && message.token && !is_printable_utf8(*message.token)) {
    valid = Error{ErrorCode::kInvalidArgument,
                  "the token must be printable text without control characters"};
  }
  if (!valid.ok()) return refuse(asker, message, valid.error());
  const std::string name = message.group;
  with_group(name, [this, asker, message = std::move(message)](Result<const Group*> group) {
    if (!group.ok()) return refuse(asker, message, group.error());
    const GroupId id = group.value()->id;
    if (!ownership_.has(id)) return answer(asker, ownership_.elsewhere(id, catalog_.parts(id)));
    if (const Status may = may_have_executors(*group.value()); !may.ok())
      return refuse(asker, message, may.error());
    const std::string has = "group '" + group.value()->name + "' has ";
    const bool is_list = !message.addresses.empty();
    const auto added = [this, asker, id, has, is_list](const Status& status) {
      if (!status.ok()) return answer(asker, wire::ErrorReply{status.error()});
      const std::size_t listed = is_list ? executors_.addresses(id).size() : 0;
      answer(asker,
             wire::Acted{.message = has + std::to_string(listed) +
                                    (listed == 1 ? " executor" : " executors") + " added by hand"});
    };
    AuditRow audit = auditor_.row(
        asker, {.action = action_of(message.verb),
                .group = group.value()->name,
                .after = wire::row_to_json({{"addresses", joined(message.addresses, " ")},
                                            {"token_changed", message.token.has_value()}})});
    registry_.add(id, message.addresses, message.token, std::move(audit), added);
  });
}

// Pending changes are stored first, and the next session reads the state of the partitions again.
void JobTracker::on_split(const Asker& asker, wire::Act message) {
  const auto refuse_with = [&](ErrorCode code, const std::string& why) {
    refuse(asker, message, Error{code, why});
  };
  const Group* group = catalog_.group(message.group);
  if (group == nullptr)
    return refuse_with(ErrorCode::kNotFound, "there is no group '" + message.group + "'");
  if (!is_parts(message.parts)) {
    return refuse_with(ErrorCode::kInvalidArgument,
                       "a group can have 1, 2, 4, 8, 16, 32 or 64 partitions, not " +
                           std::to_string(message.parts));
  }
  const std::int32_t parts = catalog_.parts(group->id);
  const std::string named = "group '" + group->name + "' has " + std::to_string(parts) +
                            (parts == 1 ? " partition" : " partitions");
  if (parts == message.parts) {
    split_error_.reset();  // The answer was lost.
    return answer(asker, wire::Acted{.message = named});
  }
  if (parts > 1) {
    return refuse_with(
        ErrorCode::kConflict,
        named +
            ", and a group can be split only once (create another group and move the jobs there)");
  }
  if (!ownership_.has(group->id)) return answer(asker, ownership_.elsewhere(group->id, parts));
  if (executors_.has(group->id)) {
    return refuse(asker, message, executors_error(*group));
  }
  if (split_error_) {
    const Error why = *std::exchange(split_error_, std::nullopt);
    return refuse_with(why.code, why.message);
  }
  if (!begin_split_) {
    return refuse_with(ErrorCode::kInvalidArgument,
                       "a group can be split only with a MariaDB or MySQL store, which several job "
                       "trackers can share");
  }
  const GroupSplit split{.group = group->name, .parts = message.parts};
  auditor_.add(asker, {.action = action_of(message.verb),
                       .group = group->name,
                       .before = wire::row_to_json({{"partitions", std::int64_t{parts}}}),
                       .after = wire::row_to_json({{"partitions", std::int64_t{message.parts}}})});
  begin_split_(split, sender_of(asker),
               wire::encode({.correlation = asker.correlation,
                             .message = std::move(message),
                             .on_behalf = asker.caller == nullptr ? std::nullopt
                                                                  : asker.caller->on_behalf}));
}

void JobTracker::on_remove_group(const Asker& asker, const wire::Act& message) {
  const auto refuse_with = [&](ErrorCode code, const std::string& why) {
    refuse(asker, message, Error{code, why});
  };
  if (const Status room = batcher_.check_room(); !room.ok())
    return answer(asker, wire::ErrorReply{room.error()});
  const Group* group = catalog_.group(message.group);
  if (group == nullptr)
    return refuse_with(ErrorCode::kNotFound, "there is no group '" + message.group + "'");
  if (!ownership_.has(group->id))
    return answer(asker, ownership_.elsewhere(group->id, catalog_.parts(group->id)));
  if (!executors_.has(group->id)) {
    return refuse_with(
        ErrorCode::kInvalidArgument,
        "group '" + group->name +
            "' is not a group of xxl-job executors (a group of task trackers needs no removal)");
  }
  batcher_.ask(CountWaiting{.now = clock_.now(), .groups = {group->id}},
               [this, asker, message, id = group->id](Result<ReadAnswer> counted) {
                 if (!counted.ok()) return answer(asker, wire::ErrorReply{counted.error()});
                 remove_group(asker, message, id, std::get<CountAnswer>(counted.value()));
               });
}

void JobTracker::remove_group(const Asker& asker, const wire::Act& message, GroupId id,
                              const CountAnswer& counted) {
  std::int64_t waiting = 0;
  for (const auto& one : counted.groups) waiting += one.group == id ? one.waiting : 0;
  const auto executing =
      std::count_if(executing_.all().begin(), executing_.all().end(),
                    [id](const auto& one) { return one.second.row.job.group == id; });
  const auto& definitions = catalog_.definitions();
  const auto defined = std::count_if(definitions.begin(), definitions.end(),
                                     [id](const auto& one) { return one.second->row.group == id; });
  const std::string name = catalog_.group(id)->name;
  if (waiting + executing + defined > 0) {
    return refuse(
        asker, message,
        {ErrorCode::kConflict, "group '" + name + "' has jobs: " + std::to_string(defined) +
                                   " defined, " + std::to_string(waiting) + " waiting, " +
                                   std::to_string(executing) + " executing (cancel them first)"});
  }
  AuditRow audit = auditor_.row(asker, {.action = action_of(message.verb), .group = name});
  registry_.remove_group(id, std::move(audit), [this, asker, id, name](const Status& status) {
    if (!status.ok()) return answer(asker, wire::ErrorReply{status.error()});
    catalog_.mark_served(id, false);
    answer(asker, wire::Acted{.message = "group '" + name + "' removed"});
  });
}

// For a task tracker of the group, until it restarts or this session ends. The owner of the group's
// first partition is asked; for a group in partitions, each owner decides about its own jobs.
void JobTracker::on_node(const Asker& asker, const wire::Act& message) {
  const Group* group = catalog_.group(message.group);
  if (group == nullptr) {
    return refuse(asker, message,
                  {ErrorCode::kNotFound, "there is no group '" + message.group + "'"});
  }
  if (!ownership_.has(group->id))
    return answer(asker, ownership_.elsewhere(group->id, catalog_.parts(group->id)));
  std::int64_t found = 0;
  for (const auto& [session, worker] : workers_.all()) {
    if (is_push_session(session) || worker->group != group->id || worker->name != message.node)
      continue;
    ++found;
    worker->is_drained = message.verb == wire::Verb::kDrainNode;
    message.verb == wire::Verb::kIsolateNode ? dispatcher_.isolate(*worker)
                                             : dispatcher_.end_isolation(*worker);
  }
  if (found == 0) {
    return refuse(asker, message,
                  {ErrorCode::kNotFound, "no task tracker '" + message.node + "' of group '" +
                                             group->name + "' is connected"});
  }
  auditor_.add(asker, {.action = action_of(message.verb),
                       .group = group->name,
                       .after = wire::row_to_json({{"node", message.node}})});
  const char* const now = message.verb == wire::Verb::kDrainNode     ? " gets no more jobs"
                          : message.verb == wire::Verb::kIsolateNode ? " is isolated"
                                                                     : " gets jobs again";
  answer(asker, wire::Acted{.message = "task tracker '" + message.node + "'" + now});
}

// The owner of the group's first partition is asked, so that it knows at once. A repetition has the
// same effect.
void JobTracker::on_silence(const Asker& asker, const wire::Act& message) {
  if (const Status room = batcher_.check_room(); !room.ok())
    return answer(asker, wire::ErrorReply{room.error()});
  const Group* group = catalog_.group(message.group);
  if (group == nullptr || catalog_.whole_of(group->id) != group) {
    return refuse(asker, message,
                  {ErrorCode::kNotFound, "there is no group '" + message.group + "'"});
  }
  if (!ownership_.has(group->id))
    return answer(asker, ownership_.elsewhere(group->id, catalog_.parts(group->id)));
  const WallTime now = clock_.now();
  std::optional<WallTime> until;
  if (message.until_us != 0) until = WallTime{Duration{message.until_us}};
  if (until && (*until <= now || *until > now + kSilenceMax)) {
    return refuse(asker, message,
                  {ErrorCode::kInvalidArgument,
                   "until is not a time in the next 366 days (it is " + format_time(now) + ")"});
  }
  const SilenceRow row{.group = group->id, .until = until.value_or(WallTime{})};
  std::vector<Operation> operations{PutSilence{row}};
  operations.emplace_back(
      AddAudit{auditor_.row(asker, {.action = action_of(message.verb),
                                    .group = group->name,
                                    .before = until_json(alarms_.silences().until(group->id)),
                                    .after = until_json(until)})});
  std::string done = "alarms of group '" + group->name + "' are " +
                     (until ? "silenced until " + format_time(*until) : "sent again");
  batcher_.post_unit(
      Urgency::kRequest, std::move(operations),
      [this, asker, row, done = std::move(done)](
          std::vector<Operation>&, const std::vector<Outcome>&, const Error* refused) {
        if (refused != nullptr) return answer(asker, wire::ErrorReply{*refused});
        alarms_.silences().put(row);
        answer(asker, wire::Acted{.message = done});
      });
}

void JobTracker::on_test_alarm(const Asker& asker, const wire::Act& message) {
  const std::string to = message.addresses.empty() ? std::string{} : message.addresses.front();
  alarms_.test(asker, to, [this, asker, message, to](const Status& status) {
    if (!status.ok()) return refuse(asker, message, status.error());
    const std::string shown = shown_recipient(to);
    auditor_.add(asker, {.action = action_of(message.verb),
                         .after = wire::row_to_json({{"recipient", shown}})});
    answer(asker, wire::Acted{.message = "test message delivered to " + shown});
  });
}

void JobTracker::on_clean_history(const Asker& asker, const wire::Act& message) {
  if (const Status room = batcher_.check_room(); !room.ok())
    return answer(asker, wire::ErrorReply{room.error()});
  CleanLog clean{.task_id = message.task_id, .after = message.after, .limit = kCleanRows};
  clean.before = message.before > 0 ? message.before : std::numeric_limits<std::int64_t>::max();
  // Rows that end after this moment are never deleted, whatever time is given.
  const WallTime until = std::max(WallTime{}, WallTime{Duration{message.until_us}});
  if (message.until_us != 0 && until < clock_.now())
    clean.before = std::min(clean.before, IdSource::first_of(until));
  if (!message.group.empty()) {
    const Group* group = catalog_.group(message.group);
    if (group == nullptr) {
      return refuse(asker, message,
                    {ErrorCode::kNotFound, "there is no group '" + message.group + "'"});
    }
    clean.groups = catalog_.parts_of(group->id);
  }
  std::vector<Operation> operations{std::move(clean)};
  if (message.after == 0) {  // The client sends a request for each step.
    operations.emplace_back(AddAudit{auditor_.row(
        asker, {.action = action_of(message.verb),
                .group = message.group,
                .task_id = message.task_id,
                .after = wire::row_to_json(
                    {{"ended_before", message.until_us != 0 ? format_time(until) : ""}})})});
  }
  batcher_.post_unit(
      Urgency::kHousekeeping, std::move(operations),
      [this, asker](std::vector<Operation>&, const std::vector<Outcome>& outcomes,
                    const Error* refused) {
        if (refused != nullptr) return answer(asker, wire::ErrorReply{*refused});
        const Outcome& outcome = outcomes.front();
        answer(asker, wire::Acted{.message = std::to_string(outcome.count) + " rows removed",
                                  .count = outcome.count,
                                  .next = outcome.next});
      });
}

}  // namespace carillon::jobtracker
