#include "jobtracker/dispatch/dispatcher.h"

#include <algorithm>
#include <utility>

#include "jobtracker/state/executors.h"
#include "shared/base/assert.h"
#include "shared/wire/spec_words.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kRefillGrowth = 4;
// Jobs that are due later than this are read a few at a time, for one group after another, because
// claims wait for reads.
constexpr Duration kSoon = std::chrono::seconds{1};
constexpr std::int64_t kRowsAhead = 500;

}  // namespace

Dispatcher::Dispatcher(DispatcherConfig config, SessionId session, Catalog& catalog,
                       ExecutingTable& executing, Workers& workers, GroupMetrics& metrics,
                       Batcher& batcher, Questions& questions, SchedulingClock& clock,
                       TaskRunner& task_runner, AdmissionPolicy& admission, AttemptReclaimer& ends,
                       WorkerLink& link, const Logger& log)
    : config_(config),
      catalog_(catalog),
      executing_(executing),
      workers_(workers),
      batcher_(batcher),
      clock_(clock),
      task_runner_(task_runner),
      admission_(admission),
      ends_(ends),
      log_(log),
      deadlines_(config.deadlines, catalog, executing, batcher, questions, clock, task_runner,
                 admission, log),
      isolation_(config.isolation, workers, executing, clock, log),
      hand_outs_(
          {.bytes_max = config.handout_bytes_max,
           .wait_max =
               std::max({config.claim_ahead, config.push_claim_ahead, config.pause_claim_ahead})},
          session, catalog, executing, workers, metrics, clock, task_runner, ends, link, log) {}

void Dispatcher::open_group(GroupId group) {
  queues_.try_emplace(group);
  deadlines_.open_group(group);
}

void Dispatcher::offer(WaitingJob job) {
  if (held_.count(job.id) != 0 || executing_.find(job.id) != nullptr) return;
  const auto found = queues_.find(job.group);
  CARILLON_ASSERT(found != queues_.end(), "a group is opened before its first job");
  touch(job.group);
  const WallTime now = clock_.now();
  const auto glance = catalog_.glance(job);
  if (glance) deadlines_.offer(job, *glance);
  DispatchQueue* last = nullptr;
  for (auto& [kinds, queue] : found->second) {
    if (!is_for(kinds, glance)) continue;
    if (last != nullptr) last->preload.offer(job, now);
    last = &queue;
  }
  if (last == nullptr) return say_if_nobody_accepts(job);
  last->preload.offer(std::move(job), now);
}

void Dispatcher::forget(GroupId group, JobId id) {
  deadlines_.forget(id);
  const auto found = queues_.find(group);
  if (found == queues_.end()) return;
  for (auto& [kinds, queue] : found->second) queue.preload.forget(id);
}

void Dispatcher::forget_definition(GroupId group, DefinitionId id) {
  const auto found = queues_.find(group);
  if (found == queues_.end()) return;
  for (auto& [kinds, queue] : found->second) queue.preload.forget_definition(id);
}

void Dispatcher::forget_fires(GroupId group, DefinitionId id) {
  const auto found = queues_.find(group);
  if (found == queues_.end()) return;
  for (auto& [kinds, queue] : found->second) queue.preload.forget_fires(id);
}

void Dispatcher::hold(GroupId group, JobId id) {
  held_.insert(id);
  forget(group, id);
}

void Dispatcher::release(JobId id) {
  const auto found = held_.find(id);
  CARILLON_ASSERT(found != held_.end(), "only a held job can be released");
  held_.erase(found);
}

void Dispatcher::reload(GroupId group) {
  for (auto& [kinds, queue] : queues_.at(group)) {
    drop_timer(queue);
    queue = new_queue(clock_.now());
  }
  touch(group);
}

void Dispatcher::reload_all() {
  for (const auto& [group, queues] : queues_) reload(group);
  deadlines_.clock_was_set();
}

void Dispatcher::expect_pause(bool expects) {
  if (std::exchange(expects_pause_, expects) == expects) return;
  for (const auto& [group, queues] : queues_) touch(group);
}

