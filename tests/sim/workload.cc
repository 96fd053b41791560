#include "tests/sim/workload.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "shared/job/schedule.h"
#include "tests/sim/parts.h"

namespace carillon::sim {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

namespace {

constexpr std::array kOverlaps{Overlap::kSkip, Overlap::kQueue, Overlap::kQueueOne,
                               Overlap::kCancelRunning, Overlap::kParallel};
constexpr std::array kVerbs{"cancel", "suspend", "resume", "trigger", "kill"};
// That are acted on; others are named otherwise.
constexpr std::string_view kActedOn = "acted-";
constexpr std::size_t kActedOnTasks = 50;

// What is refused, as it contradicts itself, is made good.
void reconcile(JobSpec& job) {
  const bool keeps_newest =
      job.overlap == Overlap::kQueueOne || job.overlap == Overlap::kCancelRunning;
  if (keeps_newest && job.misfire.policy == MisfirePolicy::kFireAll)
    job.misfire.policy = MisfirePolicy::kFireOnce;
  const ScheduleKind kind = job.schedule.kind;
  if (kind == ScheduleKind::kNow || kind == ScheduleKind::kAt) job.overlap = Overlap::kSkip;
  if (kind == ScheduleKind::kNow || kind == ScheduleKind::kManual) job.misfire = {};
}

std::string acted_on(std::size_t number) { return std::string(kActedOn) + std::to_string(number); }

struct CronSchedule {
  const char* cron;
  const char* tz;
};
// Few, because the reference is slow; the clocks of some change while the simulation runs.
constexpr std::array kCrons{CronSchedule{"*/20 * * * * ?", "UTC"},
                            CronSchedule{"30 * * * * ?", "Asia/Shanghai"},
                            CronSchedule{"0 */5 * * * ?", "Europe/Berlin"},
                            CronSchedule{"15 */7 1-3 * * ?", "Europe/Berlin"},
                            CronSchedule{"0,40 30-50 2 * * ?", "Europe/Berlin"},
                            CronSchedule{"0 */3 0-2 ? * *", "America/New_York"},
                            CronSchedule{"*/2 * * * *", "America/New_York"},
                            CronSchedule{"5/25 * * * * ?", "Australia/Lord_Howe"}};

}  // namespace

RunPlan Workload::plan(Chance& chance, const JobSpec& spec) {
  if (spec.run.handler == kBrief) return {.time = chance.between(milliseconds{1}, milliseconds{5})};
  RunPlan plan{.time = chance.between(milliseconds{1}, milliseconds{30}),
               .later = chance.between(Duration{}, seconds{20})};
  if (chance.one_in(12)) plan.time = chance.between(Duration{1}, seconds{12});
  if (chance.one_in(150)) plan.time = chance.between(minutes{1}, minutes{4});
  if (chance.one_in(10)) plan.chunks = 1 + static_cast<int>(chance.below(3));
  switch (chance.below(20)) {
    case 0:
      plan.outcome = wire::RunOutcome::kFailed;
      break;
    case 1:
    case 2:
    case 3:
      plan.outcome = wire::RunOutcome::kException;
      break;
    case 4:
      plan.outcome = wire::RunOutcome::kLater;
      break;
    default:
      break;
  }
  if (spec.timeout > Duration{} && chance.one_in(4)) plan.time = spec.timeout * 2;
  return plan;
}

ClientProcess& Workload::client() {
  return *cluster_.clients[cluster_.chance.below(cluster_.clients.size())];
}

// Where they are few, most of the time the first.
std::string Workload::any_group() {
  const std::vector<std::string>& groups = cluster_.groups;
  if (groups.size() > 2) return groups[cluster_.chance.below(groups.size())];
  return groups[cluster_.chance.one_in(6) ? 1 : 0];
}

void Workload::submit_steady() {
  Chance& chance = cluster_.chance;
  for (const Overlap overlap : kOverlaps) {
    for (const MisfirePolicy policy :
         {MisfirePolicy::kFireOnce, MisfirePolicy::kSkip, MisfirePolicy::kFireAll}) {
      JobSpec job{.task_id = "steady-" + std::to_string(static_cast<int>(overlap)) + "-" +
                             std::to_string(static_cast<int>(policy))};
      job.run.handler = "noop";
      job.overlap = overlap;
      job.misfire.policy = policy;
      job.schedule.kind = ScheduleKind::kEvery;
      job.schedule.interval = chance.between(seconds{13}, seconds{40});
      reconcile(job);
      submit({job});
      job.task_id = "cron-" + job.task_id;
      const CronSchedule& cron = kCrons[chance.below(kCrons.size())];
      job.schedule = {.kind = ScheduleKind::kCron, .cron = cron.cron, .tz = cron.tz};
      submit({std::move(job)});
    }
  }
}

void Workload::choose_schedule(JobSpec& job) {
  Chance& chance = cluster_.chance;
  const bool is_counted = chance.one_in(2);
  // Nobody acts on some of those that end of themselves, so that their count can be held to them.
  const bool is_left_alone = is_counted && chance.one_in(2);
  const std::string acted = acted_on(chance.below(kActedOnTasks));
  const std::string left_alone = "alone-" + std::to_string(++last_);
  switch (chance.below(10)) {
    case 0:
    case 1:
    case 2:
    case 3:
      if (chance.one_in(3)) job.task_id = acted;
      return;
    case 4:
    case 5:
      job.schedule.kind = ScheduleKind::kAt;
      job.schedule.at = cluster_.timeline.wall_now() +
                        chance.between(Duration{}, chance.one_in(4) ? Duration{minutes{25}}
                                                                    : Duration{minutes{3}});
      job.task_id = acted;
      return;
    case 6:
    case 7:
      job.schedule.kind = chance.one_in(2) ? ScheduleKind::kEvery : ScheduleKind::kFixedDelay;
      job.schedule.interval = chance.between(seconds{1}, seconds{40});
      if (is_counted) job.schedule.count = 1 + static_cast<std::int64_t>(chance.below(12));
      job.task_id = is_left_alone ? left_alone : acted;
      return;
    case 8: {
      const CronSchedule& cron = kCrons[chance.below(kCrons.size())];
      job.schedule = {.kind = ScheduleKind::kCron, .cron = cron.cron, .tz = cron.tz};
      job.schedule.dst =
          chance.one_of({DstRule::kAuto, DstRule::kSkip, DstRule::kOnce, DstRule::kTwice});
      job.task_id = acted;
      return;
    }
    default:
      job.schedule.kind = ScheduleKind::kManual;
      job.task_id = acted;
      return;
  }
}

void Workload::choose_rules(JobSpec& job) {
  Chance& chance = cluster_.chance;
  job.overlap = kOverlaps.at(chance.below(kOverlaps.size()));
  job.misfire.policy =
      chance.one_of({MisfirePolicy::kFireOnce, MisfirePolicy::kSkip, MisfirePolicy::kFireAll});
  if (chance.one_in(4)) job.misfire.threshold = chance.between(seconds{1}, seconds{20});
  if (chance.one_in(4)) job.misfire.max = static_cast<std::int64_t>(1 + chance.below(4));
  if (chance.one_in(4)) job.misfire.window = chance.between(seconds{10}, minutes{2});
  job.priority = static_cast<int>(chance.below(200));
  job.retries = {.max = static_cast<int>(chance.below(4)),
                 .policy = chance.one_of({RetryBackoff::kFixed, RetryBackoff::kExponential}),
                 .base = chance.between(milliseconds{100}, seconds{10}),
                 .jitter = chance.one_in(3) ? 0.3 : 0.0};
  job.replace_on_exist = chance.one_in(6);
  if (chance.one_in(12)) job.start_deadline = chance.between(seconds{1}, seconds{30});
  if (chance.one_in(10)) job.timeout = chance.between(seconds{1}, seconds{8});
  if (chance.one_in(4)) job.run = {.kind = RunKind::kShell, .shell = "true"};
  job.need_feedback = chance.one_in(6);
  if (job.need_feedback) job.client_group = chance.one_of({"billing", "ops"});
  if (chance.one_in(100) && job.overlap != Overlap::kParallel) job.run = {.handler = kPoison};
  reconcile(job);
}

// Of higher numbers than its own, so that there are no loops.
void Workload::choose_children(JobSpec& job) {
  Chance& chance = cluster_.chance;
  if (!chance.one_in(6)) return;
  std::size_t number = 0;
  if (job.task_id.starts_with(kActedOn)) {
    number = std::stoul(job.task_id.substr(kActedOn.size())) + 1;
  }
  number += chance.below(kActedOnTasks / 2);
  for (; number < kActedOnTasks && job.children.size() < 2; number += 1 + chance.below(9)) {
    Child child{.task_id = acted_on(number)};
    if (cluster_.has_several()) child.group = any_group();
    job.children.push_back(std::move(child));
  }
}

JobSpec Workload::something() {
  JobSpec job;
  job.run.handler = "noop";
  choose_schedule(job);
  choose_rules(job);
  choose_children(job);
  job.group = any_group();
  if (job.task_id.starts_with("alone-")) job.replace_on_exist = false;
  return job;
}

void Workload::submit_something() {
  std::vector<JobSpec> jobs{something()};
  if (cluster_.chance.one_in(10)) jobs.push_back(something());
  if (cluster_.chance.one_in(100)) {
    while (jobs.size() < 40) jobs.push_back(something());
  }
  submit(std::move(jobs));
}

void Workload::submit_burst(bool with_poison) {
  JobSpec job{.group = cluster_.groups.front()};
  job.run.handler = kBrief;
  std::vector<JobSpec> jobs(100, job);
  if (with_poison) {
    jobs.front().run.handler = kPoison;
    jobs.front().priority = 0;
  }
  submit(std::move(jobs));
}

void Workload::submit(std::vector<JobSpec> jobs) {
  ClientProcess& asked = client();
  if (!asked.is_alive()) return;
  std::vector<std::string> kinds;
  std::vector<std::pair<std::string, std::string>> tasks;
  for (JobSpec& job : jobs) {
    job.description = "submission " + std::to_string(++submissions_);
    ++asked_[{job.group, job.task_id}].made;
    ++asked_[{job.group, job.task_id}].open;
    tasks.emplace_back(job.group, job.task_id);
    kinds.push_back(word_of(job.schedule.kind) + (job.schedule.count ? " with count" : ""));
  }
  asked.submit(std::move(jobs), [this, kinds, tasks](Result<std::vector<SubmitAnswer>> answers) {
    if (!answers.ok()) return take_refusal(answers.error());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const std::string& task = answers.value()[i].task_id;
      if (!tasks[i].second.empty() && task != tasks[i].second) {
        broken_("task " + tasks[i].second + " is answered with what became of " + task);
      }
      Asked& asked_of = asked_[tasks[i]];
      if (answers.value()[i].status == SubmitStatus::kStored) {
        ++asked_of.stored;
        ++statistics_.hour().acts["store"];
      } else if (answers.value()[i].error) {
        take_refusal({*answers.value()[i].error, answers.value()[i].reason});
      } else {
        --asked_of.open;
        take_answer(answers.value()[i], kinds[i]);
      }
    }
  });
}

