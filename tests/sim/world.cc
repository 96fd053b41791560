#include "tests/sim/world.h"

#include <utility>

#include "shared/base/log.h"
#include "shared/base/time_text.h"
#include "tests/sim/story.h"

namespace carillon::sim {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr std::size_t kBrokenMax = 20;

}  // namespace

World::World(std::uint64_t seed, int trackers, int parts, bool push, int length_h)
    : hours_(length_h),
      cluster_(seed, trackers, parts, push, [this](const std::string& what) { broken(what); }),
      workload_(cluster_, statistics_,
                by("workload", [this](const std::string& what) { broken(what); })),
      faults_(cluster_, statistics_),
      progress_(cluster_, by("progress", [this](const std::string& what) { broken(what); })),
      memory_(cluster_, by("memory", [this](const std::string& what) { broken(what); })),
      listeners_(cluster_, by("listeners", [this](const std::string& what) { broken(what); })) {
  set_log_level(LogLevel::kOff);
  statistics_.next_hour();
  cluster_.on_client = [this](ClientProcess& client) { listeners_.listen(client); };
  cluster_.on_run_end = [this] { progress_.run_ended(); };
  cluster_.on_stored = [this](const Commit& commit) { listeners_.committed(commit); };
  cluster_.plan = [this](const wire::HandedJob&, const JobSpec& spec) {
    return Workload::plan(cluster_.chance, spec);
  };
}

std::string World::now() const { return format_time(cluster_.timeline.wall_now()); }

void World::broken(const std::string& what) {
  if (broken_.size() < kBrokenMax) broken_.push_back(now() + "  " + what);
}

void World::watch(const std::string& name, const std::function<void(const std::string&)>& tell) {
  cluster_.on_event = [this, name, tell](const std::string& what) {
    const bool is_other =
        what.find(" begins job ") != std::string::npos && what.find(name) == std::string::npos;
    if (!is_other) tell(now() + "  " + what);
  };
  cluster_.on_commit = [this, name, tell](const TrackerProcess& tracker, const Commit& commit) {
    tell_story(name, commit, cluster_.ledger,
               [&](const std::string& line) { tell(now() + "  " + tracker.name() + ": " + line); });
  };
}

void World::run_for(Duration time) {
  const SteadyTime until = cluster_.timeline.now() + time;
  while (broken_.size() < kBrokenMax && cluster_.timeline.run_one(until)) continue;
}

void World::users_go_on() {
  cluster_.timeline.at(cluster_.timeline.now() + cluster_.chance.between(Duration{}, seconds{8}),
                       [this] {
                         if (is_ending_) return;
                         workload_.submit_something();
                         if (cluster_.chance.one_in(2)) workload_.act_on_something();
                         users_go_on();
                       });
}

void World::bursts_go_on() {
  cluster_.timeline.at(cluster_.timeline.now() + cluster_.chance.between(minutes{2}, minutes{6}),
                       [this] {
                         if (is_ending_) return;
                         workload_.submit_burst(false);
                         cluster_.timeline.at(cluster_.timeline.now() + seconds{3},
                                              [this] { workload_.submit_burst(true); });
                         bursts_go_on();
                       });
}

// In turns of some minutes: now many, now none, so that there is time for all to settle.
void World::faults_go_on() {
  Chance& chance = cluster_.chance;
  const Duration wait = chance.one_in(8) ? chance.between(minutes{2}, minutes{5})
                                         : chance.between(Duration{}, seconds{50});
  cluster_.timeline.at(cluster_.timeline.now() + wait, [this] {
    if (is_ending_) return;
    faults_.something_fails();
    faults_go_on();
  });
}

void World::go_on_with(void (Faults::*fault)(), Chance& chance, Duration longest) {
  const Duration wait = chance.between(Duration{}, longest);
  cluster_.timeline.at(cluster_.timeline.now() + wait, [this, fault, &chance, longest] {
    if (is_ending_) return;
    (faults_.*fault)();
    go_on_with(fault, chance, longest);
  });
}

void World::pushing_goes_on() {
  const Duration wait = cluster_.push_chance.between(Duration{}, seconds{8});
  cluster_.timeline.at(cluster_.timeline.now() + wait, [this] {
    if (is_ending_) return;
    workload_.push_something();
    if (cluster_.push_chance.one_in(3)) workload_.act_on_something_pushed();
    pushing_goes_on();
  });
}