void Dispatcher::pump() {
  const WallTime now = clock_.now();
  while (!reads_ahead_ && !to_read_ahead_.empty()) {
    auto next = to_read_ahead_.upper_bound(read_ahead_last_);
    if (next == to_read_ahead_.end()) next = to_read_ahead_.begin();
    pump_group(to_read_ahead_.extract(next).value(), now);
  }
  const std::set<GroupId> touched = std::exchange(touched_, {});
  // The partitions of a group share the credit of its workers: each time another one is first.
  const auto begin = touched.upper_bound(began_with_);
  for (auto group = begin; group != touched.end(); ++group) pump_group(*group, now);
  for (auto group = touched.begin(); group != begin; ++group) pump_group(*group, now);
  if (!touched.empty()) began_with_ = begin != touched.end() ? *begin : *touched.begin();
}

Dispatcher::DispatchQueue Dispatcher::new_queue(WallTime now) {
  return {.preload = Preload(config_.preload, now), .generation = ++last_generation_};
}

// One dispatch queue for each set of kinds that task trackers of the group accept. Jobs due by
// `now` are read as due, later ones as upcoming: a later time for a new dispatch queue would skip
// jobs that become due in between.
void Dispatcher::match_queues(GroupId group, DispatchQueues& queues, WallTime now) {
  const std::vector<RunKinds> wanted = workers_.kinds(group);
  const bool is_same =
      std::equal(wanted.begin(), wanted.end(), queues.begin(), queues.end(),
                 [](RunKinds kinds, const auto& queue) { return kinds == queue.first; });
  if (is_same) return;
  for (auto queue = queues.begin(); queue != queues.end();) {
    if (std::find(wanted.begin(), wanted.end(), queue->first) != wanted.end()) {
      ++queue;
    } else {
      drop_timer(queue->second);
      suspect_waits_.erase({group, queue->first});
      queue = queues.erase(queue);
    }
  }
  for (const RunKinds kinds : wanted) {
    if (!queues.contains(kinds)) queues.emplace(kinds, new_queue(now));
  }
  const auto said = said_nobody_accepts_.lower_bound({group, RunKind{}});
  const auto end = said_nobody_accepts_.lower_bound({GroupId{group.value + 1}, RunKind{}});
  said_nobody_accepts_.erase(said, end);
}

// Task trackers that accept the fewest kinds are served first: the others can run the rest.
void Dispatcher::pump_group(GroupId group, WallTime now) {
  const auto found = queues_.find(group);
  if (found == queues_.end()) return;
  DispatchQueues& queues = found->second;
  match_queues(group, queues, now);
  for (auto& [kinds, queue] : queues) {
    queue.preload.advance(now);
    refill(group, kinds, queue, now);
    suspect_waits_.erase({group, kinds});
    while (queue.preload.has_due()) {
      Worker* worker = taker_of(queue.preload.best(), group, kinds, 1);
      if (worker == nullptr) break;
      WaitingJob job = queue.preload.take_best();
      drop_from_others(queues, queue, job.id);
      if (admission_.admit(job, now)) claim(std::move(job), *worker, now);
    }
    // Claims ahead while a thread stays free for earlier jobs, and memory has all due jobs.
    while (queue.preload.is_due_complete(now) && !queue.preload.has_due() &&
           queue.preload.soonest() != nullptr &&
           due_time(*queue.preload.soonest()) <= now + claim_ahead(kinds)) {
      Worker* worker = taker_of(*queue.preload.soonest(), group, kinds, 2);
      if (worker == nullptr) break;
      WaitingJob job = queue.preload.take_soonest();
      drop_from_others(queues, queue, job.id);
      if (admission_.admit(job, now)) claim(std::move(job), *worker, now);
    }
    if (queue.preload.has_due() && catalog_.is_suspect(queue.preload.best()))
      suspect_waits_.insert({group, kinds});
    refill(group, kinds, queue, now);
    set_timer(group, kinds, queue);
  }
}

// A job that kills its worker also destroys the queue behind it, and since the order stays the
// same, again and again. So a suspect goes only to a free thread, and nothing is queued where a
// suspect runs. Nothing is queued either where a suspect of another partition of the group waits
// for a thread; in its own dispatch queue it is the best job.
Worker* Dispatcher::taker_of(const WaitingJob& job, GroupId group, RunKinds kinds,
                             std::int32_t credit_min) {
  const bool is_full = executing_.spec_bytes() >= config_.executing_bytes_max;
  if (is_full && kinds == RunKinds::pushed()) {
    touch_later(group);
    return nullptr;
  }
  const bool needs_thread = is_full || catalog_.is_suspect(job);
  return workers_.next_with_credit(group, kinds, credit_min, [&](const Worker& worker) {
    if (!isolation_.may_take(worker)) return false;
    const auto waits_for_it = [&](GroupId part) { return suspect_waits_.contains({part, kinds}); };
    const bool may_queue = kinds == RunKinds::pushed() ||
                           (!needs_thread && !executing_.has_suspect(worker.session) &&
                            (suspect_waits_.empty() ||
                             std::none_of(worker.parts.begin(), worker.parts.end(), waits_for_it)));
    return may_queue || executing_.has_fewer(worker.session, worker.threads - credit_min + 1);
  });
}

