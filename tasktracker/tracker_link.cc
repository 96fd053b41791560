#include "tasktracker/tracker_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "shared/base/time_text.h"
#include "shared/job/bucket.h"
#include "shared/wire/codec.h"
#include "tasktracker/fetch/shares.h"

namespace carillon::tasktracker {
namespace {

constexpr std::size_t kUnconfirmedMax = 16 * 1024;          // results
constexpr Duration kSentAwayMax = std::chrono::seconds{3};  // then it is logged
constexpr int kLateLeases = 10;            // then a dead session's jobs are certainly lost
constexpr std::size_t kReportsKnown = 64;  // messages whose rejection is recognized
constexpr Duration kLookAgain = std::chrono::milliseconds{10};  // for the owners of results

template <class... Calls>
struct Overloaded : Calls... {
  using Calls::operator()...;
};
template <class... Calls>
Overloaded(Calls...) -> Overloaded<Calls...>;

}  // namespace

TrackerLink::TrackerLink(TrackerLinkConfig config, std::vector<TrackerAddress> addresses,
                         Runs& runs, const Clock& clock, ReportOutbox outbox, OnReady on_ready)
    : config_(std::move(config)),
      runs_(runs),
      clock_(clock),
      on_ready_(std::move(on_ready)),
      sessions_(make_sessions()),
      trackers_(std::move(addresses), home()),
      output_(config_.output),
      reporter_(config_.reporter, output_),
      outbox_(std::move(outbox)),
      unanswered_registers_(trackers_.count()) {}

std::vector<std::unique_ptr<TrackerLink::TrackerSession>> TrackerLink::make_sessions() {
  std::vector<std::unique_ptr<TrackerSession>> sessions;
  sessions.push_back(std::make_unique<TrackerSession>(*this, Fetcher(config_.fetcher)));
  return sessions;
}

void TrackerLink::on_connected(TrackerSession& tracker) {
  tracker.heard(clock_.steady_now());
  tracker.said_silent = false;
  tracker.fetcher.on_connected();
}

void TrackerLink::on_frame(TrackerSession& tracker, std::string_view frame) {
  tracker.heard(clock_.steady_now());
  if (std::exchange(tracker.said_silent, false)) trackers_.stay();
  Result<wire::Envelope> envelope = wire::decode(frame);
  if (!envelope.ok()) {
    log_.warn("cannot read a frame from the job tracker", "tracker", endpoint_of(tracker), "reason",
              envelope.error().message);
    return;
  }
  receive(tracker, std::move(envelope).value());
}

void TrackerLink::receive(TrackerSession& tracker, wire::Envelope&& envelope) {
  const SteadyTime now = clock_.steady_now();
  std::visit(
      Overloaded{
          [&](wire::Registered& registered) {
            if (envelope.correlation == tracker.register_correlation)
              on_registered(tracker, registered);
          },
          [&](wire::Pulled& pulled) {
            trackers_.stay();
            tracker.fetcher.on_pulled(pulled, now);
          },
          [&](wire::HandOut& hand_out) { on_hand_out(tracker, std::move(hand_out)); },
          [&](wire::Reported& reported) {
            reporter_.on_reported(reported);
            for (const wire::AttemptId& id : reported.done) tracker.fetcher.on_confirmed(id);
          },
          [&](wire::OutputTaken& taken) {
            // An answer to an older message says nothing about the resent output.
            if (envelope.correlation == output_correlation_) output_.on_taken(taken.chunks, now);
          },
          [&](wire::Kill& kill) { on_kill(kill); },
          [&](wire::Gone&) { tracker.fetcher.on_gone(); },
          [&](wire::Redirect& elsewhere) {
            // An answer to an older registration may arrive after a newer one.
            if (envelope.correlation != tracker.register_correlation) return;
            unanswered_registers_[place_of(tracker)] = 0;
            on_redirect(tracker, elsewhere);
          },
          [&](wire::ErrorReply& reply) { on_error(tracker, envelope.correlation, reply.error); },
          [&](auto&) {
            log_.warn("unexpected message from the job tracker", "tracker", endpoint_of(tracker));
          },
      },
      envelope.message);
}

void TrackerLink::on_registered(TrackerSession& tracker, const wire::Registered& registered) {
  trackers_.stay();
  if (tracker.fetcher.is_registered()) return;  // A repetition.
  tracker.fetcher.on_registered(registered, clock_.steady_now());
  ++registrations_;
  unanswered_registers_[place_of(tracker)] = 0;
  if (registered.parts > 1 && !is_split()) split(registered.parts);
  if (is_split()) take_parts(tracker, registered);
  // Messages in transit may be lost with the previous connection or session.
  reporter_.forget_sent();
  output_.forget_sent();
  output_correlation_ = 0;
  tracker.last_refusal.clear();
  sent_away_at_.reset();
  said_owner_.clear();
  outbox_.look_again();
  if (outbox_.is_in_use()) {
    others_at_ = clock_.steady_now() +
                 std::max<Duration>(config_.others_wait, kLateLeases * tracker.fetcher.lease());
  }
  log_.info("registered", "tracker", endpoint_of(tracker), "held", tracker.fetcher.held());
  on_ready_(endpoint_of(tracker));
}

void TrackerLink::on_redirect(TrackerSession& tracker, const wire::Redirect& elsewhere) {
  const SteadyTime now = clock_.steady_now();
  const std::string from = endpoint_of(tracker);
  trackers_.leave_for(elsewhere.address);
  tracker.fetcher.on_refused(now);
  if (elsewhere.parts > 1 && !is_split()) split(elsewhere.parts);
  lose_parts(tracker);
  if (!sent_away_at_) sent_away_at_ = now;
  if (now < *sent_away_at_ + kSentAwayMax || elsewhere.address == said_owner_) return;
  log_.warn(
      "another job tracker owns this group and is unreachable; taking no jobs (list it in "
      "--tracker)",
      "tracker", from, "owner", elsewhere.address, "group", config_.fetcher.group);
  said_owner_ = elsewhere.address;
}

void TrackerLink::on_hand_out(TrackerSession& tracker, wire::HandOut&& hand_out) {
  if (hand_out.session != config_.fetcher.session) return;
  const SteadyTime now = clock_.steady_now();
  if (is_split()) {
    const std::size_t others = std::erase_if(hand_out.jobs, [&](const wire::HandedJob& job) {
      return owner_of(bucket_of(job.task_id)) != &tracker;
    });
    if (others > 0) {
      log_.warn("rejected jobs: another job tracker owns their partition", "tracker",
                endpoint_of(tracker), "jobs", others);
      tracker.fetcher.on_others_hand_out(others, now);
    }
  }
  const std::size_t count = hand_out.jobs.size();
  const Result<SteadyTime> taken = tracker.fetcher.on_hand_out(hand_out, now);
  if (!taken.ok()) {
    log_.warn("rejected a hand-out", "tracker", endpoint_of(tracker), "jobs", count, "reason",
              taken.error().message);
    return;
  }
  runs_.add(std::move(hand_out.jobs), taken.value());
}

void TrackerLink::set_taking(bool taking, const std::string& overload) {
  for (const auto& tracker : sessions_) tracker->fetcher.set_taking(taking, overload);
}

void TrackerLink::drain() {
  for (const auto& tracker : sessions_) tracker->fetcher.drain();
}

std::vector<wire::AttemptId> TrackerLink::take_unleased(SteadyTime now) {
  std::vector<bool> has_ended(leases_.size());
  for (std::size_t i = 0; i < leases_.size(); ++i) {
    std::optional<SteadyTime>& end = leases_[i];
    const TrackerSession* owner = is_split() ? parts_[i].tracker : &home();
    if (owner != nullptr && owner->fetcher.has_lease(now)) end = owner->fetcher.lease_end();
    if (!end || now < *end) continue;
    has_ended[i] = true;
    end.reset();
  }
  if (std::find(has_ended.begin(), has_ended.end(), true) == has_ended.end()) return {};
  return home().fetcher.unfinished_of([&](int bucket) {
    const auto part = part_of_bucket(bucket, static_cast<std::int32_t>(leases_.size()));
    return has_ended[static_cast<std::size_t>(part)];
  });
}

bool TrackerLink::is_gone() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& tracker) { return !tracker->fetcher.is_leaving(); });
}

