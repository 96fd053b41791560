#include "jobtracker/recurrence/missed_fires.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <limits>
#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kRowsAtOnce = 10'000;
constexpr JobId kNewest{std::numeric_limits<std::int64_t>::max()};
constexpr int kLookedAtAtOnce = 16;
constexpr int kFiresAtOnce = 1'000;  // counted in one turn for one definition
constexpr Duration kSayPeriod = std::chrono::seconds{1};

std::string words(MisfirePolicy policy) {
  switch (policy) {
    case MisfirePolicy::kFireOnce:
      return "missed while no job tracker ran; one run replaces all";
    case MisfirePolicy::kSkip:
      return kMissedForGood;
    case MisfirePolicy::kFireAll:
      return "missed while no job tracker ran; exceeds the misfire policy's max or window";
  }
  return {};
}

}  // namespace

// The missed fires that run.
struct MissedFires::Chosen {
  std::size_t kept = 0;          // rows that stay in the table
  std::vector<WallTime> bare{};  // fires that get an occurrence, by time
};

// The missed fires of a definition.
struct MissedFires::Missed {
  DefinitionId id{};
  std::int32_t version = 0;  // another version: it was suspended, and its fires are void
  std::size_t runs_max = 0;  // by the policy
  WallTime until{};          // later fires are not missed
  // Fires up to this time are not missed either: a run was in progress.
  std::optional<WallTime> passed_over{};
  std::vector<WaitingJob> rows{};  // by time
  // Fires without a row, all later than the rows: the newest that may run.
  std::deque<WallTime> bare{};
  std::int64_t bare_count = 0;           // number of all fires without a row
  WallTime runs_from = WallTime::min();  // earlier fires do not run
  // With fire_all, the remaining count may be smaller than the missed fires: the first ones are its
  // last runs, and later fires do not exist.
  std::optional<std::size_t> runs_left{};
  WallTime first_bare{};
  WallTime through{};              // counted up to here
  std::optional<WallTime> next{};  // the next fire

  std::int64_t total() const { return static_cast<std::int64_t>(rows.size()) + bare_count; }
  bool has_all() const {
    if (!runs_left) return false;
    const auto rows_of_it = std::count_if(rows.begin(), rows.end(), [this](const auto& row) {
      return row.trigger_time >= runs_from;
    });
    const auto bare_of_it = std::count_if(bare.begin(), bare.end(),
                                          [this](WallTime fire) { return fire >= runs_from; });
    return static_cast<std::size_t>(rows_of_it + bare_of_it) >= *runs_left;
  }
  void count(WallTime fire) {
    if (bare_count++ == 0) first_bare = fire;
    bare.push_back(fire);
    if (bare.size() > runs_max) bare.pop_front();
    through = fire;
  }

  // Takes the newest runs, at most `most`, from `first` on.
  Chosen take_newest(std::size_t most, WallTime first) {
    Chosen chosen;
    while (chosen.bare.size() < most && !bare.empty() && bare.back() >= first) {
      chosen.bare.push_back(bare.back());
      bare.pop_back();
      --bare_count;
    }
    std::reverse(chosen.bare.begin(), chosen.bare.end());
    const std::size_t left = most - chosen.bare.size();
    while (chosen.kept < left && !rows.empty() && rows.back().trigger_time >= first) {
      rows.pop_back();
      ++chosen.kept;
    }
    return chosen;
  }

  // Usually one. Clock changes may cause several, with other outcomes between.
  struct Range {
    WallTime first{};
    WallTime last{};
    std::int64_t count = 0;
  };
  std::vector<Range> ranges(CompiledSchedule& schedule) const {
    std::vector<Range> all;
    const auto add = [&](WallTime first, WallTime last, std::int64_t count) {
      if (all.empty() || schedule.next_fire(all.back().last) != first) {
        all.push_back({first, last, count});
      } else {
        all.back().last = last;
        all.back().count += count;
      }
    };
    for (const WaitingJob& row : rows) add(row.trigger_time, row.trigger_time, 1);
    if (bare_count > 0) add(first_bare, through, bare_count);
    return all;
  }
};

MissedFires::MissedFires(const DownTime& down_time, Plans& plans, Changes& changes,
                         Promotion& promotion, Catalog& catalog, Batcher& batcher, JobSink& sink,
                         SchedulingClock& clock, TaskRunner& task_runner, const Logger& log,
                         OnKnown on_known)
    : down_time_(down_time),
      plans_(plans),
      changes_(changes),
      promotion_(promotion),
      catalog_(catalog),
      batcher_(batcher),
      sink_(sink),
      clock_(clock),
      task_runner_(task_runner),
      log_(log),
      on_known_(std::move(on_known)) {}

