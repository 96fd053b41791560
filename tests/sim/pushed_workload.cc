// What users push to executors.
#include "tests/sim/workload.h"

namespace carillon::sim {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr std::size_t kPushedTasks = 20;

std::string pushed_task(std::size_t number) { return "pushed-" + std::to_string(number); }

}  // namespace

void Workload::push_something() {
  Chance& chance = cluster_.push_chance;
  JobSpec job;
  job.run.handler = "noop";
  job.dispatch = Dispatch::kPush;
  job.group = chance.one_in(3) ? kLyingApp : kHonestApp;
  do {
    job.push.route = static_cast<Route>(chance.below(10));
  } while (job.push.route == Route::kShardingBroadcast);
  switch (chance.below(6)) {
    case 0:
      job.schedule.kind = ScheduleKind::kEvery;
      job.schedule.interval = chance.between(seconds{1}, seconds{20});
      job.schedule.count = 1 + static_cast<std::int64_t>(chance.below(12));
      break;
    case 1:
      job.schedule.kind = ScheduleKind::kAt;
      job.schedule.at =
          cluster_.timeline.wall_now() + chance.between(Duration{}, Duration{minutes{1}});
      break;
    default:
      break;
  }
  job.task_id = pushed_task(chance.below(kPushedTasks));
  if (job.schedule.kind == ScheduleKind::kNow && chance.one_in(2)) {
    job.task_id = "pushed-once-" + std::to_string(++last_);
  }
  job.overlap = chance.one_of({Overlap::kSkip, Overlap::kQueue, Overlap::kQueueOne,
                               Overlap::kCancelRunning, Overlap::kParallel});
  job.retries = {.max = static_cast<int>(chance.below(4)),
                 .base = chance.between(milliseconds{100}, seconds{10})};
  job.replace_on_exist = chance.one_in(6);
  // Nothing else ends for certain what was lost at one that always calls itself idle.
  if (job.group == kLyingApp || chance.one_in(3)) {
    job.timeout = seconds{5 + static_cast<int>(chance.below(100))};
  }
  if (cluster_.has_crowds() && cluster_.crowd_chance.one_in(3))
    job.start_deadline = cluster_.crowd_chance.between(seconds{1}, seconds{10});
  submit({std::move(job)});
}

void Workload::act_on_something_pushed() {
  Chance& chance = cluster_.push_chance;
  act({.verb = static_cast<wire::Verb>(chance.below(5)),
       .group = chance.one_in(3) ? kLyingApp : kHonestApp,
       .task_id = pushed_task(chance.below(kPushedTasks))});
}

}  // namespace carillon::sim