void TrackerLink::set_shares(SteadyTime now) {
  std::vector<TrackerSession*> sessions;
  std::vector<Claimant> claimants;
  for (const auto& tracker : sessions_) {
    if (!tracker->fetcher.is_registered()) continue;
    sessions.push_back(tracker.get());
    claimants.push_back(
        {.owed = tracker->fetcher.owed(), .is_hungry = tracker->fetcher.is_hungry(now)});
  }
  const std::vector<int> all = shares(home().fetcher.room(), unfinished() == 0, claimants, now);
  for (std::size_t i = 0; i < sessions.size(); ++i) sessions[i]->fetcher.set_share(all[i]);
}

// ---- with each ----

void TrackerLink::on_kill(const wire::Kill& kill) {
  const std::string reason =
      kill.reason.empty() || kill.reason == "killed" ? "killed" : "killed: " + kill.reason;
  for (const wire::AttemptId& id : kill.jobs) {
    const Runs::Stopped stopped = runs_.stop(id, StopReason::kKilled, reason);
    if (stopped.was_early) give_back({id});  // No attempt was made.
    if (!stopped.was_waiting || stopped.was_early) continue;
    const WallTime now = clock_.wall_now();
    on_ended({.result = {.id = id,
                         .outcome = wire::RunOutcome::kKilled,
                         .message = reason + " (before it started)",
                         .started_at = now,
                         .ended_at = now}},
             clock_.steady_now());
  }
}