void MissedFires::stop() {
  is_stopped_ = true;
  say();
}

void MissedFires::start() {
  for (int i = 0; i < kLookedAtAtOnce; ++i) look_at_next();
}

// Marks a definition whose rows must be checked before it runs, because it may have missed fires.
void MissedFires::add(ActiveDefinition& definition) {
  const Definition& row = definition.row;
  if (row.kind == ScheduleKind::kManual || is_held(row.state)) return;
  bool must = false;
  const Duration threshold = definition.spec.misfire.threshold;
  // Usually the group had an owner until now.
  if (down_time_.from(row.group) >= down_time_.until() - threshold) return;
  if (is_single(definition)) {
    must = row.state == DefinitionState::kActive &&
           down_time_.was_missed(row.group, row.next_fire, threshold);
  } else {
    const WallTime from = down_time_.from(row.group);
    const auto first = definition.schedule.next_fire(from);
    must = from != WallTime{} && first && down_time_.was_missed(row.group, *first, threshold);
  }
  if (must) look_later_at(definition);
}

void MissedFires::look_later_at(ActiveDefinition& definition) {
  const DefinitionId id = definition.row.id;
  definition.is_recovering = true;
  recovering_.insert(id);
  to_look_at_.push_back(id);
  promotion_.hold();  // A missed fire may be in the delayed table.
}

bool MissedFires::are_after(ActiveDefinition& definition, WallTime ended) const {
  const Definition& row = definition.row;
  const WallTime after = passed_over_until(definition, ended);
  if (after >= down_time_.until() || row.kind == ScheduleKind::kFixedDelay ||
      definition.is_recovering || is_exhausted(definition, row.fired))
    return false;
  const auto first = definition.schedule.next_fire(after);
  return first && down_time_.was_missed(row.group, *first, definition.spec.misfire.threshold);
}

void MissedFires::look_after(ActiveDefinition& definition, WallTime ended) {
  ended_[definition.row.id] = ended;
  look_later_at(definition);
  look_at_next();
}

WallTime MissedFires::passed_over_until(const ActiveDefinition& definition, WallTime heard,
                                        WallTime ended) const {
  const bool is_delay = definition.row.kind == ScheduleKind::kFixedDelay;
  const WallTime passed_over = passed_over_until(definition, ended);
  return !is_delay && passed_over < down_time_.until() ? std::min(heard, passed_over) : heard;
}

// Until its run ended, and while a job tracker ran that did not know of the end.
WallTime MissedFires::passed_over_until(const ActiveDefinition& definition, WallTime ended) const {
  const Definition& row = definition.row;
  return std::max({row.generated_through, ended, down_time_.from(row.group)});
}

void MissedFires::look_at_next() {
  if (is_stopped_ || to_look_at_.empty()) return;
  const DefinitionId id = to_look_at_.back();
  to_look_at_.pop_back();
  const ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) {
    end(id);
    return look_at_next();
  }
  read_rows(id, kNewest);
}

// Reads pages, newest first, so that missed fires are known for any number of rows.
void MissedFires::read_rows(DefinitionId id, JobId before) {
  const ActiveDefinition* definition = catalog_.definition(id);
  ReadOccurrences question{.definition = id, .limit = kRowsAtOnce, .untried_before = before};
  if (definition != nullptr) question.group = definition->row.group;
  batcher_.ask(question, [this, id](Result<ReadAnswer> answer) {
    const ActiveDefinition* its = catalog_.definition(id);
    if (!answer.ok() && its != nullptr) {
      log_.error("cannot read a definition's occurrences; retrying", "error",
                 answer.error().message);
      task_runner_.post_at(clock_.steady_now() + std::chrono::seconds{1}, [this, id] {
        rows_.erase(id);
        to_look_at_.push_back(id);
        look_at_next();
      });
      return;
    }
    std::vector<WaitingJob>& rows = rows_[id];
    if (its != nullptr) {
      const auto& page = std::get<JobsAnswer>(answer.value()).jobs;
      std::copy_if(page.begin(), page.end(), std::back_inserter(rows),
                   [&](const WaitingJob& job) { return may_be_missed(*its, job); });
      const bool is_last = static_cast<std::int64_t>(page.size()) < kRowsAtOnce;
      if (!is_last) return read_rows(id, page.back().id);
    }
    look_at(id, std::move(rows_.extract(id).mapped()));
    look_at_next();
  });
}

bool MissedFires::may_be_missed(const ActiveDefinition& definition, const WaitingJob& job) const {
  return job.version == definition.row.version && job.attempt == 0 && !job.triggered &&
         down_time_.was_missed(job.group, job.trigger_time, definition.spec.misfire.threshold);
}

