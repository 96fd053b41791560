#include "jobtracker/query/query.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/state/id_source.h"
#include "shared/base/time_text.h"
#include "shared/job/secrets.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr int kJobTries = 3;
constexpr std::int64_t kCallsMax = 1'000;  // of a job whose logs are read

// What cannot be decoded has no HTTP request.
std::string spec_without_secrets(std::string bytes) {
  auto spec = wire::decode_spec(bytes);
  return spec.ok() ? wire::encode_spec(without_secrets(std::move(spec).value())) : bytes;
}

}  // namespace

QueryDesk::QueryDesk(Catalog& catalog, const Ownership& ownership, ExecutingTable& executing,
                     Workers& workers, const Executors& executors, const ExecutorHealth& health,
                     ExecutorLogs& logs, Questions& questions, ClientLink& clients,
                     SchedulingClock& clock, Duration lease, QuerySources sources)
    : catalog_(catalog),
      ownership_(ownership),
      executing_(executing),
      workers_(workers),
      executors_(executors),
      health_(health),
      logs_(logs),
      line_(questions, clients, [&clock] { return clock.steady_now(); }),
      clients_(line_),
      clock_(clock),
      lease_(lease),
      sources_(std::move(sources)) {}

void QueryDesk::query(const Asker& asker, const wire::Query& message) {
  if (!line_.begin(asker)) return;
  if (message.limit < 0) {
    return clients_.answer(asker, error_reply({ErrorCode::kInvalidArgument,
                                               "Query.limit is " + std::to_string(message.limit) +
                                                   ", must be 0 or more"}));
  }
  if (message.what == "job" && message.job_id.value <= 0) {
    return clients_.answer(asker,
                           error_reply({ErrorCode::kInvalidArgument,
                                        "Query.job_id is " + std::to_string(message.job_id.value) +
                                            ", must be above 0 to ask for a job"}));
  }
  if (!message.after.empty() && numbers(message.after).empty()) {
    return clients_.answer(asker,
                           error_reply({ErrorCode::kInvalidArgument,
                                        "Query.after is '" + message.after +
                                            "', must be the next value of the previous page"}));
  }
  if (is_redirect(asker, message)) return;
  if (message.what == "list") return list(asker, message);
  if (message.what == "waiting") return waiting(asker, message);
  if (message.what == "executing") return executing(asker, message);
  if (message.what == "history") return history(asker, message);
  if (message.what == "show") return show(asker, message);
  if (message.what == "job") return job(asker, message, 0);
  if (message.what == "output") return output(asker, message);
  if (message.what == "nodes") return nodes(asker, message);
  if (message.what == "groups") return groups(asker, message);
  if (message.what == "stats") return stats(asker);
  if (message.what == "counts") return counts(asker, message);
  if (message.what == "scripts" || message.what == "script") return scripts(asker, message);
  if (message.what == "audit") return audit(asker, message);
  if (message.what == "figures") return figures(asker, message);
  if (message.what == "calendar") return calendar(asker, message);
  if (message.what == "fires") return fires(asker, message);
  if (message.what == "specs" || message.what == "sources" || message.what == "parents")
    return specs(asker, message);
  if (message.what == "events") return events(asker, message);
  if (message.what == "trackers") return trackers(asker);
  if (message.what == "alarms") return alarms(asker, message);
  if (message.what == "alarm_rules") return alarm_rules(asker);
  if (message.what == "alarm_history") return alarm_history(asker, message);
  clients_.answer(
      asker, error_reply({ErrorCode::kInvalidArgument, "unknown question '" + message.what + "'"}));
}

// For data that only the owner of the group has in memory.
bool QueryDesk::is_redirect(const Asker& asker, const wire::Query& message) {
  const Group* group = message.group.empty() ? nullptr : catalog_.group(message.group);
  if (group == nullptr) return false;
  const std::int32_t parts = catalog_.parts(group->id);
  GroupId owned = group->id;
  if (message.what == "show" || message.what == "scripts" || message.what == "script") {
    owned = catalog_.part(group->id, message.task_id);
  } else if (message.what == "audit") {
    return false;  // It is in the store.
  } else if (message.what != "nodes" &&
             (parts > 1 || (message.what != "list" && message.what != "executing" &&
                            message.what != "specs" && message.what != "sources"))) {
    return false;
  }
  if (ownership_.has(owned)) return false;
  clients_.answer(asker, ownership_.elsewhere(owned, parts));
  return true;
}