void TrackerLink::on_error(TrackerSession& tracker, std::uint64_t correlation, const Error& error) {
  const SteadyTime now = clock_.steady_now();
  if (correlation == tracker.register_correlation) {
    unanswered_registers_[place_of(tracker)] = 0;
    trackers_.leave();
    tracker.fetcher.on_refused(now);
    if (error.message == tracker.last_refusal) return;
    if (error.code == ErrorCode::kUnavailable) {
      log_.info("the job tracker does not accept workers yet; retrying", "tracker",
                endpoint_of(tracker), "reason", error.message);
    } else {
      log_.error("the job tracker rejects this worker; retrying", "tracker", endpoint_of(tracker),
                 "reason", error.message);
    }
    tracker.last_refusal = error.message;
    return;
  }
  if (on_rejected(correlation, error)) return;
  if (error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kNotFound) {
    // It gives up partitions: another one may own them soon.
    for (const auto& other : sessions_) other->fetcher.ask_soon();
  }
  if (correlation == output_correlation_) output_.on_refused(now);
  if (error.code == ErrorCode::kUnavailable) trackers_.leave();
  if (error.code == ErrorCode::kNotFound) {
    // Several pending messages may get this answer.
    if (!tracker.fetcher.is_registered()) return;
    log_.info("registering again", "tracker", endpoint_of(tracker), "reason", error.message);
    tracker.fetcher.on_unknown_session();
  } else if (error.message != tracker.last_refusal) {
    log_.warn("the job tracker rejected a message", "tracker", endpoint_of(tracker), "reason",
              error.message);
    tracker.last_refusal = error.message;
  }
}

