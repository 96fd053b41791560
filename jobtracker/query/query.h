#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "jobtracker/query/question_queue.h"
#include "jobtracker/state/alarm_view.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executing.h"
#include "jobtracker/state/executor_health.h"
#include "jobtracker/state/executor_logs.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"

namespace carillon::jobtracker {

class DefinitionFilter;

// A counter or gauge by name.
using Stat = std::pair<std::string, std::int64_t>;

// What other parts know, for queries.
struct QuerySources {
  std::function<std::vector<Stat>()> stats{};
  std::function<std::vector<FiringAlarm>()> alarms{};
  std::function<std::vector<AlarmRuleText>()> alarm_rules{};
};

// Answers queries: from memory if the loop has the data, otherwise from the store's query
// connection. docs/reference/protocol.md lists the fields of each kind of row.
//
// Thread: the loop.
class QueryDesk {
 public:
  QueryDesk(Catalog& catalog, const Ownership& ownership, ExecutingTable& executing,
            Workers& workers, const Executors& executors, const ExecutorHealth& health,
            ExecutorLogs& logs, Questions& questions, ClientLink& clients, SchedulingClock& clock,
            Duration lease, QuerySources sources);

  void query(const Asker& asker, const wire::Query& message);
  Sizes sizes() const { return line_.sizes(); }

 private:
  void read(const Asker& asker, Read question, QuestionQueue::OnRead on_read) {
    line_.read(asker, std::move(question), std::move(on_read));
  }
  bool is_redirect(const Asker& asker, const wire::Query& message);
  void list(const Asker& asker, const wire::Query& message);
  wire::Rows definitions_page(const ListDefinitions& question,
                              const DefinitionFilter& filter) const;
  wire::Rows definitions_of_task(const ListDefinitions& question,
                                 const DefinitionFilter& filter) const;
  wire::Rows stored_page(DefinitionsAnswer found, const DefinitionFilter& filter,
                         std::int64_t rows_max) const;
  // Of another job tracker. None: it is ours, and being added or removed, its group is not known
  // yet, or it cannot be read.
  std::optional<ActiveDefinition> definition_of(Definition row) const;
  void waiting(const Asker& asker, const wire::Query& message);
  void executing(const Asker& asker, const wire::Query& message);
  void history(const Asker& asker, const wire::Query& message);
  void read_history(const Asker& asker, ListHistory question,
                    std::function<void(Result<std::vector<LogEntry>>)> then,
                    std::vector<LogEntry> found = {});
  void show(const Asker& asker, const wire::Query& message);
  void job(const Asker& asker, const wire::Query& message, int tries);
  void job_from_log(const Asker& asker, const wire::Query& message, int tries);
  void output(const Asker& asker, const wire::Query& message);
  bool executor_output(const Asker& asker, const ListOutput& question);
  void output_of_ended(const Asker& asker, const ListOutput& question, wire::Rows none);
  void nodes(const Asker& asker, const wire::Query& message);
  void groups(const Asker& asker, const wire::Query& message);
  void counts(const Asker& asker, const wire::Query& message);
  void scripts(const Asker& asker, const wire::Query& message);
  void audit(const Asker& asker, const wire::Query& message);
  void read_audit(const Asker& asker, ListAudit question, wire::Rows reply);
  void figures(const Asker& asker, const wire::Query& message);
  void figures_in_steps(const Asker& asker, const wire::Query& message, GroupId group);
  // Where a page of `calendar` and `fires` begins, and what it is about.
  struct CalendarPage {
    std::vector<GroupId> groups{};  // partitions of groups; empty: all
    Partitions partitions{};        // only groups of these
    std::int32_t first = 0;         // of them
    DefinitionId definition{};      // begins after it, or with it if there is a time
    WallTime time{};                // begins with its fires from then on
    std::string next{};             // the page after all of these
  };
  std::optional<CalendarPage> calendar_page(const Asker& asker, const wire::Query& message) const;
  using OnDefinition = std::function<void(const ActiveDefinition&)>;  // with fires to come
  using OnFire = std::function<bool(const ActiveDefinition&, WallTime)>;
  std::string each_fire(const CalendarPage& page, const wire::Query& message,
                        const OnDefinition& on_definition, const OnFire& on_fire) const;
  void calendar(const Asker& asker, const wire::Query& message);
  void fires(const Asker& asker, const wire::Query& message);
  void answer_with_last_change(const Asker& asker, GroupId group, const std::string& task_id,
                               wire::Row row);
  void stats(const Asker& asker);
  void specs(const Asker& asker, const wire::Query& message);
  void events(const Asker& asker, const wire::Query& message);
  void trackers(const Asker& asker);
  void alarms(const Asker& asker, const wire::Query& message);
  void alarm_rules(const Asker& asker);
  void alarm_history(const Asker& asker, const wire::Query& message);
  void read_alarm_history(const Asker& asker, ListAlarmHistory question);
  void answer_unknown_job(const Asker& asker, JobId id);