void MissedFires::look_at(DefinitionId id, const std::vector<WaitingJob>& waiting) {
  const auto work = [this, waiting](ActiveDefinition& definition) {
    const Definition& row = definition.row;
    const Misfire& policy = definition.spec.misfire;
    auto missed = std::make_shared<Missed>(Missed{.id = row.id, .version = row.version});
    missed->runs_max = policy.policy == MisfirePolicy::kFireAll
                           ? static_cast<std::size_t>(std::max<std::int64_t>(policy.max, 0))
                           : 1;
    missed->until = down_time_.until() - policy.threshold;
    std::copy_if(waiting.begin(), waiting.end(), std::back_inserter(missed->rows),
                 [&](const WaitingJob& job) { return may_be_missed(definition, job); });
    std::sort(missed->rows.begin(), missed->rows.end(),
              [](const auto& a, const auto& b) { return a.trigger_time < b.trigger_time; });
    missed->through = row.generated_through;
    if (const auto run = ended_.extract(row.id)) {
      missed->passed_over = missed->through = passed_over_until(definition, run.mapped());
    }
    const auto& count_of_runs = definition.spec.schedule.count;
    if (policy.policy == MisfirePolicy::kFireAll)
      missed->runs_from = down_time_.until() - policy.window;
    if (policy.policy == MisfirePolicy::kFireAll && count_of_runs) {
      const std::int64_t ran = row.fired - std::ssize(missed->rows);
      const auto left = static_cast<std::size_t>(std::max<std::int64_t>(*count_of_runs - ran, 0));
      if (left <= missed->runs_max) missed->runs_left = left;
    }
    // A single run that continues passes over its fires at its end, except a triggered run beside a
    // waiting regular one.
    const bool goes_on =
        is_single(definition) && !definition.running.empty() && missed->rows.empty();
    // Fires that were taken for its last runs may not run: then others do.
    const bool is_over = row.state == DefinitionState::kEnded && missed->rows.empty();
    if (!is_held(row.state) && !is_over && (!goes_on || missed->passed_over)) {
      if (row.next_fire > missed->through) {
        missed->next = row.next_fire;
      } else if (row.kind != ScheduleKind::kFixedDelay) {
        missed->next = definition.schedule.next_fire(missed->through);
      }
    }
    leap_to_newest(definition, *missed);
    count(missed);
  };
  changes_.when_settled(id, work, [this, id] { end(id); });
}

// For an interval, fires that do not run are skipped by calculation.
void MissedFires::leap_to_newest(ActiveDefinition& definition, Missed& missed) {
  if (definition.row.kind != ScheduleKind::kEvery || !missed.next || *missed.next > missed.until)
    return;
  const std::int64_t after_first = definition.schedule.count_fires(
      *missed.next, missed.until, std::numeric_limits<std::int64_t>::max());
  const WallTime first = *missed.next;
  std::int64_t leap = after_first - static_cast<std::int64_t>(missed.runs_max);
  if (missed.runs_left) {
    leap = first < missed.runs_from
               ? 1 + definition.schedule.count_fires(first, missed.runs_from - kTick,
                                                     std::numeric_limits<std::int64_t>::max())
               : 0;
    leap = std::min(leap, after_first);
  }
  if (leap <= 0) return;
  missed.count(first);
  missed.bare_count += leap - 1;
  missed.through = first + (leap - 1) * definition.spec.schedule.interval;
  missed.next = definition.schedule.next_fire(missed.through);
}

// A long down time has millions of fires: counts some per turn, so that other work continues. The
// definition does not run meanwhile.
void MissedFires::count(const std::shared_ptr<Missed>& missed) {
  ActiveDefinition* definition = catalog_.definition(missed->id);
  const bool is_delay = definition != nullptr && definition->row.kind == ScheduleKind::kFixedDelay;
  for (int i = 0; definition != nullptr && missed->next && *missed->next <= missed->until &&
                  !missed->has_all();
       ++i) {
    if (i == kFiresAtOnce) return task_runner_.post([this, missed] { count(missed); });
    missed->count(*missed->next);
    missed->next = is_delay ? std::nullopt : definition->schedule.next_fire(missed->through);
  }
  changes_.when_settled(
      missed->id, [this, missed](ActiveDefinition& counted) { settle(counted, *missed); },
      [this, id = missed->id] { end(id); });
}