// Whether it rejects a message that can never be accepted, so that a resend is useless.
bool TrackerLink::on_rejected(std::uint64_t correlation, const Error& error) {
  if (error.code != ErrorCode::kInvalidArgument) return false;
  const auto give_up = [&](const wire::AttemptId& id, const char* what) {
    log_.error("the job tracker rejected a message for good; it is dropped", "what",
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
    home().fetcher.on_confirmed(id);
  }
  return true;
}

void TrackerLink::on_ended(Ended&& ended, SteadyTime now) {
  ended.result.bucket = home().fetcher.bucket_of(ended.result.id);
  home().fetcher.on_finished(ended.result.id, ended.run_time);
  reporter_.add(std::move(ended.result), now);
}

void TrackerLink::give_back(std::vector<wire::AttemptId> ids) {
  // A registration without them returns jobs that no message can return.
  for (const wire::AttemptId& id : ids) {
    const int bucket = home().fetcher.bucket_of(id);
    TrackerSession* owner = is_split() ? owner_of(bucket) : &home();
    if (owner != nullptr) owner->to_give_back.push_back(id);
  }
  for (const auto& tracker : sessions_) tracker->fetcher.on_given_back(ids);
}

void TrackerLink::on_refused(const wire::AttemptId& id, SteadyTime now) {
  if (refused_.empty()) {
    refused_at_ = now;
    log_.warn("returned a job of a kind that this worker does not accept (see --allow)", "job",
              id.job_id.value);
  }
  refused_.push_back(id);
}

void TrackerLink::give_back_refused(SteadyTime now, bool at_once) {
  if (refused_.empty() || (!at_once && now < refused_at_ + config_.refused_wait)) return;
  give_back(std::exchange(refused_, {}));
}

void TrackerLink::flush(SteadyTime now) {
  if (is_registered()) {
    away_since_.reset();
  } else if (!away_since_) {
    away_since_ = now;
  }
  if (is_leaving_) return send_all(now);
  if (is_split()) say_unreached(now);
  report_left(now);
  send_all(now);
  keep(now);
}

// Immediately while no job tracker confirms reports; otherwise only what waits long, so that jobs
// normally cost no write.
void TrackerLink::keep(SteadyTime now) {
  if (!outbox_.is_in_use()) return;
  if (!is_registered() || reporter_.is_stalled(now) || output_.is_stalled(now)) {
    (void)keep_all();  // The disk is not waited for here.
  }
  for (const outbox::EntryId& id : output_.take_settled()) outbox_.forget(id);
  for (const outbox::EntryId& id : reporter_.take_settled()) outbox_.forget(id);
  if (!is_registered()) {
    others_at_.reset();
  } else if (others_at_ && now >= *others_at_) {
    outbox_.look_again(true);
    others_at_.reset();
  }
  if (is_registered()) outbox_.want_left();
  outbox_.turn(now);
}

bool TrackerLink::keep_all() {
  if (!outbox_.is_in_use()) return true;
  const SessionId session = config_.fetcher.session;
  output_.keep_all([&](const wire::OutputChunk& chunk) { return outbox_.keep(session, chunk); });
  reporter_.keep_all([&](const wire::RunResult& result) { return outbox_.keep(session, result); });
  return outbox_.is_settled();
}

bool TrackerLink::is_left_to_disk(SteadyTime now, Duration patience) {
  if (!away_since_ || !outbox_.is_in_use()) return false;
  if (trackers_.count() > 1 && now < *away_since_ + patience) return false;
  return keep_all() && !outbox_.is_failing();
}

void TrackerLink::report_left(SteadyTime now) {
  for (ReportOutbox::Left& left : outbox_.take_left()) {
    if (left.chunk) output_.add_kept(std::move(*left.chunk), left.session, left.id);
    if (left.result) reporter_.add(std::move(*left.result), now, left.session, left.id);
  }
}

void TrackerLink::send_all(SteadyTime now) {
  sent_at_ = now;
  for (const auto& tracker : sessions_) watch_silence(*tracker, now);
  trackers_.choose(now);
  if (is_split()) set_shares(now);
  for (const auto& tracker : sessions_) {
    if (is_split() && is_twin(*tracker)) continue;
    if (is_leaving_ && !tracker->fetcher.is_leaving()) continue;
    if (!is_connected(*tracker)) {
      // A new registration does not list them.
      tracker->to_give_back.clear();
      continue;
    }
    if (!is_leaving_ && tracker->fetcher.is_registered()) send_reports(*tracker, now);
    send_messages(*tracker, now);
  }
}

void TrackerLink::send_reports(TrackerSession& tracker, SteadyTime now) {
  const SessionId session = config_.fetcher.session;
  // Output before results, results before the credit that they free. Any job tracker accepts
  // output.
  if (registered_one() == &tracker) {
    if (std::exchange(output_session_, &tracker) != &tracker) output_.forget_sent();
    if (std::optional<wire::Output> output = output_.next_message(session, now)) {
      output_correlation_ = send(tracker, std::move(*output));
    }
  }
  const Reporter::Takes takes = [&](const wire::RunResult& result) {
    return owner_of(result.bucket) == &tracker;
  };
  while (std::optional<wire::Report> report =
             reporter_.next_message(session, now, is_split() ? takes : Reporter::Takes{})) {
    reports_.emplace_back(send(tracker, std::move(*report)), reporter_.last_message());
    if (reports_.size() > kReportsKnown) reports_.pop_front();
  }
  if (tracker.to_give_back.empty()) return;
  send(tracker,
       wire::GiveBack{.session = session, .jobs = std::exchange(tracker.to_give_back, {})});
}

void TrackerLink::send_messages(TrackerSession& tracker, SteadyTime now) {
  tracker.fetcher.take_messages(now, messages_, [this] { return runs_.waiting(); });
  for (wire::Message& message : messages_) {
    const bool registers = std::holds_alternative<wire::Register>(message);
    if (registers) tracker.to_give_back.clear();
    const std::uint64_t correlation = send(tracker, std::move(message));
    if (!registers) continue;
    tracker.register_correlation = correlation;
    if (!tracker.register_sent_at) tracker.register_sent_at = now;
  }
  messages_.clear();
}

// Time-out of a registration. Another job tracker may own the group by now and gives this worker
// one lease to register, so it tries again within that time. The time-out grows, because the
// connection may be slow.
Duration TrackerLink::patience(const TrackerSession& tracker) const {
  const Duration lease = tracker.fetcher.lease();
  const int times = unanswered_registers_[place_of(tracker)];
  return tracker.fetcher.is_registered() ? lease : lease / 4 * std::min(3, 1 + times);
}

SteadyTime TrackerLink::silent_since(const TrackerSession& tracker) const {
  return tracker.fetcher.is_registered() ? tracker.heard_at
                                         : tracker.register_sent_at.value_or(tracker.heard_at);
}

void TrackerLink::watch_silence(TrackerSession& tracker, SteadyTime now) {
  if (!is_connected(tracker) || tracker.said_silent ||
      now < silent_since(tracker) + patience(tracker))
    return;
  const Duration waited = patience(tracker);
  tracker.said_silent = true;
  if (tracker.twin != nullptr) return;
  if (!tracker.fetcher.is_registered()) ++unanswered_registers_[place_of(tracker)];
  log_.warn("the job tracker does not answer; taking no new jobs", "tracker", endpoint_of(tracker),
            "for", format_duration(waited), "held", tracker.fetcher.held());
  trackers_.leave();
}

std::optional<SteadyTime> TrackerLink::next_time() const {
  std::optional<SteadyTime> next;
  const auto consider = [&next](std::optional<SteadyTime> time) {
    if (time && (!next || *time < *next)) next = time;
  };
  if (!is_leaving_) consider(outbox_.next_time());
  for (const auto& tracker : sessions_) {
    if (!is_connected(*tracker) || tracker->twin != nullptr) continue;
    if (is_leaving_ && !tracker->fetcher.is_leaving()) continue;
    consider(tracker->fetcher.next_time());
    if (is_split() && tracker->fetcher.is_hungry(sent_at_))
      consider(tracker->fetcher.hungry_until());
    if (!tracker->said_silent) consider(silent_since(*tracker) + patience(*tracker));
  }
  if (!is_split()) {
    if (!trackers_.is_connected()) return next;
    consider(trackers_.next_time());
  }
  if (!is_registered() || is_leaving_) return next;
  consider(others_at_);
  consider(output_.next_time());
  if (auto results = reporter_.next_time()) {
    // Some may have no receiver now.
    consider(is_split() ? std::max<SteadyTime>(*results, sent_at_ + kLookAgain) : *results);
  }
  return next;
}

bool TrackerLink::is_congested() const {
  return reporter_.unconfirmed() >= kUnconfirmedMax || output_.is_nearly_full() ||
         outbox_.is_failing();
}

bool TrackerLink::is_quiet() const {
  return reporter_.unconfirmed() == 0 && output_.empty() && refused_.empty() &&
         std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& tracker) { return tracker->to_give_back.empty(); });
}

