#include "tests/sim/progress.h"

#include <algorithm>
#include <map>
#include <set>

#include "shared/base/time_text.h"
#include "shared/job/schedule.h"
#include "tests/sim/parts.h"

namespace carillon::sim {

using jobtracker::DefinitionState;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// Whatever is to be done is done by then.
constexpr Duration kWaitsMax = seconds{10};
// Two clocks may differ so much, without anybody believing that one was set.
constexpr Duration kClocksDiffer = seconds{5};
// A thread that is free for so long is handed what is due.
constexpr Duration kFree = seconds{3};
constexpr std::size_t kPendingMax = 200'000;

}  // namespace

void Progress::broken(JobId id, const Ledger::Job& job, const std::string& what) const {
  broken_("job " + std::to_string(id.value) + " of " + job.row.task_id + " " + what);
}

void Progress::check() {
  if (cluster_.timeline.pending() > kPendingMax) broken_("work piles up in the simulation");
  const std::vector<TrackerProcess*> trackers = cluster_.active();
  const bool is_quiet = cluster_.timeline.now() >= cluster_.quiet_from;
  if (trackers.empty()) {
    if (is_quiet && cluster_.has_standbys()) broken_("no job tracker works, though one stands by");
    return;
  }
  for (TrackerProcess* tracker : trackers) {
    if (is_quiet && !tracker->is_ready()) {
      return broken_(tracker->name() + " is not ready though nothing is wrong");
    }
  }
  if (!is_quiet) return;
  if (cluster_.has_several()) check_owners(trackers);
  const WallTime now = trackers.front()->scheduling_now();
  const bool was_set = cluster_.clock_was_set_since(cluster_.timeline.now() - minutes{10});
  for (const auto& [id, job] : cluster_.ledger.jobs()) {
    if (job.since + kWaitsMax >= cluster_.timeline.now()) continue;
    if (job.place == Ledger::Place::kExecuting) {
      check_executing(id, job);
    } else if (!was_set) {
      check_waiting(id, job, now);
    }
  }
  if (!was_set) check_schedules(now);
  check_disks();
}

// Each partition has an owner who works, in shares as equal as they can be, and what is to be set
// off elsewhere was set off.
void Progress::check_owners(const std::vector<TrackerProcess*>& trackers) {
  std::map<SessionId, int> shares;
  for (const TrackerProcess* tracker : trackers) {
    // One whose commit hangs still was replaced, and learns that when it ends.
    const bool hangs =
        tracker->commit_under_way() != 0 && !cluster_.owners.works(tracker->session());
    if (!hangs) shares[tracker->session()] = 0;
  }
  for (const SessionId owner : cluster_.owners.all()) {
    if (!shares.contains(owner)) return broken_("a partition has no owner who works");
  }
  std::set<std::size_t> used;
  std::set<std::pair<std::string, std::size_t>> places;
  const auto& tables = cluster_.database.tables();
  for (const auto& [id, group] : tables.groups) {
    const auto partition = static_cast<std::size_t>(jobtracker::partition_of(id));
    used.insert(partition);
    const std::string name = group_name(tables, id);
    if (!places.emplace(name, partition).second) broken_("two parts of " + name + " stay together");
  }
  for (const std::size_t partition : used) ++shares.at(cluster_.owners.all().at(partition));
  const auto [least, most] = std::minmax_element(
      shares.begin(), shares.end(),
      [](const auto& one, const auto& other) { return one.second < other.second; });
  if (most->second - least->second > 1) broken_("the node groups are not shared out evenly");
  for (const auto& [id, relayed] : cluster_.ledger.inbox()) {
    if (relayed.since + kWaitsMax < cluster_.timeline.now()) {
      broken_("task " + relayed.row.task_id + " is to be set off elsewhere, and is not");
    }
  }
}

// What could not be delivered, now can be.
void Progress::check_disks() {
  for (const Disk* disk : cluster_.disks) {
    if (disk->kept().empty()) continue;
    const Disk::Kept& oldest = disk->kept().begin()->second;
    if (oldest.since + kWaitsMax < cluster_.timeline.now()) {
      broken_("something lies on a disk, and is not delivered");
    }
  }
}

void Progress::check_executing(JobId id, const Ledger::Job& job) {
  if (jobtracker::is_push_session(job.session)) {
    // Each restart of a job tracker gives executors time to tell.
    const bool is_quiet = cluster_.are_executors_quiet() &&
                          cluster_.timeline.now() >= cluster_.quiet_from + minutes{3};
    if (is_quiet) cluster_.pushed.check_executing({id, job.row.attempt}, job);
    return;
  }
  const auto workers = cluster_.live_workers();
  const bool lives = std::any_of(workers.begin(), workers.end(), [&](const auto* worker) {
    return worker->session() == job.session;
  });
  if (!lives) return broken(id, job, "stays with a worker that is dead");
  if (job.stops_since && *job.stops_since + kWaitsMax < cluster_.timeline.now()) {
    return broken(id, job, "is to stop, and still executes");
  }
  const RunBook::Run* run = cluster_.runs.find({id, job.row.attempt});
  if (run == nullptr) return broken(id, job, "executes, and nobody runs it");
  if (run->ended && *run->ended + kWaitsMax < cluster_.timeline.now()) {
    broken(id, job, "executes, though its run has ended");
  }
}

