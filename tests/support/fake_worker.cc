#include "tests/support/fake_worker.h"

#include <algorithm>
#include <utility>

#include "shared/wire/codec.h"

namespace carillon::testing {
namespace {

constexpr Duration kReportAgain = std::chrono::seconds{1};

tasktracker::FetcherConfig fetcher_config(const FakeWorkerConfig& config) {
  return {.session = config.session,
          .name = config.name,
          .address = config.address,
          .group = config.group,
          .labels = config.labels,
          .allow = config.allow,
          .threads = config.threads,
          .prefetch_max = config.prefetch_max,
          .prefetch_max_short = config.prefetch_max};
}

}  // namespace

FakeWorker::FakeWorker(FakeWorkerConfig config, FakeNetwork& network, ManualTaskRunner& task_runner,
                       const Clock& clock)
    : config_(config),
      network_(network),
      clock_(clock),
      task_runner_(std::make_unique<ScopedTaskRunner>(task_runner)),
      fetcher_(fetcher_config(config)) {
  task_runner_->post([this] { connect(); });
}

void FakeWorker::when_awake(std::function<void()> work) {
  if (clock_.steady_now() >= frozen_until_) return work();
  task_runner_->post_at(frozen_until_, [this, work = std::move(work)] { when_awake(work); });
}

void FakeWorker::connect() {
  if (clock_.steady_now() >= cut_until_) {
    peer_ = network_.connect(
        {.on_frame =
             [this](std::string_view frame) {
               when_awake([this, kept = std::string(frame)] { on_frame(kept); });
             },
         .on_disconnected =
             [this] {
               when_awake([this] {
                 peer_.clear();
                 fetcher_.on_disconnected();
                 task_runner_->post_at(clock_.steady_now() + kReconnect, [this] { connect(); });
               });
             }});
  }
  if (peer_.empty()) {
    task_runner_->post_at(clock_.steady_now() + kReconnect, [this] { connect(); });
    return;
  }
  fetcher_.on_connected();
  step();
}

void FakeWorker::send(wire::Message message) {
  if (!peer_.empty()) network_.send_to_server(peer_, wire::encode({0, std::move(message)}));
}

// Sends what is due, and comes again when more is.
void FakeWorker::step() {
  if (!alive_) return;
  std::vector<wire::Message> messages;
  fetcher_.take_messages(clock_.steady_now(), messages, [this] {
    return std::vector<wire::AttemptId>{early_.begin(), early_.end()};
  });
  for (wire::Message& message : messages) send(std::move(message));
  if (timer_ != 0) task_runner_->cancel(std::exchange(timer_, 0));
  if (const auto next = fetcher_.next_time()) {
    timer_ = task_runner_->post_at(*next, [this] {
      timer_ = 0;
      when_awake([this] { step(); });
    });
  }
}

void FakeWorker::on_frame(std::string_view frame) {
  auto envelope = wire::decode(frame);
  if (!alive_ || !envelope.ok()) return;
  on_message(std::move(envelope.value().message));
  step();
}

void FakeWorker::on_message(wire::Message message) {
  const SteadyTime now = clock_.steady_now();
  if (const auto* registered = std::get_if<wire::Registered>(&message)) {
    fetcher_.on_registered(*registered, now);
    send_reports();
  } else if (const auto* pulled = std::get_if<wire::Pulled>(&message)) {
    fetcher_.on_pulled(*pulled, now);
  } else if (auto* hand_out = std::get_if<wire::HandOut>(&message)) {
    on_hand_out(std::move(*hand_out));
  } else if (const auto* reported = std::get_if<wire::Reported>(&message)) {
    for (const wire::AttemptId& id : reported->done) {
      fetcher_.on_confirmed(id);
      unconfirmed_.erase(id);
      confirmed_.push_back(id);
    }
  } else if (const auto* kill = std::get_if<wire::Kill>(&message)) {
    on_kill(*kill);
  } else if (std::holds_alternative<wire::Gone>(message)) {
    fetcher_.on_gone();
    task_runner_->post([this] { die(); });
  } else if (const auto* error = std::get_if<wire::ErrorReply>(&message)) {
    if (error->error.code == ErrorCode::kNotFound)
      fetcher_.on_unknown_session();
    else
      fetcher_.on_refused(now);
  }
}

void FakeWorker::on_hand_out(wire::HandOut hand_out) {
  (void)fetcher_.on_hand_out(hand_out, clock_.steady_now());  // What is refused is not in it.
  for (const wire::HandedJob& job : hand_out.jobs) {
    if (job.wait == Duration{}) {
      start(job);
      continue;
    }
    early_.insert(job.id);
    task_runner_->post_at(clock_.steady_now() + job.wait, [this, job] {
      when_awake([this, job] {
        if (early_.erase(job.id) > 0) start(job);
      });
    });
  }
}

void FakeWorker::start(const wire::HandedJob& job) {
  handed_.push_back(job.id);
  running_[job.id] = runs_.size();
  busy_max_ = std::max(busy_max_, busy());
  runs_.push_back({.id = job.id,
                   .worker = config_.name,
                   .task_id = job.task_id,
                   .trigger_time = job.trigger_time,
                   .started_wall = clock_.wall_now(),
                   .started = clock_.steady_now()});
  const auto spec = wire::decode_spec(job.spec);
  const FakeRun run = behaviour(job, spec.ok() ? spec.value() : JobSpec{});
  task_runner_->post_at(clock_.steady_now() + run.time, [this, id = job.id, run] {
    when_awake([this, id, run] { finish(id, run); });
  });
}

void FakeWorker::finish(const wire::AttemptId& id, const FakeRun& run) {
  const auto found = running_.find(id);
  if (!alive_ || found == running_.end()) return;  // It was killed.
  RunRecord& record = runs_[found->second];
  record.ended = clock_.steady_now();
  record.was_killed = run.outcome == wire::RunOutcome::kKilled;
  const auto took = std::chrono::duration_cast<Duration>(*record.ended - record.started);
  unconfirmed_[id] = {.id = id,
                      .outcome = run.outcome,
                      .message = run.message,
                      .started_at = record.started_wall + config_.clock_ahead,
                      .ended_at = clock_.wall_now() + config_.clock_ahead,
                      .later = run.later};
  running_.erase(found);
  fetcher_.on_finished(id, took);
  send_reports();
  if (is_leaving_ && running_.empty()) fetcher_.leave();
  step();
}

// What is not confirmed is sent again each second.
void FakeWorker::send_reports() {
  if (unconfirmed_.empty() || !fetcher_.is_registered() || holds_reports) return;
  wire::Report report{.session = config_.session};
  for (const auto& [id, result] : unconfirmed_) report.results.push_back(result);
  send(std::move(report));
  task_runner_->post_at(clock_.steady_now() + kReportAgain,
                        [this] { when_awake([this] { send_reports(); }); });
}

void FakeWorker::on_kill(const wire::Kill& kill) {
  for (const wire::AttemptId& id : kill.jobs) {
    if (early_.erase(id) > 0) {
      fetcher_.on_given_back({id});
      send(wire::GiveBack{.session = config_.session, .jobs = {id}});
    }
    finish(id, {.outcome = wire::RunOutcome::kKilled, .message = kill.reason});
  }
}

void FakeWorker::die() {
  alive_ = false;
  task_runner_.reset();
  network_.disconnect(peer_, false);
  for (const auto& [id, place] : running_) {
    runs_[place].ended = std::min(
        clock_.steady_now(), frozen_until_ == SteadyTime{} ? clock_.steady_now() : frozen_until_);
  }
  running_.clear();
  early_.clear();
}

void FakeWorker::freeze(Duration time) { frozen_until_ = clock_.steady_now() + time; }

void FakeWorker::cut_off(Duration time) {
  cut_until_ = clock_.steady_now() + time;
  network_.disconnect(peer_, true);
}

void FakeWorker::overload(const std::string& with) {
  fetcher_.set_taking(with.empty(), with);
  step();
}

void FakeWorker::leave() {
  is_leaving_ = true;
  fetcher_.drain();
  if (running_.empty()) fetcher_.leave();
  step();
}

void FakeWorker::send_register_again() {
  wire::Register message{.session = config_.session,
                         .name = config_.name,
                         .group = config_.group,
                         .threads = config_.threads,
                         .allow = config_.allow};
  for (const auto& [id, place] : running_) message.holding.push_back({.id = id, .started = true});
  for (const auto& [id, result] : unconfirmed_) {
    message.holding.push_back({.id = id, .started = true});
  }
  send(std::move(message));
}

void FakeWorker::give_back(const wire::AttemptId& id) {
  const auto found = running_.find(id);
  if (found == running_.end()) return;
  runs_.erase(runs_.begin() + static_cast<std::ptrdiff_t>(found->second));
  for (auto& [other, place] : running_) place -= place > found->second ? 1 : 0;
  running_.erase(found);
  fetcher_.on_given_back({id});
  send(wire::GiveBack{.session = config_.session, .jobs = {id}});
  step();
}

}  // namespace carillon::testing
