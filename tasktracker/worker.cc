#include "tasktracker/worker.h"

#include <algorithm>
#include <utility>

#include "shared/base/time_text.h"

namespace carillon::tasktracker {
namespace {

constexpr Duration kTimerMin = std::chrono::milliseconds{1};

}  // namespace

Worker::Worker(WorkerConfig config, Runs& runs, TaskRunner& task_runner, const Clock& clock,
               std::vector<TrackerAddress> addresses, ReportOutbox outbox, Callbacks callbacks)
    : config_(std::move(config)),
      task_runner_(task_runner),
      clock_(clock),
      callbacks_(std::move(callbacks)),
      load_(config_.load, callbacks_.read_load),
      runs_(runs, clock),
      link_(TrackerLinkConfig{.fetcher = config_.fetcher}, std::move(addresses), runs_, clock,
            std::move(outbox), [this](const std::string& endpoint) {
              if (callbacks_.on_ready) callbacks_.on_ready(endpoint);
            }) {}

Worker::~Worker() {
  if (timer_) task_runner_.cancel(*timer_);
}

void Worker::request_stop(Duration drain) {
  std::int64_t wanted = std::max<std::int64_t>(drain.count(), 0);
  std::int64_t before = stop_wanted_us_.load();
  while ((before < 0 || wanted < before) &&
         !stop_wanted_us_.compare_exchange_weak(before, wanted)) {
  }
  callbacks_.wake();
}

void Worker::end_turn() {
  if (phase_ == Phase::kStopped) return;
  const SteadyTime now = clock_.steady_now();
  obey_stop(now);
  route_news(now);
  give_back_old(now);
  load_.run_once(now);
  link_.set_taking(phase_ == Phase::kWorking && !link_.is_congested() && load_.overload().empty(),
                   load_.overload());
  if (config_.stop_without_lease) watch_lease(now);
  link_.flush(now);
  runs_at_ = runs_.keep_time(now);
  advance_stop(now);
  if (callbacks_.metrics != nullptr) callbacks_.metrics->set(unfinished(), link_.counts());
  set_timer(now);
}

void Worker::route_news(SteadyTime now) {
  const bool tick = now >= tick_at_;
  runs_.collect(news_, tick);
  if (callbacks_.metrics != nullptr) callbacks_.metrics->wrote(news_.output);
  link_.on_output(news_.output);
  std::vector<wire::AttemptId> late;
  for (Ended& ended : news_.ended) {
    if (ended.came_late) {
      late.push_back(ended.result.id);
    } else if (ended.was_refused) {
      link_.on_refused(ended.result.id, now);
    } else {
      if (callbacks_.metrics != nullptr)
        callbacks_.metrics->ended(ended.result.outcome, ended.run_time);
      link_.on_ended(std::move(ended), now);
    }
  }
  news_.ended.clear();
  if (late.empty()) return;
  log_.info("returned jobs: the lease expired before they started", "jobs", late.size());
  link_.give_back(std::move(late));
}

// Returns jobs that wait here for long: others may have a free thread. Useless while the job
// tracker is unreachable.
void Worker::give_back_old(SteadyTime now) {
  const bool leaving = phase_ != Phase::kWorking;
  // A hand-out that was in transit at the stop request must not remain here.
  const bool tick = now >= tick_at_;
  if (!tick && !leaving) return;
  if (tick) tick_at_ = now + config_.tick;
  link_.give_back_refused(now, leaving);
  std::vector<wire::AttemptId> old = runs_.reclaim(
      leaving ? std::nullopt : std::optional<SteadyTime>{now - config_.give_back_after});
  if (old.empty()) return;
  log_.debug("returned jobs", "jobs", old.size());
  link_.give_back(std::move(old));
}

// After the end of a lease, waiting jobs do not start and runs get a stop request, once each:
// nothing new arrives without a lease. The reports tell the next owner that the jobs must run
// again.
void Worker::watch_lease(SteadyTime now) {
  std::vector<wire::AttemptId> ids = link_.take_unleased(now);
  if (ids.empty()) return;
  log_.warn("the lease expired; stopping all runs (--stop-without-lease)", "jobs", ids.size());
  const std::string why = "stopped, because the job tracker that owns it did not answer worker '" +
                          config_.fetcher.name + "' for a lease";
  // First waiting jobs; otherwise an ending run makes room for one.
  const std::vector<wire::AttemptId> waiting = runs_.waiting();
  std::partition(ids.begin(), ids.end(), [&](const wire::AttemptId& id) {
    return std::find(waiting.begin(), waiting.end(), id) != waiting.end();
  });
  std::vector<wire::AttemptId> not_begun;
  for (const wire::AttemptId& id : ids) {
    if (runs_.stop(id, StopReason::kLeaseEnded, why).was_waiting) not_begun.push_back(id);
  }
  if (!not_begun.empty()) link_.give_back(std::move(not_begun));
}

void Worker::obey_stop(SteadyTime now) {
  const std::int64_t wanted = stop_wanted_us_.load();
  if (wanted < 0 || wanted == stop_obeyed_us_) return;
  const bool is_first = stop_obeyed_us_ < 0;
  stop_obeyed_us_ = wanted;
  const SteadyTime until = now + Duration{wanted};
  if (is_first) {
    log_.info("stopping", "running", unfinished(), "drain", format_duration(Duration{wanted}));
    enter(Phase::kDraining, until);
    runs_.close();
    link_.drain();
  } else if (phase_ == Phase::kDraining) {
    phase_until_ = std::min(phase_until_, until);
  } else if (phase_ == Phase::kEnding && wanted == 0) {
    runs_.stop_all(StopReason::kShutdown, {}, true);
    phase_until_ = std::min<SteadyTime>(phase_until_, now + config_.deliver_wait);
  } else if (phase_ == Phase::kDelivering) {
    phase_until_ = std::min<SteadyTime>(phase_until_, until + config_.deliver_wait);
  } else if (phase_ == Phase::kLeaving) {
    phase_until_ = std::min(phase_until_, until);
  }
}

void Worker::enter(Phase phase, SteadyTime until) {
  phase_ = phase;
  phase_until_ = until;
}

void Worker::advance_stop(SteadyTime now) {
  if (phase_ == Phase::kDraining && unfinished() > 0 && now >= phase_until_) {
    const bool at_once = stop_obeyed_us_ == 0;
    runs_.stop_all(StopReason::kShutdown,
                   "stopped, because worker '" + config_.fetcher.name + "' shuts down", at_once);
    const Duration grace = at_once ? Duration{} : config_.kill_grace;
    enter(Phase::kEnding, now + grace + config_.deliver_wait);
  }
  if (phase_ == Phase::kDraining || phase_ == Phase::kEnding) {
    const bool out_of_time = phase_ == Phase::kEnding && now >= phase_until_;
    if (unfinished() > 0 && !out_of_time) return;
    // Results that are not on disk wait for a tracker that is away as long as runs would.
    enter(Phase::kDelivering,
          std::max<SteadyTime>(now + config_.deliver_wait,
                               phase_ == Phase::kDraining ? phase_until_ : SteadyTime{}));
  }
  if (phase_ == Phase::kDelivering) {
    const bool is_over =
        link_.is_quiet() || link_.is_left_to_disk(now, config_.deliver_wait) || now >= phase_until_;
    if (!is_over) return;
    // The next process reports it.
    if (!link_.is_quiet() && !link_.keep_all() && now < phase_until_ + config_.keep_wait) return;
    // No sign-off while a run continues or a result is unconfirmed: then the lease ends it for the
    // job tracker.
    const bool says_bye = unfinished() == 0 && link_.is_quiet();
    if (says_bye) link_.leave(now);
    enter(Phase::kLeaving, says_bye ? now + config_.leave_wait : now);
  }
  if (phase_ == Phase::kLeaving) {
    if (!link_.is_gone() && now < phase_until_) return;
    enter(Phase::kStopped, now);
    if (!link_.is_gone()) {
      log_.warn(
          "the job tracker did not confirm the sign-off; jobs claimed for this worker but not sent "
          "run elsewhere after a lease");
    }
    log_.info("stopped", "unfinished", unfinished());
    if (callbacks_.on_stopped) callbacks_.on_stopped();
  }
}

void Worker::set_timer(SteadyTime now) {
  std::optional<SteadyTime> next = runs_at_;
  const auto consider = [&next](std::optional<SteadyTime> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  consider(link_.next_time());
  consider(load_.next_time());
  if (unfinished() > 0) consider(tick_at_);
  if (phase_ != Phase::kWorking && phase_ != Phase::kStopped) consider(phase_until_);
  if (phase_ == Phase::kDelivering) consider(now + config_.tick);
  if (!next) return;
  // Due work that was not done cannot be done now; the loop must not spin.
  const SteadyTime at = std::max<SteadyTime>(*next, now + kTimerMin);
  if (timer_ && timer_at_ <= at) return;
  if (timer_) task_runner_.cancel(*timer_);
  timer_at_ = at;
  timer_ = task_runner_.post_at(at, [this] { timer_.reset(); });
}

Sizes Worker::sizes() const {
  Sizes all = link_.sizes();
  add_sizes(all, "runs", runs_.sizes());
  return all;
}

}  // namespace carillon::tasktracker
