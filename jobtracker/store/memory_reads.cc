#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "jobtracker/store/memory_store.h"
#include "jobtracker/store/names.h"
#include "shared/base/utf8.h"

// The reads of a memory database.
namespace carillon::jobtracker {
namespace {

template <class Row>
bool is_full(const std::vector<Row>& rows, std::int64_t limit) {
  return static_cast<std::int64_t>(rows.size()) >= limit;
}

bool has_text(const LogEntry& entry, const std::string& text) {
  const std::string wanted = lower_ascii(text);
  const auto has = [&](const std::string& field) {
    return lower_ascii(field).find(wanted) != std::string::npos;
  };
  return text.empty() || has(entry.task_id) || has(entry.node) || has(entry.message);
}

template <class Map>
std::vector<typename Map::mapped_type> rows_of(const Map& map) {
  std::vector<typename Map::mapped_type> rows;
  for (const auto& [key, row] : map) rows.push_back(row);
  return rows;
}

Error no_group(GroupId group) {
  return {ErrorCode::kNotFound, "group " + std::to_string(group.value) + " does not exist"};
}

class MemoryReads {
 public:
  MemoryReads(const MemoryTables& tables, Partitions owned) : tables_(tables), owned_(owned) {}

  Result<ReadAnswer> operator()(const ReadStart& ask) const {
    StartAnswer answer{.definition_high = tables_.definition_high};
    for (const auto& [id, group] : tables_.groups) answer.groups.push_back(group);
    const std::set<DefinitionId> unsettled(ask.unsettled.begin(), ask.unsettled.end());
    std::set<GroupId> groups;
    for (const auto& [id, one] : tables_.definitions) {
      const bool is_known = has_group(ask.known, one.group) && !unsettled.contains(id);
      if (!has_group(owned_, one.group) || is_known) continue;
      answer.definitions.push_back(one);
      groups.insert(one.group);
    }
    for (const auto& [id, job] : tables_.executing) answer.executing.push_back(job);
    const auto take_retry = [&](const WaitingJob& job) {
      const bool is_known = has_group(ask.known, job.group) && !unsettled.contains(job.definition);
      if (job.definition && job.attempt > 0 && !is_known) answer.retries.push_back(job);
    };
    for (const GroupId group : groups) {
      for (const auto& [id, job] : tables_.waiting.at(group).all()) take_retry(job);
    }
    for (const auto& [id, job] : tables_.delayed.all()) take_retry(job);
    std::sort(answer.retries.begin(), answer.retries.end(),
              [](const WaitingJob& a, const WaitingJob& b) { return a.id < b.id; });
    answer.feedback = feedback_counts().rows;
    answer.executor_groups = rows_of(tables_.executor_groups);
    answer.executors = rows_of(tables_.executors);
    answer.push_runs = rows_of(tables_.push_runs);
    answer.routes = rows_of(tables_.routes);
    answer.alarms = rows_of(tables_.alarms);
    answer.silences = rows_of(tables_.silences);
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ReadExecutors&) const {
    return ReadAnswer{ExecutorsAnswer{.groups = rows_of(tables_.executor_groups),
                                      .executors = rows_of(tables_.executors)}};
  }