// A job tracker without a recent lease has nothing for this worker. An unreachable one may have
// jobs for it, and gets the sign-off when it is back, or the next owner of the group does.
void TrackerLink::leave(SteadyTime now) {
  is_leaving_ = true;
  for (const auto& tracker : sessions_) {
    if (tracker->twin != nullptr) continue;
    const bool may_be_reached = is_connected(*tracker) || !tracker->connection;
    if (tracker->fetcher.has_lease(now) && may_be_reached)
      tracker->fetcher.leave();
    else
      passed_over_ = true;
  }
}

std::uint64_t TrackerLink::send(const TrackerSession& tracker, wire::Message message) {
  wire::Envelope envelope{.correlation = ++last_correlation_, .message = std::move(message)};
  // Not connected, or the job tracker does not read: important messages are resent until they are
  // answered.
  std::string frame = wire::encode(envelope);
  (void)(tracker.connection ? trackers_.send(*tracker.connection, std::move(frame))
                            : trackers_.send(std::move(frame)));
  return envelope.correlation;
}

LinkCounts TrackerLink::counts() const {
  LinkCounts counts{.registrations = registrations_,
                    .unconfirmed = static_cast<std::int64_t>(reporter_.unconfirmed()),
                    .is_registered = is_registered()};
  for (const auto& tracker : sessions_)
    counts.pulls += static_cast<std::int64_t>(tracker->fetcher.counts().pulls);
  return counts;
}

Sizes TrackerLink::sizes() const {
  Sizes all{{"parts", parts_.size()},
            {"refused", refused_.size()},
            {"reports", reports_.size()},
            {"messages", messages_.size()}};
  for (const auto& tracker : sessions_) {
    add_sizes(all, "fetcher", tracker->fetcher.sizes());
    all.emplace_back("to_give_back", tracker->to_give_back.size());
  }
  add_sizes(all, "output", output_.sizes());
  add_sizes(all, "reporter", reporter_.sizes());
  add_sizes(all, "outbox", outbox_.sizes());
  return all;
}

}  // namespace carillon::tasktracker
