#include "tests/support/simulation.h"

#include <algorithm>
#include <utility>

namespace carillon::testing {

using jobtracker::LogEntry;
using jobtracker::LogState;
using jobtracker::MemoryFault;
using std::chrono::hours;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr Duration kLease = seconds{3};
constexpr std::size_t kWorkers = 3;

std::string name_of(const wire::AttemptId& id) {
  return "job " + std::to_string(id.job_id.value) + " attempt " + std::to_string(id.attempt);
}

TrackerBundle::Options options_of(std::uint64_t seed) {
  TrackerBundle::Options options{.seed = seed};
  options.tracker.dispatcher.preload.capacity = 5 + seed % 100;
  options.tracker.dispatcher.refill = 4 + static_cast<std::int64_t>(seed % 50);
  if (seed % 2 == 0) {
    options.tracker.recurrence.horizon = seconds{60};
    options.tracker.recurrence.period = seconds{50};
  }
  return options;
}

}  // namespace

Simulation::Simulation(std::uint64_t seed, Duration length)
    : bundle_(options_of(seed)), length_(length) {
  bundle_.on_lane = [this](FakeLane& lane) {
    lane.work_time = [this] { return microseconds{100 + below(5000)}; };
    lane.answer_time = [this] { return microseconds{below(1000)}; };
  };
  bundle_.network.latency = [this] { return microseconds{50 + below(3000)}; };
  bundle_.client.on_answer = [this](std::int64_t, const wire::Message& message) {
    take_answer(message);
  };
}

Duration Simulation::between(Duration least, Duration most) {
  const auto span = static_cast<std::uint64_t>((most - least).count());
  return least + Duration{static_cast<Duration::rep>(below(span))};
}

void Simulation::take_answer(const wire::Message& message) {
  const auto* submitted = std::get_if<wire::Submitted>(&message);
  if (submitted == nullptr) return;
  for (const wire::SubmitAnswer& answer : submitted->answers) {
    const bool is_one_shot = answer.task_id.front() == 'o' || answer.task_id.front() == 'j';
    if (answer.status == wire::SubmitStatus::kAccepted && is_one_shot) {
      accepted_.emplace(answer.job_id, answer.task_id);
    }
  }
}

// Every way to overlap with every policy for what was missed.
void Simulation::submit_steady() {
  for (const Overlap overlap : {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel}) {
    for (const MisfirePolicy policy :
         {MisfirePolicy::kFireOnce, MisfirePolicy::kSkip, MisfirePolicy::kFireAll}) {
      Steady steady{.task_id = "steady-" + std::to_string(static_cast<int>(overlap)) + "-" +
                               std::to_string(static_cast<int>(policy)),
                    .interval = milliseconds{7000 + 100 * below(100)},
                    .first = bundle_.now() + seconds{2}};
      JobSpec job = job_every(steady.task_id, steady.interval);
      job.overlap = overlap;
      job.misfire.policy = policy;
      job.schedule.first = steady.first;
      bundle_.submit(job);
      steady_.push_back(std::move(steady));
    }
  }
}

