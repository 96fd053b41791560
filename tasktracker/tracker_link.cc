#include "tasktracker/tracker_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "shared/wire/codec.h"

namespace carillon::tasktracker {
namespace {

constexpr std::size_t kUnconfirmedMax = 16 * 1024;          // results
constexpr Duration kSentAwayMax = std::chrono::seconds{3};  // then it is said
constexpr std::size_t kReportsKnown = 64;                   // messages whose refusal is understood

template <class... Calls>
struct Overloaded : Calls... {
  using Calls::operator()...;
};

}  // namespace

TrackerLink::TrackerLink(TrackerLinkConfig config, std::vector<TrackerAddress> addresses,
                         Runs& runs, const Clock& clock, ReportOutbox outbox, OnReady on_ready)
    : config_(std::move(config)),
      runs_(runs),
      clock_(clock),
      on_ready_(std::move(on_ready)),
      trackers_(std::move(addresses), *this),
      fetcher_(config_.fetcher),
      output_(config_.output),
      reporter_(config_.reporter, output_),
      outbox_(std::move(outbox)) {}

void TrackerLink::on_connected() {
  heard_at_ = clock_.steady_now();
  said_silent_ = false;
  fetcher_.on_connected();
}

void TrackerLink::on_disconnected(const std::string&) { fetcher_.on_disconnected(); }

void TrackerLink::on_frame(std::string_view frame) {
  heard_at_ = clock_.steady_now();
  if (std::exchange(said_silent_, false)) trackers_.stay();
  Result<wire::Envelope> envelope = wire::decode(frame);
  if (!envelope.ok()) {
    log_.warn("frame from the job tracker not understood", "tracker", trackers_.endpoint(),
              "reason", envelope.error().message);
    return;
  }
  receive(std::move(envelope).value());
}

void TrackerLink::receive(wire::Envelope&& envelope) {
  const SteadyTime now = clock_.steady_now();
  std::visit(Overloaded{
                 [&](wire::Registered& registered) {
                   if (envelope.correlation == register_correlation_) on_registered(registered);
                 },
                 [&](wire::Pulled& pulled) {
                   trackers_.stay();
                   fetcher_.on_pulled(pulled, now);
                 },
                 [&](wire::HandOut& hand_out) { on_hand_out(std::move(hand_out)); },
                 [&](wire::Reported& reported) {
                   reporter_.on_reported(reported);
                   for (const wire::AttemptId& id : reported.done) fetcher_.on_confirmed(id);
                 },
                 [&](wire::OutputTaken& taken) {
                   // An answer to an older message says nothing about what was sent again.
                   if (envelope.correlation == output_correlation_)
                     output_.on_taken(taken.chunks, now);
                 },
                 [&](wire::Kill& kill) { on_kill(kill); },
                 [&](wire::Gone&) { gone_ = true; },
                 [&](wire::Elsewhere& elsewhere) { on_elsewhere(elsewhere.address, now); },
                 [&](wire::ErrorReply& reply) { on_error(envelope.correlation, reply.error); },
                 [&](auto&) {
                   log_.warn("message that a job tracker does not send", "tracker",
                             trackers_.endpoint());
                 },
             },
             envelope.message);
}

void TrackerLink::on_registered(const wire::Registered& registered) {
  trackers_.stay();
  if (fetcher_.is_registered()) return;  // It comes a second time.
  fetcher_.on_registered(registered, clock_.steady_now());
  // Whatever was on its way may have been lost with the connection or the session before.
  reporter_.forget_sent();
  output_.forget_sent();
  output_correlation_ = 0;
  last_refusal_.clear();
  sent_away_at_.reset();
  said_owner_.clear();
  outbox_.look_again();
  log_.info("registered", "tracker", trackers_.endpoint(), "held", fetcher_.held());
  on_ready_(trackers_.endpoint());
}

void TrackerLink::on_elsewhere(const std::string& owner, SteadyTime now) {
  const std::string from = trackers_.endpoint();
  trackers_.leave_for(owner);
  fetcher_.on_refused(now);
  if (!sent_away_at_) sent_away_at_ = now;
  if (now < *sent_away_at_ + kSentAwayMax || owner == said_owner_) return;
  log_.warn(
      "another job tracker looks after this group, and is not reached: no jobs until it is "
      "(name it in --tracker)",
      "tracker", from, "owner", owner, "group", config_.fetcher.group);
  said_owner_ = owner;
}

void TrackerLink::on_hand_out(wire::HandOut&& hand_out) {
  if (hand_out.session != config_.fetcher.session) return;
  const std::size_t count = hand_out.jobs.size();
  const Status taken = fetcher_.on_hand_out(hand_out, clock_.steady_now());
  if (!taken.ok()) {
    log_.warn("hand-out refused", "tracker", trackers_.endpoint(), "jobs", count, "reason",
              taken.error().message);
  }
  runs_.add(std::move(hand_out.jobs));
}

void TrackerLink::on_kill(const wire::Kill& kill) {
  const std::string reason =
      kill.reason.empty() || kill.reason == "killed" ? "killed" : "killed: " + kill.reason;
  for (const wire::AttemptId& id : kill.jobs) {
    const Runs::Stopped stopped = runs_.stop(id, StopReason::kKilled, reason);
    if (!stopped.was_waiting) continue;
    const WallTime now = clock_.wall_now();
    on_ended({.result = {.id = id,
                         .outcome = wire::RunOutcome::kKilled,
                         .message = reason + " (it had not started)",
                         .started_at = now,
                         .ended_at = now}},
             clock_.steady_now());
  }
}

void TrackerLink::on_error(std::uint64_t correlation, const Error& error) {
  const SteadyTime now = clock_.steady_now();
  if (correlation == register_correlation_) {
    trackers_.leave();
    fetcher_.on_refused(now);
    if (error.message == last_refusal_) return;
    if (error.code == ErrorCode::kUnavailable) {
      log_.info("the job tracker does not take workers yet, trying again and again", "tracker",
                trackers_.endpoint(), "reason", error.message);
    } else {
      log_.error("the job tracker does not take this worker, trying again and again", "tracker",
                 trackers_.endpoint(), "reason", error.message);
    }
    last_refusal_ = error.message;
    return;
  }
  if (on_rejected(correlation, error)) return;
  if (correlation == output_correlation_) output_.on_refused(now);
  if (error.code == ErrorCode::kUnavailable) trackers_.leave();
  if (error.code == ErrorCode::kNotFound) {
    // Each of several messages on their way is answered so.
    if (!fetcher_.is_registered()) return;
    log_.warn("the job tracker has forgotten this worker, registering again", "tracker",
              trackers_.endpoint());
    fetcher_.on_unknown_session();
  } else if (error.message != last_refusal_) {
    log_.warn("refused by the job tracker", "tracker", trackers_.endpoint(), "reason",
              error.message);
    last_refusal_ = error.message;
  }
}

// Whether it is a word on something that can never be taken, so that sending it again is in vain.
bool TrackerLink::on_rejected(std::uint64_t correlation, const Error& error) {
  if (error.code != ErrorCode::kInvalidArgument) return false;
  const auto give_up = [&](const wire::AttemptId& id, const char* what) {
    log_.error("the job tracker refuses something for good, it is dropped", "what",
               std::string_view{what}, "job", id.job_id.value, "attempt", id.attempt, "reason",
               error.message);
  };
  if (correlation == output_correlation_) {
    output_correlation_ = 0;
    if (const auto id = output_.on_rejected(clock_.steady_now())) give_up(*id, "output");
    return true;
  }
  const auto report = std::find_if(reports_.begin(), reports_.end(),
                                   [&](const auto& known) { return known.first == correlation; });
  if (report == reports_.end()) return false;
  for (const wire::AttemptId& id : reporter_.on_rejected(report->second, error.message)) {
    give_up(id, "result");
    fetcher_.on_confirmed(id);
  }
  return true;
}

void TrackerLink::on_ended(Ended&& ended, SteadyTime now) {
  fetcher_.on_finished(ended.result.id, ended.run_time);
  reporter_.add(std::move(ended.result), now);
}

void TrackerLink::give_back(std::vector<wire::AttemptId> ids) {
  fetcher_.on_given_back(ids);
  to_give_back_.insert(to_give_back_.end(), ids.begin(), ids.end());
}

void TrackerLink::on_refused(const wire::AttemptId& id, SteadyTime now) {
  if (refused_.empty()) {
    refused_at_ = now;
    log_.warn("handed a job of a kind that this worker does not accept (--allow), it goes back",
              "tracker", trackers_.endpoint(), "job", id.job_id.value);
  }
  refused_.push_back(id);
}

void TrackerLink::give_back_refused(SteadyTime now, bool at_once) {
  if (refused_.empty() || (!at_once && now < refused_at_ + config_.refused_wait)) return;
  give_back(std::exchange(refused_, {}));
}

void TrackerLink::flush(SteadyTime now) {
  report_left(now);
  send_all(now);
  keep(now);
}

// At once while there is nobody to confirm anything; otherwise only what takes long, so that no job
// costs a write while all is well.
void TrackerLink::keep(SteadyTime now) {
  if (!outbox_.is_in_use()) return;
  if (!fetcher_.is_registered() || reporter_.is_stalled(now) || output_.is_stalled(now)) {
    (void)keep_all();  // The disk is not waited for here.
  }
  for (const outbox::EntryId& id : output_.take_settled()) outbox_.forget(id);
  for (const outbox::EntryId& id : reporter_.take_settled()) outbox_.forget(id);
  if (fetcher_.is_registered()) outbox_.want_left();
  outbox_.turn(now);
}

bool TrackerLink::keep_all() {
  if (!outbox_.is_in_use()) return true;
  const SessionId session = config_.fetcher.session;
  output_.keep_all([&](const wire::OutputChunk& chunk) { return outbox_.keep(session, chunk); });
  reporter_.keep_all([&](const wire::RunResult& result) { return outbox_.keep(session, result); });
  return outbox_.is_settled();
}

void TrackerLink::report_left(SteadyTime now) {
  for (ReportOutbox::Left& left : outbox_.take_left()) {
    if (left.chunk) output_.add_kept(std::move(*left.chunk), left.id);
    if (left.result) reporter_.add(std::move(*left.result), now, left.session, left.id);
  }
}

void TrackerLink::send_all(SteadyTime now) {
  watch_silence(now);
  trackers_.choose(now);
  if (!trackers_.is_connected()) {
    // Whoever registers again does not name them.
    to_give_back_.clear();
    return;
  }
  if (fetcher_.is_registered()) {
    // Output before results, results before the room that they make.
    if (std::optional<wire::Output> output = output_.next_message(config_.fetcher.session, now)) {
      output_correlation_ = send(std::move(*output));
    }
    while (std::optional<wire::Report> report =
               reporter_.next_message(config_.fetcher.session, now)) {
      reports_.emplace_back(send(std::move(*report)), reporter_.last_message());
      if (reports_.size() > kReportsKnown) reports_.pop_front();
    }
    if (!to_give_back_.empty()) {
      send(wire::GiveBack{.session = config_.fetcher.session,
                          .jobs = std::exchange(to_give_back_, {})});
    }
  }
  fetcher_.take_messages(now, messages_, [this] { return runs_.waiting(); });
  for (wire::Message& message : messages_) {
    const bool registers = std::holds_alternative<wire::Register>(message);
    if (registers) to_give_back_.clear();
    const std::uint64_t correlation = send(std::move(message));
    if (registers) register_correlation_ = correlation;
  }
  messages_.clear();
}

void TrackerLink::watch_silence(SteadyTime now) {
  if (!trackers_.is_connected() || said_silent_ || now < silent_at()) return;
  said_silent_ = true;
  log_.warn("no answer for a whole lease, what runs goes on and nothing new is taken", "tracker",
            trackers_.endpoint(), "held", fetcher_.held());
  trackers_.leave();
}

std::optional<SteadyTime> TrackerLink::next_time() const {
  std::optional<SteadyTime> next = outbox_.next_time();
  if (!trackers_.is_connected()) return next;
  const auto consider = [&next](std::optional<SteadyTime> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  consider(fetcher_.next_time());
  consider(trackers_.next_time());
  if (!said_silent_) consider(silent_at());
  if (!fetcher_.is_registered()) return next;
  consider(output_.next_time());
  consider(reporter_.next_time());
  return next;
}

bool TrackerLink::is_congested() const {
  return reporter_.unconfirmed() >= kUnconfirmedMax || output_.is_nearly_full() ||
         outbox_.is_failing();
}

bool TrackerLink::is_quiet() const {
  return reporter_.unconfirmed() == 0 && output_.empty() && to_give_back_.empty() &&
         refused_.empty();
}

void TrackerLink::say_bye() {
  if (fetcher_.is_registered()) send(wire::Bye{.session = config_.fetcher.session});
}

std::uint64_t TrackerLink::send(wire::Message message) {
  wire::Envelope envelope{.correlation = ++last_correlation_, .message = std::move(message)};
  // Nobody there, or somebody who does not read: everything that matters is sent again until it
  // is answered.
  (void)trackers_.send(wire::encode(envelope));
  return envelope.correlation;
}

}  // namespace carillon::tasktracker