// A process that dies in the middle of it is told nothing, or the next one again.
void Workload::take_delivered(const SubmitAnswer& answer) {
  Asked& asked = asked_[{answer.group, answer.task_id}];
  if (asked.stored > 0) {
    --asked.stored;
    --asked.open;
    ++statistics_.hour().acts["deliver"];
  }
  take_answer(answer, "");
}

void Workload::take_refusal(const Error& error) {
  const bool may_pass = error.code == ErrorCode::kTimeout ||
                        error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kLimit;
  const bool is_quiet = cluster_.timeline.now() >= cluster_.quiet_from;
  const bool may_be =
      may_pass ? !is_quiet
               : error.code == ErrorCode::kConflict || error.code == ErrorCode::kNotFound;
  if (!may_be) broken_("a request is answered with: " + error.message);
}

void Workload::take_answer(const SubmitAnswer& answer, const std::string& kind) {
  if (answer.status == SubmitStatus::kRejected) {
    broken_("task " + answer.task_id + " is rejected: " + answer.reason);
  }
  if (answer.status != SubmitStatus::kAccepted) return;
  if (!kind.empty()) ++statistics_.hour().jobs[kind];
  if (answer.job_id && !cluster_.ledger.knows(answer.job_id)) {
    broken_("job " + std::to_string(answer.job_id.value) + " was accepted, and is not stored");
  }
}

