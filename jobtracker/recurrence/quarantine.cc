#include "jobtracker/recurrence/quarantine.h"

namespace carillon::jobtracker {

void Quarantine::count_lost(ActiveDefinition& definition, const WaitingJob& job) {
  if (definition.spec.overlap != Overlap::kCancelRunning) return;
  definition.lost_before = job.lost;
  const bool goes_on = definition.row.state == DefinitionState::kActive ||
                       definition.row.state == DefinitionState::kEnded;
  if (goes_on && definition.lost_before >= kLostRunsMax) begin(job, definition.lost_before);
}

void Quarantine::begin(const WaitingJob& job, int lost) {
  changes_.when_settled(job.definition, [this, job, lost](ActiveDefinition& definition) {
    if (definition.voids(job)) return;  // What changed it took the row out.
    definition.lost_before = 0;
    ++begun_;
    log_.warn("a task is in quarantine: the task tracker died each time it ran", "job",
              job.id.value, "task", job.task_id);
    changes_.change(definition,
                    plans_.suspension(definition, DefinitionState::kQuarantined,
                                      "in quarantine: the task tracker died in " +
                                          std::to_string(lost) + " runs in a row of the job"));
  });
}

}  // namespace carillon::jobtracker