GroupId QueryDesk::whole(GroupId part) const {
  const Group* group = catalog_.whole_of(part);
  return group == nullptr ? part : group->id;
}

std::vector<GroupId> QueryDesk::parts_of(GroupId group) const {
  return group ? catalog_.parts_of(group) : std::vector<GroupId>{};
}

// For all groups, if none is named.
bool QueryDesk::is_in_memory(GroupId group) const {
  return ownership_.has_all() || (group && ownership_.has_all(catalog_.parts_of(group)));
}

std::string QueryDesk::group_name(GroupId id) const {
  const Group* group = catalog_.whole_of(id);
  return group == nullptr ? std::string{} : group->name;
}

Result<GroupId> QueryDesk::group_of(const wire::Query& message) const {
  if (message.group.empty()) return GroupId{};
  const Group* group = catalog_.group(message.group);
  if (group == nullptr)
    return Error{ErrorCode::kNotFound,
                 "there is no group '" + message.group + "' (--group names the group)"};
  return group->id;
}

void QueryDesk::executing(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  const auto after = numbers(message.after);
  const JobId from{after.empty() ? 0 : after.front()};
  const auto limit = static_cast<std::size_t>(page_of(message));
  const auto visible = visible_parts(asker, group.value());
  if (!visible) return clients_.answer(asker, wire::Rows{});
  const std::vector<GroupId>& parts = *visible;
  std::map<JobId, const Executing*> page;
  for (const auto& [id, entry] : executing_.all()) {
    if (id <= from || !is_of(parts, entry.row.job.group) ||
        !is_of_task(message, entry.row.job.task_id) || entry.phase == Phase::kClaiming)
      continue;
    page.emplace(id, &entry);
    if (page.size() > limit) page.erase(std::prev(page.end()));
  }
  if (is_in_memory(group.value())) {
    wire::Rows reply;
    for (const auto& [id, entry] : page) reply.rows.push_back(executing_row(*entry));
    if (page.size() == limit) reply.next = key_text({page.rbegin()->first.value});
    return clients_.answer(asker, std::move(reply));
  }
  // Jobs of other job trackers are read from the store, with fewer details.
  const ListExecuting question{
      .groups = parts, .after = from, .limit = static_cast<std::int64_t>(limit)};
  read(asker, question, [this, asker, message, question](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    const auto& jobs = std::get<ExecutingAnswer>(answer.value()).jobs;
    wire::Rows reply;
    for (const ExecutingJob& job : jobs) {
      if (!is_of_task(message, job.job.task_id)) continue;
      const Executing* ours = executing_.find(job.job.id);
      if (ours == nullptr && ownership_.has(job.job.group)) continue;  // It has just ended.
      reply.rows.push_back(executing_row(
          ours != nullptr
              ? *ours
              : Executing{.row = job, .phase = Phase::kSent, .handed_out_at = job.claimed_at}));
    }
    if (static_cast<std::int64_t>(jobs.size()) == question.limit)
      reply.next = key_text({jobs.back().job.id.value});
    clients_.answer(asker, std::move(reply));
  });
}

