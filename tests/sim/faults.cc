#include "tests/sim/faults.h"

#include <algorithm>
#include <vector>

namespace carillon::sim {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

void Faults::count(const std::string& type, Duration time) {
  count_around(type, time);
  cluster_.disturbed(time);
}

void Faults::count_around(const std::string& type, Duration time) {
  ++statistics_.hour().faults[type];
  cluster_.on_event("fault: " + type);
  cluster_.disturbed_around(time);
}

Process& Faults::any_process(Chance& chance) {
  std::vector<Process*> all;
  for (const auto& one : cluster_.trackers) all.push_back(one.get());
  for (const auto& one : cluster_.workers) all.push_back(one.get());
  for (const auto& one : cluster_.clients) all.push_back(one.get());
  return *all[chance.below(all.size())];
}

void Faults::something_fails() {
  Chance& chance = cluster_.chance;
  TrackerProcess* tracker = cluster_.any_active();
  const std::vector<WorkerProcess*> workers = cluster_.live_workers();
  switch (chance.below(14)) {
    case 0:
    case 1:
      if (tracker != nullptr) tracker_fails(*tracker);
      return;
    case 2:
      return another_takes_over();
    case 3:
    case 4:
    case 5:
      if (tracker != nullptr) store_fails(*tracker);
      return;
    case 6:
    case 7:
    case 8:
      if (!workers.empty()) worker_fails(*workers[chance.below(workers.size())]);
      return;
    case 9:
      return client_fails(*cluster_.clients[chance.below(cluster_.clients.size())]);
    case 10:
      return clock_is_set(any_process(chance));
    default:
      return network_fails();
  }
}

void Faults::tracker_comes_back(const TrackerProcess& tracker, Duration after) {
  cluster_.timeline.at(cluster_.timeline.now() + after, [this, &tracker] {
    // Otherwise another took its place.
    const bool is_missing =
        cluster_.has_several() ? !tracker.is_alive() : cluster_.active().empty();
    if (!is_missing && !cluster_.has_standbys()) return;
    for (std::size_t i = 0; i < cluster_.trackers.size(); ++i) {
      if (cluster_.trackers[i].get() != &tracker) continue;
      cluster_.has_standbys() ? cluster_.stand_by(i) : cluster_.start_tracker(i);
    }
  });
}

void Faults::tracker_fails(TrackerProcess& tracker) {
  Chance& chance = cluster_.chance;
  const Duration down = chance.one_in(5) ? chance.between(seconds{1}, seconds{90})
                                         : chance.between(milliseconds{10}, seconds{3});
  switch (chance.below(4)) {
    case 0: {
      const Duration time = chance.between(milliseconds{10}, seconds{9});
      count("tracker stands still", time);
      return tracker.pause(time);
    }
    case 1:
      count("tracker is stopped", down);
      tracker.leave();
      cluster_.timeline.at(cluster_.timeline.now() + seconds{5},
                           [&tracker, session = tracker.session()] {
                             if (tracker.is_alive() && tracker.session() == session)
                               tracker.kill(false);
                           });
      return tracker_comes_back(tracker, seconds{5} + down);
    default:
      count("tracker is killed", down);
      tracker.kill(chance.one_in(2));
      return tracker_comes_back(tracker, down);
  }
}

// While the one before goes on, stands still or is gone; it comes to know when it wants to commit.
// Of several one goes for minutes, while the others work on without it.
void Faults::another_takes_over() {
  if (cluster_.has_several()) {
    auto staying = cluster_.active();
    std::erase_if(staying, [](const TrackerProcess* one) { return one->is_leaving(); });
    if (staying.size() < 2) return;
    TrackerProcess* const tracker = staying[cluster_.chance.below(staying.size())];
    const Duration down = cluster_.chance.between(minutes{1}, minutes{4});
    count("tracker is gone for minutes", {});
    cluster_.chance.one_in(2) ? tracker->leave() : tracker->kill(cluster_.chance.one_in(2));
    cluster_.disturbed(seconds{10});
    return tracker_comes_back(*tracker, down);
  }
  count("tracker is taken over", {});
  // Nobody takes the store from one that lives and does not know, unless he has watched it.
  TrackerProcess* const before = cluster_.any_active();
  if (before != nullptr && before->was_stalled_since(cluster_.timeline.now())) before->kill(false);
  const std::size_t next = cluster_.chance.below(cluster_.trackers.size());
  if (cluster_.chance.one_in(2) && cluster_.any_active() != nullptr) {
    cluster_.any_active()->pause(cluster_.chance.between(milliseconds{10}, seconds{9}));
  }
  cluster_.start_tracker(next);
}

void Faults::store_fails(TrackerProcess& tracker) {
  Chance& chance = cluster_.chance;
  const Duration time = chance.between(milliseconds{50}, seconds{9});
  switch (chance.below(6)) {
    case 0:
      if (cluster_.has_several() && chance.one_in(2)) {
        const Duration hang = chance.one_in(3) ? chance.between(seconds{25}, minutes{4}) : time;
        const bool has_others = cluster_.active().size() > 1;  // who take its place
        count("commit hangs", has_others ? seconds{10} : hang);
        return cluster_.hang_commits(tracker, hang);
      }
      count("store stands still", time);
      return tracker.stall_store(time);
    case 1:
      count("store stands still for all", time);
      return cluster_.stall_database(time);
    case 2:
      // Where another stands by, the beat of its own goes on, which is not simulated.
      if (!cluster_.has_standbys()) {
        count("store is full", time);
        return tracker.fill_store(time);
      }
      [[fallthrough]];
    case 3:
      count("store fails", seconds{2});
      for (std::uint64_t i = 0; i <= chance.below(9); ++i) {
        tracker.fail_store(WatchedStore::Fault::kUnavailable);
      }
      return;
    default:
      count("commit is unknown", seconds{2});
      return tracker.fail_store(chance.one_in(2) ? WatchedStore::Fault::kUnknownCommitted
                                                 : WatchedStore::Fault::kUnknownLost);
  }
}

void Faults::worker_fails(WorkerProcess& worker) {
  Chance& chance = cluster_.chance;
  const Duration time = chance.between(milliseconds{10}, seconds{9});
  const auto comes_back = [&](Duration after) {
    cluster_.timeline.at(cluster_.timeline.now() + after,
                         [this, &worker, session = worker.session()] {
                           if (worker.session() != session) return;
                           worker.kill();
                           cluster_.start_worker(worker);
                         });
  };
  switch (chance.below(4)) {
    case 0:
      count_around("worker is killed", time);
      worker.kill();
      return comes_back(time);
    case 1:
      count_around("worker is stopped", time + seconds{10});
      worker.leave(time);
      return comes_back(time + seconds{10});
    default:
      count_around("worker stands still", time);
      return worker.pause(time);
  }
}

void Faults::client_fails(ClientProcess& client) {
  count_around("client is killed", {});
  client.kill();
  cluster_.start_client(client);
}

void Faults::clock_is_set(Process& process) {
  Chance& chance = cluster_.chance;
  count("clock is set", seconds{10});
  Duration by = chance.between(milliseconds{-1900}, milliseconds{1900});
  if (chance.one_in(2)) by = chance.between(seconds{-20}, seconds{20});
  if (chance.one_in(8)) by = chance.between(minutes{-5}, minutes{5});
  if (cluster_.has_far_clocks() && chance.one_in(2)) by = chance.between(hours{-1}, hours{1});
  process.set_clock(chance.one_in(2) ? Duration{} : process.ahead() + by);
}

void Faults::network_fails() {
  Chance& chance = cluster_.chance;
  const Process& process = any_process(chance);
  const Duration time = chance.between(milliseconds{10}, seconds{9});
  switch (chance.below(5)) {
    case 0:
      count_around("connections break", {});
      return cluster_.network.cut(process);
    case 1: {
      count_around("network is parted", time);
      const Process* other = chance.one_in(2) ? nullptr : cluster_.any_active();
      return cluster_.network.part(process, other == &process ? nullptr : other, time);
    }
    case 2:
      count_around("network is slow", time);
      return cluster_.network.slow_down(chance.between(milliseconds{10}, milliseconds{2500}), time);
    default:
      count_around("frames are lost", time);
      return cluster_.network.lose_frames(process, chance.one_in(2), time);
  }
}

void Faults::disk_fails() {
  Chance& chance = cluster_.disk_chance;
  Disk& disk = *cluster_.disks[chance.below(cluster_.disks.size())];
  if (chance.one_in(2)) {
    const Duration time = chance.between(milliseconds{50}, seconds{20});
    count_around("disk stands still", time);
    return disk.stall(time);
  }
  count_around("disk fails", seconds{20});
  disk.fail_next(1 + static_cast<int>(chance.below(6)));
}

void Faults::frames_are_repeated() {
  Chance& chance = cluster_.repeat_chance;
  const Duration time = chance.between(seconds{1}, seconds{30});
  count_around("frames are repeated", time);
  cluster_.network.repeat_frames(any_process(chance), chance.one_in(2), time);
}

// A host with a job tracker and a task tracker, which reach each other; the database, and the other
// job trackers, are elsewhere.
void Faults::two_are_cut_off() {
  Chance& chance = cluster_.cut_chance;
  const auto trackers = cluster_.active();
  const auto workers = cluster_.live_workers();
  if (trackers.size() < 2 || workers.empty()) return;
  TrackerProcess& tracker = *trackers[chance.below(trackers.size())];
  const WorkerProcess& worker = *workers[chance.below(workers.size())];
  const Duration time = chance.between(seconds{1}, seconds{9});
  count("two are cut off together", time);
  tracker.stall_store(time);
  for (const auto& other : cluster_.trackers) {
    if (other.get() != &tracker) cluster_.network.part(worker, other.get(), time);
  }
}

void Faults::stop() {
  cluster_.network.heal();
  for (Disk* disk : cluster_.disks) disk->mend();
  for (const auto& executor : cluster_.executors) {
    executor->faults = {};
    executor->start();
  }
  cluster_.mend_stores();
  cluster_.timeline.at(cluster_.timeline.now() + seconds{100}, [this] {
    if (cluster_.active().empty() && !cluster_.has_several()) cluster_.start_tracker(0);
    for (std::size_t i = 0; i < cluster_.trackers.size() && cluster_.has_several(); ++i) {
      if (!cluster_.trackers[i]->is_alive()) cluster_.start_tracker(i);
    }
    for (const auto& worker : cluster_.workers) {
      if (!worker->is_alive()) cluster_.start_worker(*worker);
    }
  });
}

}  // namespace carillon::sim