void World::executor_faults_go_on() {
  Chance& chance = cluster_.push_chance;
  const Duration wait = chance.one_in(8) ? chance.between(minutes{5}, minutes{8})
                                         : chance.between(Duration{}, seconds{50});
  cluster_.timeline.at(cluster_.timeline.now() + wait, [this] {
    if (is_ending_) return;
    faults_.executor_fails();
    executor_faults_go_on();
  });
}

void World::checks_go_on() {
  cluster_.timeline.at(cluster_.timeline.now() + seconds{10}, [this] {
    cluster_.ledger.check();
    progress_.check();
    if (cluster_.has_standbys()) {  // Who was fenced has ended.
      for (std::size_t i = 0; i < cluster_.trackers.size(); ++i) cluster_.stand_by(i);
    }
    checks_go_on();
  });
}

// Not in step with what is done each second, or each ten.
void World::memory_goes_on() {
  cluster_.timeline.at(cluster_.timeline.now() + milliseconds{9'973}, [this] {
    memory_.check();
    memory_goes_on();
  });
}

const std::vector<std::string>& World::run() {
  cluster_.start_tracker(0);
  for (std::size_t i = 1; i < cluster_.trackers.size() && cluster_.has_several(); ++i) {
    cluster_.start_tracker(i);
  }
  if (cluster_.has_standbys()) cluster_.stand_by(1);
  for (const auto& worker : cluster_.workers) cluster_.start_worker(*worker);
  for (const auto& client : cluster_.clients) cluster_.start_client(*client);
  run_for(seconds{1});
  workload_.submit_steady();
  users_go_on();
  faults_go_on();
  if (!cluster_.disks.empty()) go_on_with(&Faults::disk_fails, cluster_.disk_chance, minutes{4});
  if (!cluster_.executors.empty()) {
    for (const auto& executor : cluster_.executors) executor->start();
    run_for(seconds{1});
    pushing_goes_on();
    executor_faults_go_on();
    if (cluster_.has_crowds())
      go_on_with(&Faults::executor_is_crowded, cluster_.crowd_chance, seconds{90});
  }
  if (cluster_.has_deep_queues()) bursts_go_on();
  if (cluster_.has_repeats())
    go_on_with(&Faults::frames_are_repeated, cluster_.repeat_chance, minutes{2});
  if (cluster_.has_common_cuts())
    go_on_with(&Faults::two_are_cut_off, cluster_.cut_chance, minutes{4});
  checks_go_on();
  memory_goes_on();
  for (int hour = 0; hour < hours_; ++hour) {
    if (hour > 0) statistics_.next_hour();
    run_for(hours{1});
  }
  is_ending_ = true;
  faults_.stop();
  run_for(minutes{6});
  for (const auto& client : cluster_.clients) {
    if (client->unanswered() > 0) broken("end: " + client->name() + " was never answered");
  }
  // What is changing when it is cancelled is cancelled again.
  for (int i = 0; i < 20 && !cluster_.ledger.jobs().empty(); ++i) {
    workload_.cancel_everything();
    run_for(seconds{10});
  }
  workload_.cancel_everything();
  run_for(seconds{30});
  for (int i = 0; i < 20 && listeners_.are_waited_for(); ++i) run_for(seconds{30});
  check_end();
  run_for(minutes{3});  // What nobody asked for any more is forgotten now and then.
  for (int i = 0; i < 100 && !cluster_.is_idle(); ++i) run_for(milliseconds{7});
  memory_.check_end();
  return broken_;
}

void World::check_end() {
  for (const auto& [id, job] : cluster_.ledger.jobs()) {
    broken("end: job " + std::to_string(id.value) + " of " + job.row.task_id + " never ends");
  }
  for (const auto& [id, facts] : cluster_.ledger.definitions()) {
    broken("end: task " + facts.row.task_id + " is still defined");
  }
  for (const Disk* disk : cluster_.disks) {
    if (!disk->kept().empty()) broken("end: something still lies on a disk");
  }
  cluster_.ledger.check();
  listeners_.check_end();
}

}  // namespace carillon::sim