void Progress::check_waiting(JobId id, const Ledger::Job& job, WallTime now) {
  if (job.row.suspended || jobtracker::due_time(job.row) + kWaitsMax + kClocksDiffer >= now) return;
  if (job.place == Ledger::Place::kDelayed) return broken(id, job, "is due, and still delayed");
  const WallTime latest = job.row.trigger_time + job.start_deadline + kWaitsMax + kClocksDiffer;
  if (job.start_deadline > Duration{} && job.row.attempt == 0 && !job.row.not_before &&
      latest < now) {
    return broken(id, job, "waits beyond its start deadline");
  }
  const WorkerProcess* idle = idle_worker(job);
  const bool has_executor = cluster_.are_executors_quiet() && cluster_.has_executor(job.row.group);
  if ((idle == nullptr && !has_executor) || waits_for_another(id, job)) return;
  broken(id, job,
         "waits though " +
             (idle == nullptr ? "an executor is there" : idle->name() + " has a thread free"));
}

bool Progress::waits_for_another(JobId id, const Ledger::Job& job) const {
  const auto definition = cluster_.ledger.definitions().find(job.row.definition);
  if (definition == cluster_.ledger.definitions().end()) return false;
  if (definition->second.spec.overlap == Overlap::kParallel) return false;
  if (definition->second.ended_at + kWaitsMax > cluster_.timeline.now()) return true;
  return std::any_of(
      cluster_.ledger.jobs().begin(), cluster_.ledger.jobs().end(), [&](const auto& one) {
        const auto& [other_id, other] = one;
        // Also of a definition that was replaced by this one's.
        const bool is_of_task = other.row.definition && other.row.group == job.row.group &&
                                other.row.task_id == job.row.task_id;
        if (other_id == id || !is_of_task) return false;
        const bool runs = other.place == Ledger::Place::kExecuting;
        // Also one that waits for its next try.
        return runs || other.row.attempt > 0;
      });
}

// Its free threads are for a job a minute then, if another like it is handed jobs; which one it is,
// only its job tracker knows.
bool Progress::is_one_isolated() {
  const std::vector<TrackerProcess*> trackers = cluster_.active();
  return std::any_of(trackers.begin(), trackers.end(), [](TrackerProcess* tracker) {
    const bool isolates = tracker->options().config.dispatcher.isolation.after > 0;
    if (!isolates || !tracker->works()) return false;
    const auto stats = tracker->tracker().stats();
    return std::any_of(stats.begin(), stats.end(), [](const jobtracker::Stat& one) {
      return one.first == "workers_isolated" && one.second > 0;
    });
  });
}

void Progress::run_ended() {
  if (is_one_isolated()) isolated_at_ = cluster_.timeline.now();
}

const WorkerProcess* Progress::idle_worker(const Ledger::Job& job) {
  const SteadyTime since = cluster_.timeline.now() - kFree;
  // One that was isolated until a moment ago has free threads still.
  const bool may_be_isolated = isolated_at_ >= since || is_one_isolated();
  const std::string group = group_name(cluster_.database.tables(), job.row.group);
  const auto workers = cluster_.live_workers();
  const auto is_free = [since](const WorkerProcess* worker) {
    return worker->was_free_since(since);
  };
  for (const WorkerProcess* worker : workers) {
    const WorkerOptions& options = worker->options();
    const bool fits =
        options.group == group && (!options.handlers_only || job.kind == RunKind::kHandler);
    if (!fits || !is_free(worker)) continue;
    const bool are_all_free = std::all_of(workers.begin(), workers.end(), [&](const auto* other) {
      const bool is_alike = other->options().group == group &&
                            other->options().handlers_only == options.handlers_only;
      return !is_alike || is_free(other);
    });
    if (!may_be_isolated || are_all_free) return worker;
  }
  return nullptr;
}

void Progress::check_schedules(WallTime now) {
  for (const auto& [id, facts] : cluster_.ledger.definitions()) {
    const bool has_fires =
        facts.row.kind != ScheduleKind::kManual && facts.row.state == DefinitionState::kActive;
    const WallTime next = cluster_.ledger.next_fire(id).value_or(facts.row.next_fire);
    if (!has_fires || next + minutes{2} > now) continue;
    const bool is_open = std::any_of(
        cluster_.ledger.jobs().begin(), cluster_.ledger.jobs().end(),
        [definition = id](const auto& one) { return one.second.row.definition == definition; });
    if (is_open) continue;
    broken_("task " + facts.row.task_id + ", " + word_of(facts.row.kind) +
            ", has stopped: next fire " + format_time(facts.row.next_fire) +
            ", generated through " + format_time(facts.row.generated_through));
  }
}

}  // namespace carillon::sim