void Dispatcher::touch_later(GroupId group) {
  if (!to_touch_.insert(group).second) return;
  task_runner_.post_at(clock_.steady_now() + config_.retry_after, [this, group] {
    to_touch_.erase(group);
    touch(group);
  });
}

// A job without a definition goes to any queue; its claim fails.
bool Dispatcher::is_for(RunKinds kinds, const std::optional<wire::SpecGlance>& glance) {
  return !glance || kinds.takes(*glance);
}

void Dispatcher::say_if_nobody_accepts(const WaitingJob& job) {
  const auto glance = catalog_.glance(job);
  if (!glance || glance->is_pushed || workers_.count(job.group) == 0 ||
      workers_.accepts(job.group, *glance) ||
      !said_nobody_accepts_.insert({job.group, glance->kind}).second)
    return;
  log_.warn("no task tracker of the group accepts this kind of run (see --allow); these jobs wait",
            "group", catalog_.whole_of(job.group)->name, "kind",
            wire::word_of(glance->kind, wire::kRunWords), "task", job.task_id);
}

void Dispatcher::drop_from_others(DispatchQueues& queues, const DispatchQueue& taker, JobId id) {
  for (auto& [kinds, queue] : queues) {
    if (&queue != &taker) queue.preload.forget(id);
  }
}

Dispatcher::DispatchQueue* Dispatcher::queue_of(const Asked& asked) {
  DispatchQueues& queues = queues_.at(asked.group);
  const auto found = queues.find(asked.kinds);
  if (found == queues.end() || found->second.generation != asked.generation) return nullptr;
  return &found->second;
}

void Dispatcher::refill(GroupId group, RunKinds kinds, DispatchQueue& queue, WallTime now) {
  Asked asked{.group = group, .kinds = kinds, .generation = queue.generation};
  asked.limit = std::min(
      {config_.refill, queue.rows_at_once, static_cast<std::int64_t>(queue.preload.capacity())});
  const auto ask = [this](Read question, const Asked& by) {
    batcher_.ask(std::move(question), [this, by](Result<ReadAnswer> answer) {
      if (by.is_ahead) reads_ahead_ = false;
      answer.ok() ? take_rows(by, std::move(answer)) : read_failed(by, answer.error());
    });
  };
  if (queue.preload.needs_due_refill()) {
    asked.due = true;
    ask(ReadDue{.group = group, .now = now, .after = queue.preload.ask_due(), .limit = asked.limit},
        asked);
  }
  if (queue.preload.needs_upcoming_refill()) {
    asked.due = false;
    // A dispatch queue without jobs would not be woken before its next read.
    asked.is_ahead =
        queue.preload.next_due_time().has_value() && queue.preload.is_filled_until(now + kSoon);
    if (asked.is_ahead && !may_read_ahead(group, asked)) return;
    const auto [time, id] = queue.preload.ask_upcoming();
    ask(ReadUpcoming{.group = group,
                     .after_time = time,
                     .after_id = id,
                     .through = WallTime::max(),
                     .limit = asked.limit},
        asked);
  }
}

// One group at a time reads ahead.
bool Dispatcher::may_read_ahead(GroupId group, Asked& asked) {
  if (reads_ahead_) {
    to_read_ahead_.insert(group);
    return false;
  }
  reads_ahead_ = true;
  read_ahead_last_ = group;
  asked.limit = std::min(asked.limit, kRowsAhead);
  return true;
}