// Two of them accept every kind of run, the others handlers only.
void Simulation::add_worker() {
  const auto accepting_all = std::count_if(
      threads_.begin(), threads_.end(),
      [this](const auto& one) { return one.first->is_alive() && careful_.count(one.first) == 0; });
  const bool is_careful = accepting_all >= 2;
  const int threads = 1 + static_cast<int>(below(5));
  FakeWorkerConfig config{.name = "w" + std::to_string(threads_.size()), .threads = threads};
  if (is_careful) config.allow = {"handler"};
  auto& worker = bundle_.add_worker(config);
  threads_.emplace_back(&worker, threads);
  if (is_careful) careful_.insert(&worker);
  worker.behaviour = [this, is_careful](const wire::HandedJob& job, const JobSpec& spec) {
    if (is_careful && spec.run.kind != RunKind::kHandler)
      broken(name_of(job.id) + " was handed to a worker that does not accept its kind");
    FakeRun run{.time = milliseconds{1 + below(30)}, .later = milliseconds{below(20'000)}};
    if (below(10) == 0) run.time = milliseconds{below(12'000)};
    if (job.task_id.rfind("steady", 0) == 0) return run;
    const std::uint64_t luck = below(20);
    if (luck == 0) run.outcome = wire::RunOutcome::kFailed;
    if (luck == 1 || luck == 2) run.outcome = wire::RunOutcome::kException;
    if (luck == 3) run.outcome = wire::RunOutcome::kLater;
    if (luck == 4) run.outcome = wire::RunOutcome::kTimedOut;
    return run;
  };
}

void Simulation::submit_something() {
  const std::string number = std::to_string(below(40));
  JobSpec job;
  switch (below(6)) {
    case 0:
    case 1:
      job = job_now(below(3) == 0 ? "" : "o" + number);
      break;
    case 2:
      job = job_at("o" + number, bundle_.now() + between(Duration{}, minutes{3}));
      break;
    case 3:
      job = job_every("d" + number, between(seconds{1}, seconds{40}));
      break;
    case 4:
      job = job_fixed_delay("d" + number, between(seconds{1}, seconds{40}));
      break;
    default:
      job = below(2) == 0 ? job_manual("d" + number) : job_cron("d" + number, "*/15 * * * * ?");
      break;
  }
  const bool repeats = job.schedule.interval > Duration{};
  if (repeats && below(2) == 0) job.schedule.count = 1 + static_cast<std::int64_t>(below(9));
  constexpr Overlap kOverlaps[] = {Overlap::kSkip, Overlap::kQueue, Overlap::kParallel};
  job.overlap = kOverlaps[below(3)];
  job.misfire.policy = static_cast<MisfirePolicy>(below(3));
  job.priority = static_cast<int>(below(200));
  job.retries = {.max = static_cast<int>(below(3)), .base = seconds{below(10)}};
  job.replace_on_exist = below(8) == 0;
  if (below(4) == 0) job.run = {.kind = RunKind::kShell, .shell = "true"};
  if (below(12) == 0) job.start_deadline = seconds{1 + below(30)};
  if (!job.task_id.empty()) task_ids_.push_back(job.task_id);
  bundle_.client.submit({std::move(job)});
}

void Simulation::act_on_something() {
  if (task_ids_.empty()) return;
  bundle_.client.act({.verb = static_cast<wire::Verb>(below(5)),
                      .group = "default",
                      .task_id = task_ids_[below(task_ids_.size())],
                      .force = below(3) == 0});
}

void Simulation::tracker_fails() {
  const bool commit_lands = below(2) == 0;
  bundle_.kill_tracker(commit_lands);
  bundle_.run_for(below(4) == 0 ? between(seconds{1}, seconds{90})
                                : between(milliseconds{10}, seconds{3}));
  bundle_.start_tracker();
}

void Simulation::disturbed(const FakeWorker& worker, Duration time) {
  disturbances_[worker.name()].push_back(
      {bundle_.clock.steady_now(), bundle_.clock.steady_now() + time});
}

void Simulation::worker_fails() {
  std::vector<FakeWorker*> alive;
  for (const auto& [worker, threads] : threads_) {
    if (worker->is_alive()) alive.push_back(worker);
  }
  FakeWorker& worker = *alive[below(alive.size())];
  const Duration time = between(milliseconds{10}, seconds{8});
  disturbed(worker, time);
  switch (below(5)) {
    case 4:
      worker.send_register_again();
      break;
    case 0:
      worker.die();
      add_worker();
      break;
    case 1:
      worker.freeze(time);
      break;
    case 2:
      worker.cut_off(time);
      break;
    default:
      worker.lose_frames(true);
      bundle_.run_for(between(milliseconds{1}, milliseconds{900}));
      worker.lose_frames(false);
      break;
  }
}

void Simulation::store_fails() {
  if (below(2) == 0) {
    bundle_.lane().away_until = bundle_.clock.steady_now() + between(milliseconds{50}, seconds{8});
    return;
  }
  constexpr MemoryFault kFaults[] = {MemoryFault::kUnavailable, MemoryFault::kUnknownCommitted,
                                     MemoryFault::kUnknownLost};
  bundle_.store().fail_next(kFaults[below(3)]);
}

void Simulation::something_fails() {
  switch (below(5)) {
    case 0:
      return tracker_fails();
    case 1:
    case 2:
      return worker_fails();
    default:
      return store_fails();
  }
}

std::vector<std::string> Simulation::run() {
  bundle_.restart_after(milliseconds{1});  // With a lane of the right kind.
  submit_steady();
  for (std::size_t i = 0; i < kWorkers; ++i) add_worker();
  const SteadyTime end = bundle_.clock.steady_now() + length_;
  while (bundle_.clock.steady_now() < end) {
    bundle_.run_for(between(Duration{}, seconds{4}));
    const std::uint64_t what = below(20);
    if (what < 9)
      submit_something();
    else if (what < 14)
      act_on_something();
    else if (what < 17)
      something_fails();
  }
  stop_faults();
  check_every_fire();
  drain();
  check_all_ended();
  check_no_job_lost();
  check_no_two_runs_at_once();
  check_windows();
  return broken_;
}

void Simulation::stop_faults() {
  bundle_.run_for(minutes{2});
  if (bundle_.client.unanswered() > 0) broken("a request was never answered");
}

// Everything is resumed and cancelled, and what runs may end.
void Simulation::drain() {
  std::set<std::string> open(task_ids_.begin(), task_ids_.end());
  for (const Steady& steady : steady_) open.insert(steady.task_id);
  for (const std::string& task_id : open) bundle_.act(wire::Verb::kCancel, task_id);
  bundle_.run_until([this] { return bundle_.is_empty(); }, minutes{10});
}

void Simulation::check_all_ended() {
  if (bundle_.is_empty()) return;
  for (const auto& job : bundle_.waiting()) broken("still waits: " + job.task_id);
  for (const auto& job : bundle_.delayed()) broken("still delayed: " + job.task_id);
  for (const auto& [id, job] : bundle_.tables().executing) {
    broken("still executes: " + job.job.task_id);
  }
  for (const auto& [id, row] : bundle_.tables().definitions) {
    broken("still defined: " + row.task_id);
  }
  if (broken_.empty()) broken("a task id is still taken");
}

// Each job that was accepted, or has run, ends once.
void Simulation::check_no_job_lost() {
  std::map<JobId, int> ends;
  for (const LogEntry& entry : bundle_.log()) ends[entry.job_id] += entry.final ? 1 : 0;
  for (const RunRecord& run : bundle_.runs()) accepted_.emplace(run.id.job_id, run.task_id);
  for (const auto& [id, task_id] : accepted_) {
    if (ends[id] == 1) continue;
    broken("job " + std::to_string(id.value) + " (" + task_id + ") has " +
           std::to_string(ends[id]) + " ends");
  }
}

// A job runs a second time only if the worker that runs it was disturbed for long, or has died.
void Simulation::check_no_two_runs_at_once() {
  std::map<JobId, std::vector<RunRecord>> by_job;
  for (const RunRecord& run : bundle_.runs()) by_job[run.id.job_id].push_back(run);
  for (const auto& [id, runs] : by_job) {
    for (std::size_t i = 1; i < runs.size(); ++i) {
      const RunRecord& first = runs[i - 1];
      const RunRecord& second = runs[i];
      if (second.id.attempt <= first.id.attempt) broken(name_of(second.id) + " was taken twice");
      if (first.ended && *first.ended <= second.started) continue;
      const auto& all = disturbances_[first.worker];
      const bool is_excused = std::any_of(all.begin(), all.end(), [&](const Disturbance& one) {
        return one.from <= second.started && one.until + kLease >= first.started;
      });
      if (!is_excused) broken(name_of(first.id) + " still ran when the next began");
    }
  }
}

// Against the grid itself: each fire up to the last that was generated has one outcome, or waits.
void Simulation::check_every_fire() {
  for (const Steady& steady : steady_) {
    const auto* row = bundle_.definition(steady.task_id);
    if (row == nullptr) {
      broken(steady.task_id + " is gone");
      continue;
    }
    std::map<WallTime, int> outcomes;
    for (const LogEntry& entry : bundle_.log(steady.task_id)) {
      if (!entry.final) continue;
      for (std::int64_t i = 0; i < entry.count; ++i) {
        ++outcomes[entry.trigger_time + i * steady.interval];
      }
    }
    for (const auto& job : bundle_.waiting(steady.task_id)) ++outcomes[job.trigger_time];
    for (const auto& [id, job] : bundle_.tables().executing) {
      if (job.job.task_id == steady.task_id) ++outcomes[job.job.trigger_time];
    }
    for (WallTime fire = steady.first; fire <= row->generated_through; fire += steady.interval) {
      if (outcomes[fire] != 1) {
        broken(steady.task_id + " fire " + std::to_string((fire - steady.first) / steady.interval) +
               " has " + std::to_string(outcomes[fire]) + " outcomes");
      }
    }
    for (const auto& [fire, count] : outcomes) {
      if ((fire - steady.first) % steady.interval != Duration{}) {
        broken(steady.task_id + " fired off its grid");
      }
    }
    if (row->generated_through < bundle_.now() - minutes{1})
      broken(steady.task_id + " has stopped");
  }
}

void Simulation::check_windows() {
  for (const auto& [worker, threads] : threads_) {
    if (worker->busy_max() > threads) broken(worker->name() + " was given more than it asked for");
  }
}

}  // namespace carillon::testing
