// What a run sets off when it has succeeded: one run of each of its children, off their grids.
#include <string>
#include <utility>

#include "jobtracker/recurrence/recurrence.h"

namespace carillon::jobtracker {
namespace {

// So many that were not set off are named in a row of the log.
constexpr std::size_t kNamedMax = 5;

}  // namespace

std::string Recurrence::why_not_set_off(const ActiveDefinition* definition) const {
  if (definition == nullptr) return "is not defined";
  switch (definition->row.state) {
    case DefinitionState::kEnded:
      return "has had its last fire";
    case DefinitionState::kQuarantined:
      return "is in quarantine";
    case DefinitionState::kActive:
    case DefinitionState::kSuspended:
      break;
  }
  if (definition->spec.overlap != Overlap::kSkip || definition->running.empty()) return {};
  return "was running already";
}

SetOff Recurrence::set_off(const WaitingJob& job) {
  SetOff all;
  std::size_t left_out = 0;
  // Its children as its definition has them by now, unless the run has a job of its own.
  std::optional<JobSpec> own;
  const JobSpec* spec = catalog_.spec_of(job, own, "children");
  if (spec == nullptr) return all;
  for (const Child& child : spec->children) {
    const Group* group = catalog_.group(child.group);
    ActiveDefinition* definition =
        group == nullptr ? nullptr : catalog_.definition(group->id, child.task_id);
    const std::string why_not = why_not_set_off(definition);
    if (why_not.empty()) {
      WaitingJob run = triggered(*definition, {}, false);
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

void Recurrence::was_set_off(std::vector<WaitingJob> runs, bool done) {
  for (WaitingJob& run : runs) {
    const DefinitionId id = run.definition;
    if (ActiveDefinition* definition = catalog_.definition(id)) --definition->triggers_under_way;
    if (done) {
      sink_.offer(std::move(run));
    } else {
      remove_if_over(id);
    }
  }
}

}  // namespace carillon::jobtracker