void Workload::act_on_something() {
  Chance& chance = cluster_.chance;
  // Runs are shorter than the time between two acts, so most that is to be killed is gone.
  wire::Act act{.verb = static_cast<wire::Verb>(chance.below(5)),
                .group = cluster_.groups.front(),
                .task_id = acted_on(chance.below(kActedOnTasks))};
  if (act.verb == wire::Verb::kKill || chance.one_in(4)) {
    for (const auto& [id, row] : cluster_.database.tables().executing) {
      if (!row.job.task_id.starts_with(kActedOn) || chance.one_in(2)) continue;
      act.task_id = row.job.task_id;
      act.group = group_name(cluster_.database.tables(), row.job.group);
    }
  } else {
    act.group = any_group();
  }
  act.force = chance.one_in(3);
  if (act.verb == wire::Verb::kTrigger && chance.one_in(3)) act.payload = "by hand";
  this->act(std::move(act));
}

void Workload::act(wire::Act act) {
  ClientProcess& asked = client();
  if (!asked.is_alive()) return;
  const char* const verb = kVerbs.at(static_cast<std::size_t>(act.verb));
  const std::pair task{act.group, act.task_id};
  const int number = ++asked_[task].made;
  const bool is_alone = asked_[task].open++ == 0;
  asked.ask(act, [this, verb, task, number, is_alone, asked_at = cluster_.timeline.now(),
                  what = act.verb](Result<wire::Message> answer) {
    const bool is_known = answer.ok() || answer.error().code == ErrorCode::kConflict ||
                          answer.error().code == ErrorCode::kNotFound;
    if (is_known) --asked_[task].open;
    if (!answer.ok()) return take_refusal(answer.error());
    ++statistics_.hour().acts[verb];
    // If nobody asked for something else meanwhile.
    const bool is_last = is_alone && asked_[task].made == number;
    if (is_last && !cluster_.ledger.shows(what, task.first, task.second, asked_at)) {
      broken_("task " + task.second + " is said to be done with: " + verb + ", and is not");
    }
  });
}

void Workload::cancel_everything() {
  const auto& tables = cluster_.database.tables();
  for (const auto& [key, holder] : tables.keys) {
    act({.verb = wire::Verb::kCancel,
         .group = group_name(tables, key.first),
         .task_id = key.second});
  }
  for (const auto& [id, row] : tables.executing) {
    act({.verb = wire::Verb::kCancel,
         .group = group_name(tables, row.job.group),
         .task_id = row.job.task_id});
  }
  for (const auto& [group, table] : tables.waiting) {
    for (const auto& [id, row] : table.all()) {
      if (row.definition) continue;
      act({.verb = wire::Verb::kCancel,
           .group = group_name(tables, group),
           .task_id = row.task_id});
    }
  }
  for (const auto& [id, row] : tables.delayed.all()) {
    if (row.definition) continue;
    act({.verb = wire::Verb::kCancel,
         .group = group_name(tables, row.group),
         .task_id = row.task_id});
  }
}

}  // namespace carillon::sim