  wire::Row definition_row(ActiveDefinition& definition) const;
  wire::Row executing_row(const Executing& entry) const;
  wire::Row waiting_row(const WaitingJob& job) const;
  wire::Row log_row(const LogEntry& entry) const;
  wire::Row executor_row(const ExecutorRow& row) const;
  // Why it does not run. `is_due`: it would run now if a thread were free.
  wire::Field reason(GroupId group, const wire::SpecGlance& glance, bool in_quarantine,
                     bool is_due) const;
  wire::Field reason_none_is_free(GroupId group, const wire::SpecGlance& glance) const;
  std::string group_name(GroupId id) const;
  // The partitions to search: those of the group, or of all groups that the asker may see. Empty:
  // all. None: the asker may see no group.
  std::optional<std::vector<GroupId>> visible_parts(const Asker& asker, GroupId group) const;
  // Whether jobs of this partition do not exist for it.
  bool is_hidden(const Asker& asker, GroupId part) const;
  void read_output(const Asker& asker, const wire::Query& message);
  void if_visible(const Asker& asker, JobId id, std::function<void(bool is_visible)> then);
  // The partitions of the group; empty if no group is named.
  std::vector<GroupId> parts_of(GroupId group) const;
  GroupId whole(GroupId part) const;  // the group that this partition belongs to
  bool is_in_memory(GroupId group) const;
  // `parts`: those that are searched; empty: all.
  static std::string page_after(const std::vector<GroupId>& parts, const ListWaiting& last);
  // The groups of one page of `nodes` and `groups`: consecutive partitions that are ours. None: the
  // asker was sent to the owner.
  struct GroupPage {
    std::set<GroupId> groups{};  // whole groups
    std::string next{};
  };
  std::optional<GroupPage> group_page(const Asker& asker, const wire::Query& message) const;
  // Of parts of these groups that other job trackers look after.
  struct OtherRuns {
    std::map<SessionId, std::int64_t> by_session{};
    std::map<GroupId, std::int64_t> by_group{};  // whole groups
  };
  void read_other_runs(const Asker& asker, const std::set<GroupId>& groups,
                       std::function<void(OtherRuns)> then);
  wire::Rows node_rows(const GroupPage& page, const std::vector<NodeRow>& stored,
                       const OtherRuns& others) const;
  wire::Rows group_rows(const GroupPage& page, const CountAnswer& counted,
                        const OtherRuns& others) const;
  // The group a question names; empty: all (id 0). Otherwise an error for the asker.
  Result<GroupId> group_of(const wire::Query& message) const;

  Catalog& catalog_;
  const Ownership& ownership_;
  ExecutingTable& executing_;
  Workers& workers_;
  const Executors& executors_;
  const ExecutorHealth& health_;
  ExecutorLogs& logs_;
  QuestionQueue line_;
  ClientLink& clients_;  // the question line, which passes on each answer
  SchedulingClock& clock_;
  Duration lease_;
  QuerySources sources_;
};

}  // namespace carillon::jobtracker
