#include "tests/sim/memory.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

namespace carillon::sim {

using std::chrono::hours;
using std::chrono::seconds;

namespace {

// Beyond what the ledger has, for what has just ended or is to come.
constexpr std::size_t kMore = 100;
// So many times in a row a job tracker was looked at and had something to store.
constexpr int kBusyMax = 18;
// What was to come before a clock was set back is forgotten so much later.
constexpr Duration kSetBackMost = hours{3};

// One for each process, node group, part of one, session or kind of run; they stay.
constexpr std::array kOfPlaces{"access.callers",
                               "alarms.watch.ends",
                               "alarms.watch.past",
                               "alarms.watch.said",
                               "alarms.watch.silent",
                               "alarms.watch.unserved_since",
                               "catalog.groups_by_name",
                               "catalog.splits",
                               "catalog.wholes",
                               "dispatcher.deadlines.groups",
                               "dispatcher.groups",
                               "dispatcher.isolation.streaks",
                               "dispatcher.isolation.succeeded_from",
                               "dispatcher.queues",
                               "dispatcher.said_nobody_accepts",
                               "executors.groups",
                               "executors.members",
                               "feedback.listeners",
                               "feedback.queues",
                               "groups",
                               "listener.lines.lines",
                               "listener.lines.owners",
                               "listener.lines.parts",
                               "listener.outstanding",
                               "listener.trackers",
                               "membership.sessions",
                               "others.sessions",
                               "parts",
                               "pusher.asked",
                               "pusher.full",
                               "pusher.suspects",
                               "pusher.tried_at",
                               "quiet_executors",
                               "registry.seen",
                               "registry.unlisted",
                               "requests.lines.lines",
                               "requests.lines.owners",
                               "requests.lines.parts",
                               "requests.outstanding",
                               "requests.trackers",
                               "stored.jobs_in_entry",
                               "unwell_executors",
                               "workers.all",
                               "workers.members"};

// Of a job tracker that has nothing to store, while nothing is wrong.
constexpr std::array kOnTheWay{"batcher.held_requests",
                               "batcher.pending_bytes",
                               "catalog.leaving",
                               "catalog.triggers_under_way",
                               "completion.confirmed",
                               "dispatcher.deadlines.looked_up",
                               "dispatcher.ready",
                               "dispatcher.to_read_ahead",
                               "dispatcher.touched",
                               "groups_to_come",
                               "leaving",
                               "management.asked",
                               "output_under_way",
                               "pusher.handed",
                               "pusher.inbox.under_way",
                               "pusher.inbox.waiting",
                               "recovery.orphans",
                               "recurrence.children.graph.under_way",
                               "recurrence.missed.recovering",
                               "recurrence.generation.rows_under_way",
                               "recurrence.children.taken",
                               "recurrence.missed.to_look_at",
                               "recurrence.changes.waiting",
                               "registry.leaving",
                               "room.kept",
                               "submit.under_way"};

template <class Names>
bool is_one_of(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<std::size_t> find(const Sizes& limits, const std::string& what) {
  const auto found = std::find_if(limits.begin(), limits.end(),
                                  [&](const auto& limit) { return limit.first == what; });
  return found == limits.end() ? std::nullopt : std::optional{found->second};
}

// What a task tracker keeps by design: the pulls of a lease with each job tracker, and the numbers
// of its newest reports.
const Sizes kWorkerLimits{{"fetcher.pulls", 500}, {"reports", 64}};

}  // namespace

std::size_t Memory::places() const {
  std::size_t places = cluster_.trackers.size() + cluster_.workers.size() +
                       cluster_.clients.size() + cluster_.executors.size();
  places += cluster_.database.tables().groups.size();
  return 4 * places;
}

// What it keeps by design too, once everything has ended.
Sizes Memory::limits_of(const TrackerProcess& tracker) const {
  const jobtracker::JobTrackerConfig& config = tracker.options().config;
  const std::size_t deadlines = config.dispatcher.deadlines.capacity;
  return {{"dispatcher.deadlines.order", deadlines},
          {"dispatcher.deadlines.places", deadlines},
          {"recurrence.generation.ahead",
           static_cast<std::size_t>((config.recurrence.horizon + kSetBackMost) / seconds{1})},
          {"stops.called_off", jobtracker::CalledOff::kMax},
          {"run_logs.noted", 20'000},
          {"run_logs.places", 20'000},
          {"batcher.asked", 20}};  // It asks by itself, too.
}

void Memory::check() {
  const std::size_t jobs = cluster_.ledger.jobs().size() + cluster_.ledger.inbox().size() + kMore;
  for (const auto& tracker : cluster_.trackers) {
    if (!tracker->is_alive()) continue;
    Sizes limits;
    const std::size_t definitions = cluster_.ledger.definitions().size() + kMore;
    for (const char* const of_definitions :
         {"definitions", "catalog.definitions_by_id", "catalog.definitions_by_task",
          "pusher.choice.memories", "recurrence.generation.to_generate",
          "recurrence.changes.waiting", "recurrence.admission.early"}) {
      limits.emplace_back(of_definitions, definitions);
    }
    const auto& config = tracker->options().config;
    std::size_t connections = 0;  // As many at most, of due ones and of upcoming ones each.
    for (const auto& worker : cluster_.workers) {
      connections += static_cast<std::size_t>(cluster_.parts_of(worker->options().group));
    }
    const std::size_t preloaded =
        std::min(2 * config.dispatcher.preload.capacity * connections, jobs * connections);
    limits.emplace_back("catalog.definition_bytes", config.submit.definition_bytes_max);
    limits.emplace_back("executing.spec_bytes", config.dispatcher.executing_bytes_max);
    limits.emplace_back("jobs_in_memory", preloaded);
    limits.emplace_back("dispatcher.preload.places", preloaded);
    limits.emplace_back("dispatcher.preload.starts", preloaded);
    limits.emplace_back("dispatcher.preload.of_definitions", preloaded);
    // While the store is away, what is taken waits.
    limits.emplace_back("operations_pending", config.batcher.pending_max + kMore);
    limits.emplace_back("batcher.waiting", config.batcher.pending_max + kMore);
    limits.emplace_back("batcher.asked", config.batcher.reads_max + kMore);
    limits.emplace_back("batcher.held_requests", config.batcher.reads_max + kMore);
    limits.emplace_back("batcher.pending_bytes", config.batcher.pending_bytes_max);
    // Rows of occurrences that the ledger does not know before they are stored.
    limits.emplace_back("recurrence.generation.rows_under_way", 8192 + jobs);
    for (auto& limit : limits_of(*tracker)) limits.push_back(std::move(limit));
    check_bounds(*tracker, tracker->sizes(), limits, jobs);
    check_at_rest(*tracker);
  }
  Sizes of_worker = kWorkerLimits;
  of_worker.emplace_back("output.bytes", tasktracker::OutputQueueConfig{}.bytes_max);
  for (const auto& worker : cluster_.workers) {
    check_bounds(*worker, worker->sizes(), of_worker, jobs);
  }
  for (const auto& client : cluster_.clients) {
    const std::size_t stored = client->disk() == nullptr ? 0 : client->disk()->kept().size();
    const std::size_t asked = client->unanswered() + stored + places();
    const Sizes limits{{"submits.jobs_waiting", 100 * asked},
                       {"stored.jobs_in_entry", 100 * asked},
                       {"requests.outstanding", asked}};
    check_bounds(*client, client->sizes(), limits, asked);
  }
}

void Memory::check_bounds(const Process& process, const Sizes& sizes, const Sizes& limits,
                          std::size_t others) const {
  for (const auto& [what, size] : sizes) {
    const std::size_t most =
        find(limits, what).value_or(is_one_of(kOfPlaces, what) ? places() : others);
    if (size > most) {
      broken_(process.name() + " holds " + std::to_string(size) + " of " + what + ", " +
              std::to_string(most) + " may be");
    }
  }
}

void Memory::check_at_rest(TrackerProcess& tracker) {
  int& busy = busy_[&tracker];
  const bool is_well = cluster_.timeline.now() >= cluster_.quiet_from && tracker.is_ready();
  const bool is_idle = is_well && tracker.tracker().is_idle();
  busy = is_well && !is_idle ? busy + 1 : 0;
  if (busy > kBusyMax) broken_(tracker.name() + " always has something to store");
  if (!is_idle) return;
  for (const auto& [what, size] : tracker.sizes()) {
    if (size > 0 && is_one_of(kOnTheWay, what)) {
      broken_(tracker.name() + " holds " + std::to_string(size) + " of " + what +
              " though its store is idle");
    }
  }
}

void Memory::check_end() {
  for (const auto& tracker : cluster_.trackers) {
    if (tracker->is_alive()) check_left(*tracker, tracker->sizes(), limits_of(*tracker));
  }
  for (const auto& worker : cluster_.workers) check_left(*worker, worker->sizes(), kWorkerLimits);
  for (const auto& client : cluster_.clients) check_left(*client, client->sizes(), {});
}

void Memory::check_left(const Process& process, const Sizes& sizes, const Sizes& limits) const {
  for (const auto& [what, size] : sizes) {
    const std::size_t most = find(limits, what).value_or(is_one_of(kOfPlaces, what) ? places() : 0);
    if (size > most) {
      broken_("end: " + process.name() + " still holds " + std::to_string(size) + " of " + what);
    }
  }
}

}  // namespace carillon::sim