void QueryDesk::history(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  std::vector<LogState> states;
  for (const std::string& name : message.states) {
    const auto state = log_state_of(name);
    if (!state) {
      return clients_.answer(
          asker, error_reply({ErrorCode::kInvalidArgument,
                              "Query.states has '" + name + "', which is not a final state"}));
    }
    states.push_back(*state);
  }
  const auto visible = visible_parts(asker, group.value());
  if (!visible) return clients_.answer(asker, wire::Rows{});
  const auto after = numbers(message.after);
  ListHistory question{.groups = *visible,
                       .task_id = message.task_id,
                       .job_id = message.job_id,
                       .states = std::move(states),
                       .since = WallTime{Duration{message.since_us}},
                       .task_prefix = message.task_prefix,
                       .text = message.text,
                       .before_id = after.empty() ? 0 : after.front(),
                       .limit = page_of(message)};
  if (message.until_us != 0) {
    question.until = WallTime{Duration{message.until_us}};
    question.until_id = IdSource::first_of(question.until);
  }
  read(asker, question, [this, asker, limit = question.limit](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    const auto& [entries, next] = std::get<HistoryAnswer>(answer.value());
    wire::Rows reply;
    for (const LogEntry& entry : entries) reply.rows.push_back(log_row(entry));
    const bool is_full = static_cast<std::int64_t>(entries.size()) == limit;
    if (is_full || next != 0) reply.next = key_text({is_full ? entries.back().id : next});
    clients_.answer(asker, std::move(reply));
  });
}

// Repeats searches until the page is full.
void QueryDesk::read_history(const Asker& asker, ListHistory question,
                             std::function<void(Result<std::vector<LogEntry>>)> then,
                             std::vector<LogEntry> found) {
  read(asker, question,
       [this, asker, question, then = std::move(then),
        found = std::move(found)](Result<ReadAnswer> answer) mutable {
         if (!answer.ok()) return then(answer.error());
         auto& [entries, next] = std::get<HistoryAnswer>(answer.value());
         question.limit -= static_cast<std::int64_t>(entries.size());
         std::move(entries.begin(), entries.end(), std::back_inserter(found));
         if (next == 0 || question.limit <= 0) return then(std::move(found));
         question.before_id = next;
         read_history(asker, std::move(question), std::move(then), std::move(found));
       });
}

void QueryDesk::show(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  const auto with_spec = [](wire::Row row, std::string spec, wire::Field reason) {
    row.emplace_back("reason", std::move(reason));
    row.emplace_back("spec", spec_without_secrets(std::move(spec)));
    return row;
  };
  const auto spec_of = [this](const WaitingJob& job) {
    const auto spec = catalog_.whole_spec(job);
    return spec.ok() ? wire::encode_spec(spec.value()) : job.spec;
  };
  const GroupId part = catalog_.part(group.value(), message.task_id);
  if (ActiveDefinition* definition = catalog_.definition(part, message.task_id)) {
    return answer_with_last_change(
        asker, part, message.task_id,
        with_spec(definition_row(*definition), definition->row.spec,
                  reason(part, wire::glance_of(definition->spec),
                         definition->row.state == DefinitionState::kQuarantined,
                         !is_held(definition->row.state))));
  }
  const Find question{.group = part, .task_id = message.task_id, .job_id = message.job_id};
  read(asker, question, [this, asker, message, with_spec, spec_of](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    auto& found = std::get<FindAnswer>(answer.value());
    const bool is_foreign = (found.waiting && is_hidden(asker, found.waiting->group)) ||
                            (found.executing && is_hidden(asker, found.executing->job.group));
    if (is_foreign) found = {};
    if (found.waiting) {
      const WaitingJob& job = *found.waiting;
      const auto glance = catalog_.glance(job);
      answer_with_last_change(
          asker, job.group, job.task_id,
          with_spec(waiting_row(job), spec_of(job),
                    glance ? reason(job.group, *glance, is_quarantined(job),
                                    !job.suspended && due_time(job) <= clock_.now())
                           : wire::Field{}));
    } else if (found.executing) {
      Executing entry{.row = *found.executing,
                      .phase = Phase::kSent,
                      .handed_out_at = found.executing->claimed_at};
      wire::Row row = executing_row(entry);
      row.emplace_back("state", std::string("executing"));
      const WaitingJob& job = found.executing->job;
      answer_with_last_change(asker, job.group, job.task_id,
                              with_spec(std::move(row), spec_of(job), {}));
    } else {
      clients_.answer(asker,
                      error_reply({ErrorCode::kNotFound,
                                   "task '" + message.task_id +
                                       "' is not waiting, executing or defined in group '" +
                                       message.group + "' (ended jobs are in the history)"}));
    }
  });
}

