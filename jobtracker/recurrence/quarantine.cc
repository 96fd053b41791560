#include "jobtracker/recurrence/quarantine.h"

namespace carillon::jobtracker {

void Quarantine::count_lost(ActiveDefinition& definition, const WaitingJob& job) {
  if (!definition.counts_loss_of(job)) return;
  if (definition.spec.overlap == Overlap::kCancelRunning) definition.lost_before = job.lost;
  if (was_lost_too_often(job)) begin(job, job.lost);
}

void Quarantine::begin(const WaitingJob& job, int lost) {
  changes_.when_settled(job.definition, [this, job, lost](ActiveDefinition& definition) {
    if (!definition.counts_loss_of(job)) return;
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
