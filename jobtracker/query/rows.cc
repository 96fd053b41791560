// Rows of definitions, jobs and the log for clients.
#include <algorithm>

#include "jobtracker/query/definition_filter.h"
#include "jobtracker/query/query.h"
#include "shared/base/joined.h"
#include "shared/base/time_text.h"
#include "shared/job/schedule.h"
#include "shared/wire/spec_words.h"

namespace carillon::jobtracker {
namespace {

wire::Field time_field(WallTime time) {
  if (time == WallTime{}) return std::monostate{};
  return format_time(time);
}

std::string id_text(JobId id) { return std::to_string(id.value); }

std::string schedule_text(const Schedule& schedule) {
  switch (schedule.kind) {
    case ScheduleKind::kAt:
      return format_time(schedule.at);
    case ScheduleKind::kCron:
      return schedule.cron;
    case ScheduleKind::kEvery:
    case ScheduleKind::kFixedDelay: {
      std::string text = format_duration(schedule.interval);
      if (schedule.count) text += " x " + std::to_string(*schedule.count);
      return text;
    }
    case ScheduleKind::kNow:
    case ScheduleKind::kManual:
      break;
  }
  return word_of(schedule.kind);
}

}  // namespace

wire::Row QueryDesk::definition_row(ActiveDefinition& definition) const {
  const Definition& row = definition.row;
  const bool is_cron = row.kind == ScheduleKind::kCron;
  const WallTime next = is_held(row.state) ? WallTime{} : definition.coming_fire(clock_.now());
  return {{"task_id", row.task_id},
          {"group", group_name(row.group)},
          {"kind", word_of(row.kind)},
          {"schedule", schedule_text(definition.spec.schedule)},
          {"tz", is_cron ? wire::Field{definition.spec.schedule.tz} : wire::Field{}},
          {"dst", is_cron ? wire::Field{std::string(
                                wire::word_of(definition.spec.schedule.dst, wire::kDstWords))}
                          : wire::Field{}},
          {"state", std::string{state_word(definition, clock_.now())}},
          {"next_fire", time_field(next)},
          {"last_fire", time_field(row.last_fire)},
          {"priority", std::int64_t{definition.spec.priority}},
          {"overlap", std::string(wire::word_of(definition.spec.overlap, wire::kOverlapWords))},
          {"tags", joined(definition.spec.tags, ",")},
          {"running", static_cast<std::int64_t>(catalog_.runs(definition).size())},
          {"description", definition.spec.description},
          {"owner", definition.spec.owner}};
}

wire::Field QueryDesk::reason(GroupId group, const wire::SpecGlance& glance, bool in_quarantine,
                              bool is_due) const {
  if (in_quarantine) {
    return "in quarantine: the task tracker died in " + std::to_string(kLostRunsMax) +
           " runs in a row (release it with jobclient resume)";
  }
  if (glance.is_pushed) {
    if (!health_.is_nobody_there(group)) return std::monostate{};
    if (executors_.members(group).empty())
      return "no executor of group '" + group_name(group) + "' is registered";
    if (health_.does_any_hang(group))
      return "no executor of group '" + group_name(group) + "' answers";
    return "no program listens at the addresses of the executors of group '" + group_name(group) +
           "'";
  }
  if (workers_.count(group) == 0) {
    const Group* whole = catalog_.whole_of(group);
    const bool is_part = whole != nullptr && catalog_.parts(whole->id) > 1;
    return "no task tracker of group '" + group_name(group) +
           (is_part ? "' is connected to the job tracker that owns this partition (list all job "
                      "trackers in --tracker)"
                    : "' is connected");
  }
  if (!workers_.accepts(group, glance)) return none_accepts(group_name(group), glance.kind);
  return is_due ? reason_none_is_free(group, glance) : std::monostate{};
}

// Of the task trackers that accept it. One that has not asked for jobs yet is about to.
wire::Field QueryDesk::reason_none_is_free(GroupId group, const wire::SpecGlance& glance) const {
  int busy = 0;
  std::int64_t threads = 0;
  int draining = 0;
  int isolated = 0;
  std::string overloaded;
  for (const auto& [session, worker] : workers_.all()) {
    const bool is_of_group =
        std::find(worker->parts.begin(), worker->parts.end(), group) != worker->parts.end();
    if (!is_of_group || !worker->kinds.takes(glance)) continue;
    if (worker->is_draining || worker->is_drained) {
      ++draining;
    } else if (!worker->overload.empty()) {
      overloaded += (overloaded.empty() ? "" : "; ") + worker->name + " " + worker->overload;
    } else if (!worker->has_asked()) {
      return std::monostate{};
    } else if (worker->credit() <= 0) {
      ++busy;
      threads += worker->threads;
    } else if (worker->is_isolated) {
      ++isolated;
    } else {
      return std::monostate{};
    }
  }
  std::string parts;
  const auto add = [&parts](const std::string& part) {
    parts += (parts.empty() ? "" : ", ") + part;
  };
  if (busy > 0) add(std::to_string(threads) + (threads == 1 ? " thread busy" : " threads busy"));
  if (!overloaded.empty()) add("overloaded (" + overloaded + ")");
  if (draining > 0) add(std::to_string(draining) + " shutting down");
  if (isolated > 0) add(std::to_string(isolated) + " isolated after failures");
  return "no task tracker of group '" + group_name(group) + "' has a free thread: " + parts;
}

wire::Row QueryDesk::executor_row(const ExecutorRow& row) const {
  return {{"name", group_name(row.group)},
          {"kind", std::string("executor")},
          {"group", group_name(row.group)},
          {"address", row.address},
          {"state",
           std::string(health_.is_reachable(row.group, row.address) ? "alive" : "unreachable")},
          {"threads", std::monostate{}},
          {"free", std::monostate{}},
          {"last_seen", time_field(row.registered_at)},
          {"labels", std::string(row.is_manual ? "by hand" : "")},
          {"version", std::monostate{}}};
}

wire::Row QueryDesk::waiting_row(const WaitingJob& job) const {
  return {{"job_id", id_text(job.id)},
          {"task_id", job.task_id},
          {"group", group_name(job.group)},
          {"trigger_time", time_field(job.trigger_time)},
          {"due_time", time_field(due_time(job))},
          {"priority", std::int64_t{catalog_.own_priority(job)}},
          {"attempt", std::int64_t{job.attempt}},
          {"kind", word_of(job.kind)},
          {"state", std::string(is_quarantined(job) ? "quarantined"
                                : job.suspended     ? "suspended"
                                : job.delayed       ? "delayed"
                                                    : "waiting")}};
}

wire::Row QueryDesk::executing_row(const Executing& entry) const {
  const WaitingJob& job = entry.row.job;
  const auto session = workers_.all().find(entry.row.session);
  wire::Field lease;
  if (session != workers_.all().end() && !is_push_session(session->first)) {
    const Duration left = lease_ - std::chrono::duration_cast<Duration>(clock_.steady_now() -
                                                                        session->second->heard_at);
    lease = format_time(clock_.now() + left);
  }
  return {{"job_id", id_text(job.id)},
          {"task_id", job.task_id},
          {"group", group_name(job.group)},
          {"attempt", std::int64_t{job.attempt}},
          {"node", entry.row.node},
          {"trigger_time", time_field(job.trigger_time)},
          {"started_at", time_field(entry.handed_out_at)},
          {"lease_until", lease}};
}

wire::Row QueryDesk::log_row(const LogEntry& entry) const {
  wire::Field lateness;
  if (entry.started_at != WallTime{}) {
    lateness = static_cast<double>((entry.started_at - entry.trigger_time).count()) / 1000.0;
  }
  wire::Field exit_code;
  if (entry.exit_code) exit_code = std::int64_t{*entry.exit_code};
  return {{"job_id", entry.job_id ? wire::Field{id_text(entry.job_id)} : wire::Field{}},
          {"task_id", entry.task_id},
          {"group", group_name(entry.group)},
          {"attempt", std::int64_t{entry.attempt}},
          {"state", std::string(to_string(entry.state))},
          {"trigger_time", time_field(entry.trigger_time)},
          {"started_at", time_field(entry.started_at)},
          {"ended_at", time_field(entry.ended_at)},
          {"lateness_ms", lateness},
          {"node", entry.node.empty() ? wire::Field{} : wire::Field{entry.node}},
          {"exit_code", exit_code},
          {"message", entry.message},
          {"count", entry.count}};
}

}  // namespace carillon::jobtracker
