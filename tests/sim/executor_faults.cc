// What goes wrong at executors.
#include <algorithm>

#include "tests/sim/faults.h"

namespace carillon::sim {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

// Whatever an executor's fault has begun is over by then, if nothing else happens.
constexpr Duration kExecutorsSettle = minutes{4};

}  // namespace

void Faults::executor_fails() {
  using Until = ExecutorProcess::Faults;
  Chance& chance = cluster_.push_chance;
  ExecutorProcess& executor = *cluster_.executors[chance.below(cluster_.executors.size())];
  const SteadyTime now = cluster_.timeline.now();
  Duration time = chance.one_in(5) ? chance.between(minutes{1}, minutes{3})
                                   : chance.between(milliseconds{10}, seconds{20});
  const auto fails = [&](const std::string& how) { disturb(executor, how, time); };
  const auto until = [&](SteadyTime Until::*fault, const std::string& how) {
    fails(how);
    executor.faults.*fault = now + time;
  };
  const auto comes_back = [&](Duration after) {
    cluster_.timeline.at(now + after, [&executor] { executor.start(); });
  };
  switch (chance.below(9)) {
    case 0:
    case 1:
      if (chance.one_in(3)) time = chance.between(Duration{1000}, milliseconds{50});
      fails("executor is killed");
      executor.kill();
      cluster_.executor_network.died(executor);
      return comes_back(time);
    case 2:
      fails("executor is stopped");
      executor.leave();
      return comes_back(time + seconds{2});
    case 3:
      time = std::min<Duration>(time, seconds{9});
      fails("executor stands still");
      return executor.pause(time);
    case 4:
      return until(&Until::refuses, "executor refuses");
    case 5:
      return until(&Until::lies, "executor calls itself idle");
    case 6:
      return until(&Until::loses_answers, "executor's answers are lost");
    case 7:
      return until(&Until::is_cut_off, "executor is cut off");
    default:
      return until(&Until::is_late, "executor's results are late");
  }
}

// Of all job trackers: its connections are taken, by whatever they call it for.
void Faults::executor_is_crowded() {
  Chance& chance = cluster_.crowd_chance;
  ExecutorProcess& executor = *cluster_.executors[chance.below(cluster_.executors.size())];
  const Duration time = chance.between(milliseconds{10}, seconds{12});
  disturb(executor, "executor has no connection free", time);
  executor.faults.is_crowded = cluster_.timeline.now() + time;
}

void Faults::disturb(const ExecutorProcess& executor, const std::string& how, Duration time) {
  ++statistics_.hour().faults[how];
  cluster_.on_event("fault: " + executor.name() + ": " + how);
  const SteadyTime over = cluster_.timeline.now() + time + kExecutorsSettle;
  cluster_.executors_quiet_from = std::max(cluster_.executors_quiet_from, over);
}

}  // namespace carillon::sim