void MissedFires::settle(ActiveDefinition& definition, Missed& missed) {
  const std::int64_t total = missed.total();
  if (total == 0 || definition.row.version != missed.version) return known(missed.id, {});
  const Misfire& policy = definition.spec.misfire;
  ChangeDefinition operation = plans_.change_of(definition);
  Definition& to = *operation.to;
  if (missed.passed_over)
    plans_.pass_over(definition, operation, *missed.passed_over, LogState::kSkipped, kRunBefore);
  to.generated_through = missed.through;
  const std::size_t allowed = policy.policy == MisfirePolicy::kSkip ? 0 : missed.runs_max;
  const Chosen chosen = missed.take_newest(allowed, missed.runs_from);
  std::vector<Operation> with;
  std::set<JobId> gone;
  for (const WaitingJob& job : missed.rows) {
    sink_.forget(job.group, job.id);
    definition.removing.insert(job.id);  // A pending read may bring the row back.
    gone.insert(job.id);
    with.emplace_back(ChangeWaiting{.from = job});
  }
  std::erase_if(definition.blocked,
                [&](const auto& blocked) { return gone.count(blocked.second.id) != 0; });
  to.fired -= static_cast<std::int64_t>(missed.rows.size());  // Only runs count.
  bool has_regular = chosen.kept > 0;
  for (const WallTime fire : chosen.bare) {
    operation.add.push_back(plans_.occurrence(to, definition.spec.priority, fire));
    // A single definition has one regular run at a time; the others are extra runs, one after
    // another.
    const bool makes_up = is_single(definition) && std::exchange(has_regular, true);
    operation.add.back().triggered = operation.add.back().makes_up = makes_up;
    to.fired += 1;
  }
  const std::size_t runs = chosen.kept + chosen.bare.size();
  for (const Missed::Range& range : missed.ranges(definition.schedule)) {
    operation.logs.push_back(
        plans_.passed_over(to, LogState::kMissed, range.first, range.count, words(policy.policy)));
  }
  go_on_after(definition, operation, has_regular, missed.until);
  say_soon(to, total, static_cast<std::int64_t>(runs));
  changes_.change(definition, std::move(operation), std::move(with),
                  [this, gone = std::move(gone)](const ChangeDefinition& changed, const Outcome&) {
                    known(changed.id, gone);
                  });
}

// Thousands of jobs may have missed fires: one log line covers a second.
void MissedFires::say_soon(const Definition& row, std::int64_t fires, std::int64_t runs) {
  log_.debug("fires of a job were missed", "task", row.task_id, "missed", fires, "run_now", runs);
  if (!to_say_) {
    to_say_ = Tally{};
    task_runner_.post_at(clock_.steady_now() + kSayPeriod, [this] { say(); });
  }
  to_say_->jobs += 1;
  to_say_->fires += fires;
  to_say_->runs += runs;
}

void MissedFires::say() {
  if (!to_say_) return;
  log_.info("fires were missed", "jobs", to_say_->jobs, "missed", to_say_->fires, "run_now",
            to_say_->runs);
  to_say_.reset();
}

// The schedule continues after the missed fires.
void MissedFires::go_on_after(ActiveDefinition& definition, ChangeDefinition& operation,
                              bool has_regular, WallTime until) {
  Definition& to = *operation.to;
  // The current run was triggered: a regular run would have prevented missed fires.
  if (is_single(definition) && has_regular) {
    to.next_fire = to.generated_through;
    return;
  }
  const auto next = is_exhausted(definition, to.fired) ? std::nullopt
                    : to.kind == ScheduleKind::kFixedDelay
                        ? std::optional(down_time_.until())
                        : definition.schedule.next_fire(std::max(to.generated_through, until));
  to.next_fire = next.value_or(WallTime{});
  // The fire taken for the last run may have been missed: then another takes its place.
  to.state = next ? DefinitionState::kActive : DefinitionState::kEnded;
  if (next && is_single(definition)) {
    plans_.add_regular(definition, operation, *next);
  }
}

// Its missed fires have outcomes; `gone`: rows that do not run.
void MissedFires::known(DefinitionId id, const std::set<JobId>& gone) {
  end(id);
  ActiveDefinition* definition = catalog_.definition(id);
  if (definition == nullptr) return;
  definition->is_recovering = false;
  for (const JobId one : gone) definition->removing.erase(one);
  for (auto& [key, job] : std::exchange(definition->blocked, {})) sink_.offer(std::move(job));
  if (std::exchange(definition->has_more_due, false)) sink_.reload(definition->row.group);
  on_known_(*definition);
}

// Its recovery is complete.
void MissedFires::end(DefinitionId id) {
  promotion_.release();
  recovering_.erase(id);
  ended_.erase(id);
}

Sizes MissedFires::sizes() const {
  return {{"to_look_at", to_look_at_.size()},
          {"ended", ended_.size()},
          {"recovering", recovering_.size()},
          {"rows", rows_.size()}};
}

}  // namespace carillon::jobtracker