  Result<ReadAnswer> operator()(const ReadExecutorResults& ask) const {
    ExecutorResultsAnswer answer;
    const auto& all = tables_.executor_results;
    std::int64_t left = ask.limit;
    for (auto at = all.upper_bound(ask.after); at != all.end() && left > 0; ++at) {
      const auto& [id, row] = *at;
      if (--left == 0) answer.next = id;
      if (owned_.test(static_cast<std::size_t>(partition_of_log_id(row.log_id))))
        answer.rows.push_back(row);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ReadClock&) const { return ReadAnswer{ClockAnswer{}}; }

  Result<ReadAnswer> operator()(const ReadDue& ask) const {
    const WaitingTable* table = CARILLON_TRY(group_table(ask.group));
    return ReadAnswer{JobsAnswer{table->due(ask.now, ask.after, ask.limit)}};
  }

  Result<ReadAnswer> operator()(const ReadUpcoming& ask) const {
    const WaitingTable* table = CARILLON_TRY(group_table(ask.group));
    return ReadAnswer{
        JobsAnswer{table->upcoming(ask.after_time, ask.after_id, ask.through, ask.limit)}};
  }

  Result<ReadAnswer> operator()(const ReadDelayed& ask) const {
    JobsAnswer answer;
    const auto all = static_cast<std::int64_t>(tables_.delayed.size());
    for (const WaitingJob& job : tables_.delayed.upcoming(WallTime::min(), {}, ask.through, all)) {
      if (is_full(answer.jobs, ask.limit)) break;
      if (!job.suspended && has_group(owned_, job.group)) answer.jobs.push_back(job);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const Find& ask) const {
    if (ask.group) CARILLON_TRY(group_table(ask.group));
    FindAnswer answer;
    if (ask.task_id.empty()) {
      find_job(ask.job_id, ask.group, answer);
      return ReadAnswer{std::move(answer)};
    }
    for (const auto& [key, holder] : tables_.keys) {
      if (key.second != ask.task_id || (ask.group && key.first != ask.group)) continue;
      answer.definition = holder.definition;
      if (holder.job) find_job(holder.job, key.first, answer);
      return ReadAnswer{std::move(answer)};
    }
    if (const auto job = job_of_task_id(ask.task_id)) {
      find_job(*job, ask.group, answer);
      if (answer.waiting && answer.waiting->task_id != ask.task_id) answer = {};
      if (answer.executing && answer.executing->job.task_id != ask.task_id) answer = {};
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ReadDefinition& ask) const {
    CARILLON_TRY(group_table(ask.group));
    DefinitionAnswer answer;
    for (const auto& [id, definition] : tables_.definitions) {
      if (definition.group == ask.group && definition.task_id == ask.task_id)
        answer.definition = definition;
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ReadOccurrences& ask) const {
    const WaitingTable* table = CARILLON_TRY(group_table(ask.group));
    if (ask.untried_before) return untried(ask, *table);
    JobsAnswer answer{table->of_definition(ask.definition, ask.limit)};
    for (const WaitingJob& job : tables_.delayed.of_definition(ask.definition, ask.limit)) {
      if (!is_full(answer.jobs, ask.limit)) answer.jobs.push_back(job);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> untried(const ReadOccurrences& ask, const WaitingTable& table) const {
    JobsAnswer answer;
    for (const WaitingTable* one : {&table, &tables_.delayed}) {
      auto jobs = one->untried_of_definition(ask.definition, *ask.untried_before, ask.limit);
      std::move(jobs.begin(), jobs.end(), std::back_inserter(answer.jobs));
    }
    std::sort(answer.jobs.begin(), answer.jobs.end(),
              [](const WaitingJob& a, const WaitingJob& b) { return a.id > b.id; });
    answer.jobs.resize(std::min(answer.jobs.size(), static_cast<std::size_t>(ask.limit)));
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ReadFeedback& ask) const {
    FeedbackAnswer answer;
    for (auto next = tables_.feedback.lower_bound({ask.client_group, 0});
         next != tables_.feedback.end() && next->first.first == ask.client_group &&
         !is_full(answer.entries, ask.limit);
         ++next) {
      answer.entries.push_back(next->second);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ReadInbox& ask) const {
    InboxAnswer answer;
    for (const auto& [id, row] : tables_.inbox) {
      const bool is_ours = has_group(owned_, row.group);
      if (is_ours && !is_full(answer.rows, ask.limit)) answer.rows.push_back(row);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const FindGroup& ask) const {
    if (const Group* found = tables_.group(ask.name)) return ReadAnswer{GroupAnswer{*found}};
    return Error{ErrorCode::kNotFound, "there is no group '" + ask.name + "'"};
  }

  Result<ReadAnswer> operator()(const MakeGroup&) const {
    return Error{ErrorCode::kInvalidArgument, "a read-only store cannot create groups"};
  }

  Result<ReadAnswer> operator()(const SplitGroup&) const {
    return Error{ErrorCode::kInvalidArgument, "a read-only store cannot split groups"};
  }

  Result<ReadAnswer> operator()(const ListWaiting& ask) const {
    if (ask.delayed) {
      const auto after = ask.after.value_or(HandOutKey{0, WallTime::min(), JobId{}});
      JobsAnswer answer;
      const auto all = static_cast<std::int64_t>(tables_.delayed.size());
      for (const WaitingJob& job :
           tables_.delayed.upcoming(std::get<1>(after), std::get<2>(after), WallTime::max(), all)) {
        if (is_full(answer.jobs, ask.limit)) break;
        if (!ask.group || job.group == ask.group) answer.jobs.push_back(job);
      }
      return ReadAnswer{std::move(answer)};
    }
    const WaitingTable* table = CARILLON_TRY(group_table(ask.group));
    JobsAnswer answer{table->due(WallTime::max(), ask.after, ask.limit)};
    for (auto next = tables_.waiting.upper_bound(ask.group);
         ask.and_later_groups && next != tables_.waiting.end(); ++next) {
      for (const WaitingJob& job : next->second.due(WallTime::max(), {}, ask.limit)) {
        if (!is_full(answer.jobs, ask.limit)) answer.jobs.push_back(job);
      }
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ListDefinitions& ask) const {
    DefinitionsAnswer answer;
    for (auto at = tables_.definitions.upper_bound(ask.after);
         at != tables_.definitions.end() && !is_full(answer.definitions, ask.limit); ++at) {
      const Definition& one = at->second;
      if (!is_of(ask.groups, one.group)) continue;
      if (ask.task_id.empty() || one.task_id == ask.task_id) answer.definitions.push_back(one);
    }
    if (!answer.definitions.empty() && is_full(answer.definitions, ask.limit))
      answer.next = answer.definitions.back().id;
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ListExecuting& ask) const {
    ExecutingAnswer answer;
    for (auto next = tables_.executing.upper_bound(ask.after);
         next != tables_.executing.end() && !is_full(answer.jobs, ask.limit); ++next) {
      if (is_of(ask.groups, next->second.job.group)) answer.jobs.push_back(next->second);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ListHistory& ask) const {
    HistoryAnswer answer;
    for (auto next = tables_.log.rbegin();
         next != tables_.log.rend() && !is_full(answer.entries, ask.limit); ++next) {
      const LogEntry& entry = next->second;
      if (entry.id <= ask.job_id.value) break;  // Ids grow: a job's rows are all above its id.
      if (ask.before_id != 0 && entry.id >= ask.before_id) continue;
      if (!is_of(ask.groups, entry.group)) continue;
      if (!ask.task_id.empty() && entry.task_id != ask.task_id) continue;
      if (ask.job_id && entry.job_id != ask.job_id) continue;
      if (!is_one_of(ask.states, entry.state)) continue;
      if (ask.until != WallTime{} && entry.ended_at >= ask.until) continue;
      if (!entry.task_id.starts_with(ask.task_prefix) || !has_text(entry, ask.text)) continue;
      if (entry.ended_at >= ask.since) answer.entries.push_back(entry);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const CountLog& ask) const {
    std::map<std::tuple<GroupId, LogState, bool>, std::int64_t> sums;
    for (const auto& [key, ends] : tables_.log_counts) {
      const auto& [slot, group, state, final] = key;
      const bool fits = slot >= ask.from && slot < ask.until && is_of(ask.groups, group);
      if (fits) sums[{group, state, final}] += ends;
    }
    LogCountAnswer answer;
    for (const auto& [key, ends] : sums) {
      const auto& [group, state, final] = key;
      answer.counts.push_back({.group = group, .state = state, .final = final, .ends = ends});
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ListScripts& ask) const {
    ScriptsAnswer answer;
    for (const auto& [key, script] : tables_.scripts) {
      if (key.first == ask.definition) answer.versions.insert(answer.versions.begin(), script);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ListAudit& ask) const {
    AuditAnswer answer;
    for (auto next = tables_.audit.rbegin(); next != tables_.audit.rend(); ++next) {
      const AuditRow& row = next->second;
      if (row.id < ask.from_id || is_full(answer.rows, ask.limit)) break;
      const bool fits = (ask.before_id == 0 || row.id < ask.before_id) &&
                        (ask.group.empty() || row.group == ask.group) &&
                        (ask.task_id.empty() || row.task_id == ask.task_id) &&
                        (ask.by.empty() || row.by == ask.by);
      if (fits) answer.rows.push_back(row);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ListPrincipals&) const {
    PrincipalsAnswer answer;
    for (const auto& [key, row] : tables_.principals) answer.rows.push_back(row);
    return ReadAnswer{std::move(answer)};
  }

  std::vector<FiguresRow> sums_of_minutes(const ListFigures& ask) const {
    std::map<WallTime, FiguresRow> minutes;
    for (const auto& [key, row] : tables_.figures) {
      const bool is_late = ask.until != WallTime{} && row.minute >= ask.until;
      if (row.minute < ask.since || is_late || !is_of(ask.groups, row.group)) continue;
      const auto [sum, is_new] = minutes.try_emplace(row.minute, FiguresRow{.minute = row.minute});
      add_figures(sum->second, row);
    }
    std::vector<FiguresRow> rows = rows_of(minutes);
    if (is_full(rows, ask.limit)) rows.resize(static_cast<std::size_t>(ask.limit));
    return rows;
  }

  Result<ReadAnswer> operator()(const ListFigures& ask) const {
    FiguresAnswer answer;
    if (ask.is_sum) return ReadAnswer{FiguresAnswer{sums_of_minutes(ask)}};
    const FiguresKey from = std::max(ask.after, FiguresKey{ask.since, GroupId{}, GroupId{}});
    for (auto next = tables_.figures.upper_bound(from);
         next != tables_.figures.end() && !is_full(answer.rows, ask.limit); ++next) {
      const FiguresRow& row = next->second;
      if (ask.until != WallTime{} && row.minute >= ask.until) break;
      if (!ask.group || row.group == ask.group) answer.rows.push_back(row);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ListAlarmHistory& ask) const {
    AlarmHistoryAnswer answer;
    for (auto next = tables_.alarm_history.rbegin();
         next != tables_.alarm_history.rend() && !is_full(answer.rows, ask.limit); ++next) {
      const AlarmHistoryRow& row = next->second;
      const bool fits =
          (ask.before_id == 0 || row.id < ask.before_id) && (!ask.group || row.group == ask.group);
      if (fits) answer.rows.push_back(row);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const ListSilences&) const {
    return ReadAnswer{SilencesAnswer{rows_of(tables_.silences)}};
  }

  Result<ReadAnswer> operator()(const ListOutput& ask) const {
    OutputAnswer answer;
    for (auto next =
             tables_.output.upper_bound({ask.job_id, ask.after_attempt, ask.after_sequence});
         next != tables_.output.end() && next->second.job_id == ask.job_id &&
         !is_full(answer.rows, ask.limit);
         ++next) {
      answer.rows.push_back(next->second);
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const CountWaiting& ask) const {
    CountAnswer answer;
    for (const auto& [id, table] : tables_.waiting) {
      if (!is_of(ask.groups, id)) continue;
      const std::int64_t due = table.count_due(ask.now);
      answer.groups.push_back(
          {.group = id,
           .waiting = ask.only_due ? due : static_cast<std::int64_t>(table.size()),
           .due = due,
           .due_since = due > 0 ? table.first_time() : WallTime{}});
    }
    if (ask.only_due) return ReadAnswer{std::move(answer)};
    for (const auto& [id, job] : tables_.delayed.all()) {
      for (auto& counted : answer.groups) {
        if (counted.group == job.group) ++counted.waiting;
      }
    }
    return ReadAnswer{std::move(answer)};
  }

  Result<ReadAnswer> operator()(const CountFeedback&) const {
    return ReadAnswer{feedback_counts()};
  }

  Result<ReadAnswer> operator()(const ListNodes&) const {
    NodesAnswer answer;
    for (const auto& [session, node] : tables_.nodes) answer.nodes.push_back(node);
    return ReadAnswer{std::move(answer)};
  }

 private:
  FeedbackCounts feedback_counts() const {
    std::map<std::string, std::int64_t> rows;
    for (const auto& [key, entry] : tables_.feedback) ++rows[key.first];
    return {.rows = {rows.begin(), rows.end()}};
  }

  Result<const WaitingTable*> group_table(GroupId group) const {
    const auto found = tables_.waiting.find(group);
    if (found == tables_.waiting.end()) return no_group(group);
    return &found->second;
  }

  void find_job(JobId id, GroupId group, FindAnswer& answer) const {
    const auto executing = tables_.executing.find(id);
    if (executing != tables_.executing.end() && (!group || executing->second.job.group == group)) {
      answer.executing = executing->second;
      return;
    }
    if (const WaitingJob* job = tables_.delayed.find(id); job && (!group || job->group == group)) {
      answer.waiting = *job;
      return;
    }
    for (const auto& [owner, table] : tables_.waiting) {
      if (group && owner != group) continue;
      if (const WaitingJob* job = table.find(id)) {
        answer.waiting = *job;
        return;
      }
    }
  }

  const MemoryTables& tables_;
  const Partitions owned_;
};

}  // namespace

Result<ReadAnswer> MemoryDatabase::read(const Read& question, Partitions owned) const {
  return std::visit(MemoryReads{tables_, owned}, question);
}

}  // namespace carillon::jobtracker