void QueryDesk::job(const Asker& asker, const wire::Query& message, int tries) {
  const Executing* const entry = executing_.find(message.job_id);
  if (entry != nullptr && !is_hidden(asker, entry->row.job.group)) {
    const WaitingJob& job = entry->row.job;
    wire::Row row = {{"job_id", std::to_string(job.id.value)},
                     {"task_id", job.task_id},
                     {"group", group_name(job.group)},
                     {"kind", word_of(job.kind)},
                     {"state", std::string("executing")},
                     {"attempt", std::int64_t{job.attempt}},
                     {"done", false}};
    wire::Rows reply;
    reply.rows.push_back(std::move(row));
    return clients_.answer(asker, std::move(reply));
  }
  read(asker, Find{.job_id = message.job_id},
       [this, asker, message, tries](Result<ReadAnswer> answer) {
         if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
         const auto& found = std::get<FindAnswer>(answer.value());
         if (!found.waiting && !found.executing) return job_from_log(asker, message, tries);
         const WaitingJob& job = found.waiting ? *found.waiting : found.executing->job;
         if (is_hidden(asker, job.group)) return answer_unknown_job(asker, message.job_id);
         const std::string state = found.executing       ? "executing"
                                   : is_quarantined(job) ? "quarantined"
                                   : job.suspended       ? "suspended"
                                                         : "waiting";
         wire::Rows reply;
         reply.rows.push_back({{"job_id", std::to_string(job.id.value)},
                               {"task_id", job.task_id},
                               {"group", group_name(job.group)},
                               {"kind", word_of(job.kind)},
                               {"state", state},
                               {"attempt", std::int64_t{job.attempt}},
                               {"done", false}});
         clients_.answer(asker, std::move(reply));
       });
}

// It was neither waiting nor executing: it has ended, or it moved during the look-up.
void QueryDesk::job_from_log(const Asker& asker, const wire::Query& message, int tries) {
  const ListHistory question{.job_id = message.job_id, .limit = 1};
  read_history(asker, question, [this, asker, message, tries](Result<std::vector<LogEntry>> found) {
    if (!found.ok()) return clients_.answer(asker, error_reply(found.error()));
    const auto& entries = found.value();
    if (!entries.empty() && is_hidden(asker, entries.front().group))
      return answer_unknown_job(asker, message.job_id);
    if (entries.empty() || !entries.front().final) {
      if (tries < kJobTries) return job(asker, message, tries + 1);
      return answer_unknown_job(asker, message.job_id);
    }
    wire::Row row = log_row(entries.front());
    row.emplace_back("done", true);
    wire::Rows reply;
    reply.rows.push_back(std::move(row));
    clients_.answer(asker, std::move(reply));
  });
}

std::optional<std::vector<GroupId>> QueryDesk::visible_parts(const Asker& asker,
                                                             GroupId group) const {
  if (group || asker.caller == nullptr || asker.caller->principal.covers_all())
    return parts_of(group);
  std::vector<GroupId> visible;
  for (const auto& [id, one] : catalog_.groups()) {
    if (!is_hidden(asker, id)) visible.push_back(id);
  }
  if (visible.empty()) return std::nullopt;
  return visible;
}

void QueryDesk::answer_unknown_job(const Asker& asker, JobId id) {
  clients_.answer(asker,
                  error_reply({ErrorCode::kNotFound,
                               "job " + std::to_string(id.value) +
                                   " is unknown (its log may be older than the retention)"}));
}

bool QueryDesk::is_hidden(const Asker& asker, GroupId part) const {
  return !asker.may_see(group_name(part));
}

// Looks for the node group of a job, for askers that may not see all. A job that is not found is
// visible: it has no output either.
void QueryDesk::if_visible(const Asker& asker, JobId id,
                           std::function<void(bool is_visible)> then) {
  if (asker.caller == nullptr || asker.caller->principal.covers_all()) return then(true);
  if (const Executing* const entry = executing_.find(id))
    return then(!is_hidden(asker, entry->row.job.group));
  read(asker, Find{.job_id = id},
       [this, asker, id, then = std::move(then)](Result<ReadAnswer> answer) {
         if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
         const auto& found = std::get<FindAnswer>(answer.value());
         if (found.waiting) return then(!is_hidden(asker, found.waiting->group));
         if (found.executing) return then(!is_hidden(asker, found.executing->job.group));
         read_history(asker, ListHistory{.job_id = id, .limit = 1},
                      [this, asker, then](Result<std::vector<LogEntry>> log) {
                        if (!log.ok()) return clients_.answer(asker, error_reply(log.error()));
                        then(log.value().empty() || !is_hidden(asker, log.value().front().group));
                      });
       });
}

