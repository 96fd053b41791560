#include "jobtracker/recurrence/children.h"

#include <utility>

namespace carillon::jobtracker {
namespace {

// Most untriggered children named in a log row.
constexpr std::size_t kNamedMax = 5;
constexpr std::int64_t kTakenAtOnce = 1000;

}  // namespace

Children::Children(Plans& plans, Changes& changes, Catalog& catalog, const Ownership& ownership,
                   GroupMaker& groups, Batcher& batcher, JobSink& sink, IdSource& ids,
                   SchedulingClock& clock)
    : plans_(plans),
      changes_(changes),
      catalog_(catalog),
      ownership_(ownership),
      batcher_(batcher),
      sink_(sink),
      ids_(ids),
      clock_(clock),
      graph_(catalog, ownership, groups, batcher) {}

// A submission that closes a loop is rejected, but concurrent submissions to several job trackers
// may close one unnoticed.
std::string Children::why_not_triggered(const ActiveDefinition* definition,
                                        const ChildGraph::Foreign& foreign) const {
  if (definition == nullptr) return "is not defined";
  if (definition->has_had_last_fire(clock_.now())) return "has had its last fire";
  if (definition->row.state == DefinitionState::kQuarantined) return "is in quarantine";
  if (definition->spec.overlap == Overlap::kSkip && catalog_.is_running(*definition))
    return "was already running";
  if (definition->spec.children.empty()) return {};
  const Status status = graph_.check(definition->spec, foreign);
  return status.ok() ? std::string{} : "is not triggered: " + status.error().message;
}

std::vector<std::string> Children::unknown_groups(const WaitingJob& job) const {
  std::vector<std::string> names;
  if (ownership_.has_all()) return names;
  std::optional<JobSpec> own;
  const JobSpec* spec = catalog_.spec_of(job, own, "children");
  if (spec == nullptr) return names;
  for (const Child& child : spec->children) {
    if (catalog_.group(child.group) == nullptr) names.push_back(child.group);
  }
  return names;
}

TriggeredChildren Children::trigger_children(const WaitingJob& job) {
  TriggeredChildren all;
  std::size_t left_out = 0;
  // The children of its current definition, unless the run has its own spec.
  std::optional<JobSpec> own;
  const JobSpec* spec = catalog_.spec_of(job, own, "children");
  if (spec == nullptr) return all;
  for (const Child& child : spec->children) {
    const Group* group = catalog_.group(child.group);
    const GroupId part = group == nullptr ? GroupId{} : catalog_.part(group->id, child.task_id);
    if (part && !ownership_.has(part)) {
      all.relayed.push_back(
          {.id = ids_.next(clock_.now()), .group = part, .task_id = child.task_id});
      continue;
    }
    ActiveDefinition* definition = catalog_.definition(part, child.task_id);
    const std::string why_not = why_not_triggered(definition, {});
    if (why_not.empty()) {
      WaitingJob run = plans_.triggered(*definition, {}, false);
      run.priority = definition->spec.priority;
      all.runs.push_back(std::move(run));
      ++definition->triggers_under_way;
    } else if (++left_out <= kNamedMax) {
      all.note += (all.note.empty() ? "not triggered: " : ", ") + child.group + "/" +
                  child.task_id + " " + why_not;
    }
  }
  if (left_out > kNamedMax) {
    all.note += " and " + std::to_string(left_out - kNamedMax) + " other children";
  }
  return all;
}

void Children::children_were_stored(std::vector<WaitingJob> runs, bool done) {
  for (WaitingJob& run : runs) {
    const DefinitionId id = run.definition;
    if (ActiveDefinition* definition = catalog_.definition(id)) --definition->triggers_under_way;
    if (done) {
      sink_.offer(std::move(run));
    } else {
      changes_.remove_if_over(id);
    }
  }
}

void Children::take_inbox() {
  if (std::exchange(is_reading_, true)) return;
  batcher_.ask(ReadInbox{.limit = kTakenAtOnce}, [this](Result<ReadAnswer> answer) {
    is_reading_ = false;
    if (!answer.ok()) return;  // The next look comes soon.
    for (const InboxRow& row : std::get<InboxAnswer>(answer.value()).rows) {
      if (taken_.insert(row.id).second) take_relayed(row);
    }
  });
}

void Children::take_relayed(const InboxRow& row) {
  // The sender may not have known that the group was split.
  const GroupId part = catalog_.part(row.group, row.task_id);
  if (!ownership_.has(part)) return pass_on(row, part);
  const ActiveDefinition* definition = catalog_.definition(part, row.task_id);
  const std::vector<Child> none;
  graph_.read_foreign(definition == nullptr ? none : definition->spec.children,
                      [this, row, part](const Result<ChildGraph::Foreign>& foreign) {
                        if (foreign.ok()) {
                          const ActiveDefinition* found = catalog_.definition(part, row.task_id);
                          end_relayed(row, part, why_not_triggered(found, foreign.value()));
                        } else {
                          taken_.erase(row.id);  // The next look comes soon.
                        }
                      });
}

void Children::pass_on(const InboxRow& row, GroupId part) {
  std::vector<Operation> operations;
  operations.emplace_back(RemoveInbox{.id = row.id, .to = part});
  batcher_.post_unit(Urgency::kCompletion, std::move(operations),
                     [this, id = row.id](std::vector<Operation>&, const std::vector<Outcome>&,
                                         const Error*) { taken_.erase(id); });
}

void Children::end_relayed(const InboxRow& row, GroupId part, const std::string& why_not) {
  std::vector<Operation> operations;
  operations.emplace_back(RemoveInbox{.id = row.id});
  if (why_not.empty()) {
    ActiveDefinition* definition = catalog_.definition(part, row.task_id);
    WaitingJob run = plans_.triggered(*definition, {}, false);
    run.priority = definition->spec.priority;
    ++definition->triggers_under_way;
    operations.emplace_back(AddJob{.job = std::move(run)});
  } else {
    const WallTime now = clock_.now();
    operations.emplace_back(
        AddLog{.entry = {.id = ids_.next(now),
                         .group = part,
                         .task_id = row.task_id,
                         .state = LogState::kSkipped,
                         .trigger_time = now,
                         .ended_at = now,
                         .message = "not triggered by a parent's success: " + why_not}});
  }
  batcher_.post_unit(
      Urgency::kCompletion, std::move(operations),
      [this, id = row.id](std::vector<Operation>& done, const std::vector<Outcome>& outcomes,
                          const Error* refused) {
        taken_.erase(id);
        auto* added = std::get_if<AddJob>(&done.back());
        if (added == nullptr) return;
        WaitingJob run = std::move(added->job);
        const DefinitionId definition_id = run.definition;
        if (ActiveDefinition* found = catalog_.definition(definition_id)) {
          --found->triggers_under_way;
        }
        if (refused == nullptr && outcomes.back().kind == OutcomeKind::kDone) {
          changes_.offer_triggered(std::move(run));
        } else {
          changes_.remove_if_over(definition_id);
        }
      });
}

Sizes Children::sizes() const {
  Sizes all{{"taken", taken_.size()}};
  add_sizes(all, "graph", graph_.sizes());
  return all;
}

}  // namespace carillon::jobtracker