void Dispatcher::take_rows(const Asked& asked, Result<ReadAnswer> answer) {
  DispatchQueue* queue = queue_of(asked);
  if (queue == nullptr) return;
  touch(asked.group);
  auto jobs = std::move(std::get<JobsAnswer>(answer.value()).jobs);
  const bool is_all = static_cast<std::int64_t>(jobs.size()) < asked.limit;
  std::optional<HandOutKey> due_through;
  std::optional<DueKey> upcoming_through;
  if (!is_all) {
    std::int64_t bytes = 0;
    for (const WaitingJob& job : jobs) bytes += static_cast<std::int64_t>(job.spec.size()) + 200;
    // After a start, reads are small first and then grow, because claims wait for reads.
    queue->rows_at_once = std::min(
        std::clamp<std::int64_t>(config_.refill_bytes * asked.limit / bytes, 8, config_.refill),
        kRefillGrowth * asked.limit);
    due_through = hand_out_key(jobs.back());
    upcoming_through = due_key(jobs.back());
  }
  std::erase_if(jobs, [&](const WaitingJob& job) {
    // Rows with a pending claim are still in the table, but belong to the claim. Rows that are
    // being changed belong to the change.
    if (executing_.find(job.id) != nullptr || held_.count(job.id) != 0) return true;
    if (is_for(asked.kinds, catalog_.glance(job))) return false;
    say_if_nobody_accepts(job);
    return true;
  });
  if (asked.due) {
    queue->preload.due_loaded(std::move(jobs), due_through, clock_.now());
  } else {
    queue->preload.upcoming_loaded(std::move(jobs), upcoming_through, clock_.now());
  }
}

void Dispatcher::read_failed(const Asked& asked, const Error& error) {
  log_.error("cannot read waiting jobs; retrying", "group", asked.group.value, "error",
             error.message);
  task_runner_.post_at(clock_.steady_now() + config_.retry_after, [this, asked] {
    DispatchQueue* queue = queue_of(asked);
    if (queue == nullptr) return;
    asked.due ? queue->preload.due_failed() : queue->preload.upcoming_failed();
    touch(asked.group);
  });
}

ExecutingJob Dispatcher::reserve(WaitingJob job, Worker& worker, WallTime now) {
  ExecutingJob row{
      .job = std::move(job), .session = worker.session, .node = worker.name, .claimed_at = now};
  row.job.attempt += 1;
  deadlines_.forget(row.job.id);
  ++worker.reserved;
  isolation_.claimed_for(worker);
  ++claims_;
  executing_.put(row, Phase::kClaiming);
  return row;
}

void Dispatcher::claim(WaitingJob job, Worker& worker, WallTime now) {
  Claim claim{.to = reserve(std::move(job), worker, now)};
  batcher_.post(Urgency::kClaim, std::move(claim),
                [this](Operation& operation, const Outcome& outcome, const Error* refused) {
                  on_claimed(std::get<Claim>(operation), outcome, refused);
                });
}

void Dispatcher::on_claimed(Claim& claim, const Outcome& outcome, const Error* refused) {
  const JobId id = claim.to.job.id;
  Executing* entry = executing_.find(id);
  CARILLON_ASSERT(entry != nullptr && entry->phase == Phase::kClaiming,
                  "no other decider ends a claim in progress");
  touch(claim.to.job.group);
  if (outcome.kind != OutcomeKind::kDone) {
    // It was cancelled, suspended or voided since it was read.
    give_up(*entry);
    admission_.was_not_claimed(claim.to.job);
    if (refused == nullptr) return;
    // The row still exists, and the job must run.
    log_.error("the store rejected a claim; retrying", "job", id.value, "error", refused->message);
    claim.to.job.attempt -= 1;
    task_runner_.post_at(clock_.steady_now() + config_.retry_after,
                         [this, job = std::move(claim.to.job)] { offer(job); });
    return;
  }
  hand_outs_.add(*entry);
}

void Dispatcher::go_on(Executing& entry) {
  const WaitingJob& job = entry.row.job;
  Worker* worker = workers_.find(entry.row.session);
  // By the clock of this session, which may be behind.
  const bool is_near = due_time(job) <= clock_.now() + config_.push_claim_ahead;
  const bool may_go_on =
      worker != nullptr && worker->credit() > 0 && is_near && may_begin_until(entry);
  if (!may_go_on) return ends_.reclaim(job.id, false);
  ++worker->reserved;
  hand_outs_.add(entry);
}

std::optional<WallTime> Dispatcher::may_begin_until(const Executing& entry) const {
  if (catalog_.is_void(entry.row)) return {};
  const auto glance = catalog_.glance(entry.row.job);
  if (!glance) return {};
  const WallTime end = deadlines_.end_of(entry.row.job, *glance).value_or(WallTime::max());
  if (end <= clock_.now()) return {};
  return end;
}