// The output of a pushed run is at its executor. False: it was not pushed, or its executor is
// unknown.
bool QueryDesk::executor_output(const Asker& asker, const ListOutput& question) {
  return logs_.read(question.job_id, question.after_attempt, question.after_sequence,
                    [this, asker](Result<ExecutorLogPart> part) {
                      if (!part.ok()) return clients_.answer(asker, error_reply(part.error()));
                      ExecutorLogPart& got = part.value();
                      wire::Rows reply;
                      reply.next = key_text({got.attempt, got.position});
                      if (!got.text.empty()) {
                        reply.rows.push_back({{"attempt", std::int64_t{got.attempt}},
                                              {"seq", got.position},
                                              {"stream", std::string("stdout")},
                                              {"at", format_time(clock_.now())},
                                              {"text", std::move(got.text)}});
                      }
                      clients_.answer(asker, std::move(reply));
                    });
}

void QueryDesk::output(const Asker& asker, const wire::Query& message) {
  if_visible(asker, message.job_id, [this, asker, message](bool is_visible) {
    if (is_visible) return read_output(asker, message);
    wire::Rows none;
    none.next = message.after;
    clients_.answer(asker, std::move(none));
  });
}

void QueryDesk::read_output(const Asker& asker, const wire::Query& message) {
  const auto after = numbers(message.after);
  ListOutput question{.job_id = message.job_id,
                      .limit = std::min<std::int64_t>(page_of(message), 64)};
  if (after.size() == 2) {
    question.after_attempt = static_cast<std::int32_t>(after[0]);
    question.after_sequence = after[1];
  }
  if (executor_output(asker, question)) return;
  read(asker, question, [this, asker, question, before = message.after](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    wire::Rows reply;
    reply.next = before;
    std::vector<OutputRow>& chunks = std::get<OutputAnswer>(answer.value()).rows;
    if (chunks.empty()) return output_of_ended(asker, question, std::move(reply));
    for (OutputRow& chunk : chunks) {
      reply.next = key_text({chunk.attempt, chunk.sequence});
      reply.rows.push_back({{"attempt", std::int64_t{chunk.attempt}},
                            {"seq", chunk.sequence},
                            {"stream", std::string(chunk.stream == 2   ? "stderr"
                                                   : chunk.stream == 3 ? "log"
                                                                       : "stdout")},
                            {"at", format_time(chunk.at)},
                            {"text", std::move(chunk.bytes)}});
    }
    clients_.answer(asker, std::move(reply));
  });
}

// No output is stored: it may be a pushed run that ended before this session.
void QueryDesk::output_of_ended(const Asker& asker, const ListOutput& question, wire::Rows none) {
  if (executors_.groups().empty() || executing_.find(question.job_id) != nullptr)
    return clients_.answer(asker, std::move(none));
  read_history(
      asker, ListHistory{.job_id = question.job_id, .limit = kCallsMax},
      [this, asker, question, none = std::move(none)](Result<std::vector<LogEntry>> history) {
        if (!history.ok()) return clients_.answer(asker, error_reply(history.error()));
        const bool was_pushed = logs_.recall(question.job_id, history.value());
        if (was_pushed && executor_output(asker, question)) return;
        clients_.answer(asker, none);
      });
}

void QueryDesk::stats(const Asker& asker) {
  wire::Row row;
  for (auto& [name, value] : sources_.stats()) row.emplace_back(name, value);
  wire::Rows reply;
  reply.rows.push_back(std::move(row));
  clients_.answer(asker, std::move(reply));
}

}  // namespace carillon::jobtracker
