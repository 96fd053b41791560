#include "jobtracker/intake/run_stops.h"

#include <utility>

namespace carillon::jobtracker {

RunStops::RunStops(Catalog& catalog, ExecutingTable& executing, Workers& workers,
                   AttemptReclaimer& ends, Batcher& batcher, WorkerLink& link,
                   const SchedulingClock& clock)
    : catalog_(catalog),
      executing_(executing),
      workers_(workers),
      ends_(ends),
      batcher_(batcher),
      link_(link),
      clock_(clock) {}

void RunStops::stop_runs_of(DefinitionId id, const std::string& reason) {
  std::vector<Operation> runs;
  const ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) return;
  for (const JobId job : catalog_.runs(*definition)) {
    Executing* entry = executing_.find(job);
    if (entry == nullptr || entry->phase == Phase::kEnding || entry->row.cancelled ||
        entry->cancels > 0)
      continue;
    ++entry->cancels;
    runs.emplace_back(CancelExecuting{.id = job, .attempt = entry->row.job.attempt});
  }
  if (runs.empty()) return;
  batcher_.post_unit(Urgency::kCompletion, std::move(runs),
                     [this, reason](std::vector<Operation>& done,
                                    const std::vector<Outcome>& outcomes, const Error*) {
                       for (std::size_t i = 0; i < done.size(); ++i) {
                         const auto& run = std::get<CancelExecuting>(done[i]);
                         Executing* entry = executing_.find(run.id, run.attempt);
                         if (entry == nullptr) continue;
                         --entry->cancels;
                         if (outcomes[i].kind == OutcomeKind::kDone) stop_runs({run.id}, reason);
                       }
                     });
}

void RunStops::stop_void(DefinitionId id) {
  std::vector<JobId> ahead;
  for (const JobId job : executing_.of_definition(id)) {
    const Executing& entry = *executing_.find(job);
    // A task tracker that is away may have started it; it gets a stop request when it returns.
    const bool is_ahead = is_early(entry) && workers_.find(entry.row.session) != nullptr;
    if (catalog_.is_void(entry.row) && (entry.phase == Phase::kHeld || is_ahead))
      ahead.push_back(job);
  }
  stop_runs(ahead, "cancelled before it started");
}

void RunStops::stop_again(const std::vector<wire::Held>& holding) {
  std::vector<JobId> jobs;
  for (const wire::Held& one : holding) {
    const Executing* entry = executing_.find(one.id.job_id);
    if (entry == nullptr || entry->phase != Phase::kSent) continue;
    const WaitingJob& job = entry->row.job;
    const bool is_changed = catalog_.is_void(entry->row) && !one.started && is_early(*entry);
    if (job.attempt == one.id.attempt && (entry->row.cancelled || is_changed))
      jobs.push_back(job.id);
  }
  stop_runs(jobs, "cancelled");
}

void RunStops::stop_stale(const Worker& worker, const std::vector<wire::Held>& holding) {
  if (called_off_.empty()) return;
  for (const wire::Held& one : holding) {
    const std::string* reason = called_off_.find(one.id.job_id);
    const Executing* entry = executing_.find(one.id.job_id, one.id.attempt);
    const bool is_its = entry != nullptr && entry->row.session == worker.session;
    if (reason == nullptr || is_its) continue;
    // If it is lost, it is sent again with the next list.
    (void)link_.send(worker, wire::Message{wire::Kill{.jobs = {one.id}, .reason = *reason}});
  }
}

void RunStops::stop_runs(const std::vector<JobId>& jobs, const std::string& reason) {
  for (const JobId id : jobs) {
    called_off_.add(id, reason);
    Executing* entry = executing_.find(id);
    if (entry == nullptr) continue;
    entry->row.cancelled = true;
    if (entry->phase == Phase::kHeld) {
      ends_.cancel_unsent(id);
    } else if (entry->phase == Phase::kSent) {
      const Worker* worker = workers_.find(entry->row.session);
      if (worker == nullptr) continue;  // Recovery ends it.
      if (!link_.send(*worker, wire::Message{wire::Kill{.jobs = {{id, entry->row.job.attempt}},
                                                        .reason = reason}})) {
        continue;  // It has left, or gets the request again when it registers.
      }
    }
  }
}

}  // namespace carillon::jobtracker