// Handles a failed claim.
void Dispatcher::give_up(Executing& entry) {
  if (Worker* worker = workers_.find(entry.row.session)) --worker->reserved;
  executing_.erase(entry.row.job.id);
}

// It has not been offered, and must not pass jobs that have waited longer.
std::optional<ExecutingJob> Dispatcher::claim_new(const WaitingJob& job) {
  const WallTime now = clock_.now();
  const auto found = queues_.find(job.group);
  // A job with an earlier due time may be too late to run at all.
  if (job.kind != ScheduleKind::kNow || due_time(job) > now || found == queues_.end() ||
      touched_.contains(job.group))
    return {};
  const auto glance = catalog_.glance(job);
  Worker* worker = nullptr;
  for (auto& [kinds, queue] : found->second) {
    queue.preload.advance(now);
    if (queue.preload.has_due() || !queue.preload.is_due_complete(now)) return {};
    if (worker == nullptr && is_for(kinds, glance)) worker = taker_of(job, job.group, kinds, 1);
  }
  if (worker == nullptr) return {};
  return reserve(job, *worker, now);
}

void Dispatcher::claimed_new(JobId id, bool was_stored) {
  Executing* entry = executing_.find(id);
  CARILLON_ASSERT(entry != nullptr && entry->phase == Phase::kClaiming,
                  "no other decider ends a claim in progress");
  touch(entry->row.job.group);
  was_stored ? hand_outs_.add(*entry) : give_up(*entry);
}

Duration Dispatcher::claim_ahead(RunKinds kinds) const {
  if (kinds == RunKinds::pushed()) return config_.push_claim_ahead;
  return expects_pause_ ? std::max(config_.claim_ahead, config_.pause_claim_ahead)
                        : config_.claim_ahead;
}

void Dispatcher::set_timer(GroupId group, RunKinds kinds, DispatchQueue& queue) {
  const auto next = queue.preload.next_due_time();
  if (!next) return;
  // Wakes at two times: to claim ahead, and at the due time, if no thread was free.
  const WallTime now = clock_.now();
  const WallTime ahead = *next - claim_ahead(kinds);
  const WallTime at = ahead > now ? ahead : *next;
  if (queue.timer != 0 && queue.timer_at <= at && queue.timer_at > now) return;
  if (queue.timer != 0) task_runner_.cancel(queue.timer);
  queue.timer_at = at;
  queue.timer = task_runner_.post_at(clock_.steady_at(at), [this, group, &queue] {
    queue.timer = 0;
    touch(group);
  });
}

// Its callback must not find another dispatch queue in its place.
void Dispatcher::drop_timer(DispatchQueue& queue) {
  if (queue.timer != 0) task_runner_.cancel(std::exchange(queue.timer, 0));
}

std::size_t Dispatcher::jobs_in_memory() const {
  std::size_t all = 0;
  for (const auto& [group, queues] : queues_) {
    for (const auto& [kinds, queue] : queues)
      all += queue.preload.due_size() + queue.preload.upcoming_size();
  }
  return all;
}

Sizes Dispatcher::sizes() const {
  std::size_t queues = 0;
  Sizes preloads;  // summed over all dispatch queues
  for (const auto& [group, of_group] : queues_) {
    queues += of_group.size();
    for (const auto& [kinds, queue] : of_group) {
      const Sizes one = queue.preload.sizes();
      if (preloads.empty()) preloads = Sizes(one.size());
      for (std::size_t i = 0; i < one.size(); ++i) {
        preloads[i] = {one[i].first, preloads[i].second + one[i].second};
      }
    }
  }
  Sizes all{{"groups", queues_.size()},
            {"queues", queues},
            {"held", held_.size()},
            {"touched", touched_.size()},
            {"to_touch", to_touch_.size()},
            {"to_read_ahead", to_read_ahead_.size()},
            {"suspect_waits", suspect_waits_.size()},
            {"said_nobody_accepts", said_nobody_accepts_.size()},
            {"ready", hand_outs_.ready()}};
  add_sizes(all, "preload", preloads);
  add_sizes(all, "deadlines", deadlines_.sizes());
  add_sizes(all, "isolation", isolation_.sizes());
  return all;
}

}  // namespace carillon::jobtracker
