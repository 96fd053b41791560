// Messages to and from the peers of a job tracker.
#include <utility>

#include "jobtracker/job_tracker.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

const Error kStarting{ErrorCode::kUnavailable, "the job tracker is starting, try again"};

Asker asker_of(const net::Sender& sender, std::uint64_t correlation) {
  return {.peer = sender.peer,
          .correlation = correlation,
          .origin = sender.is_internal ? Asker::Origin::kInternal : Asker::Origin::kClient,
          .sender = sender.principal};
}

}  // namespace

bool JobTracker::send(const Worker& worker, const wire::Message& message) {
  if (is_push_session(worker.session)) {
    pusher_.take(worker, message);
    return true;
  }
  return transport_->send(worker.peer, wire::encode({.correlation = 0, .message = message})).ok();
}

bool JobTracker::deliver(const Asker& asker, wire::Message message) {
  if (asker.origin == Asker::Origin::kManagement) {
    management_.hear(asker, std::move(message));
    return true;
  }
  auto* const rows = std::get_if<wire::Rows>(&message);
  if (rows != nullptr && asker.caller != nullptr && !asker.caller->principal.covers_all())
    leave_out_foreign_rows(asker.caller->principal, *rows);
  net::ServerTransport* const to =
      asker.origin == Asker::Origin::kInternal ? internal_ : transport_;
  const Status sent = to->send(
      asker.peer, wire::encode({.correlation = asker.correlation, .message = std::move(message)}));
  if (!sent.ok()) log_.debug("cannot send an answer", "error", sent.error().message);
  return sent.ok();
}

void JobTracker::on_outcome(net::PostOutcome outcome) {
  if (ready_ && !run_logs_.on_outcome(outcome)) pusher_.on_outcome(std::move(outcome));
}

Status JobTracker::may_take() const {
  if (stopping_) return stopping_error();
  return ready_ ? Status{} : Status{kStarting};
}

void JobTracker::manage(const ManageJob& call, OnManaged done) {
  if (Status may = may_take(); !may.ok()) return done(may.error());
  const Group* group = catalog_.group(call.app_name);
  if (call.verb == ManageJob::Verb::kAdd && group != nullptr) {
    if (Status may = may_have_executors(*group); !may.ok()) return done(may.error());
  }
  management_.take(call, std::move(done));
}

void JobTracker::on_frame(const net::Sender& sender, std::string_view frame) {
  if (!ready_ || stopping_ || !BulkSubmitQueue::takes(frame)) return take(sender, frame);
  slow_down(bulk_.put({.peer = sender.peer,
                       .correlation = wire::correlation_of(frame),
                       .principal = sender.principal,
                       .address = sender.address,
                       .is_internal = sender.is_internal},
                      frame, clock_.steady_now()));
}

void JobTracker::slow_down(const std::vector<BulkSubmitQueue::Sender>& senders) {
  for (const BulkSubmitQueue::Sender& sender : senders) {
    answer(asker_of(sender.connection(), sender.correlation),
           wire::ErrorReply{batcher_.slow_down()});
  }
}

// For a request that arrives again.
net::Sender JobTracker::sender_of(const Asker& asker) {
  return {.peer = asker.peer,
          .principal = asker.sender,
          .address = asker.caller == nullptr ? std::string{} : asker.caller->address,
          .is_internal = asker.origin == Asker::Origin::kInternal};
}

void JobTracker::take(const net::Sender& sender, std::string_view frame) {
  auto decoded = wire::decode(frame);
  if (!decoded.ok()) {
    ++bad_frames_;
    return answer(asker_of(sender, wire::correlation_of(frame)), wire::ErrorReply{decoded.error()});
  }
  wire::Envelope& envelope = decoded.value();
  Asker asker = asker_of(sender, envelope.correlation);
  if (Status may = may_take(); !may.ok()) return answer(asker, wire::ErrorReply{may.error()});
  auto caller =
      access_.caller_of(sender.principal, sender.address, sender.is_internal, envelope.on_behalf);
  if (!caller.ok()) return answer(asker, wire::ErrorReply{caller.error()});
  asker.caller = std::move(caller).value();
  if (const Status may = access_.check(asker, envelope.message); !may.ok())
    return answer(asker, wire::ErrorReply{may.error()});
  route(asker, std::move(envelope.message), frame.size());
}

void JobTracker::route(const Asker& asker, wire::Message message, std::size_t bytes) {
  const auto* act = std::get_if<wire::Act>(&message);
  const auto* query = std::get_if<wire::Query>(&message);
  const std::string* group = act != nullptr     ? &act->group
                             : query != nullptr ? &query->group
                                                : nullptr;
  if (group == nullptr || !may_be_new(*group)) return route_known(asker, std::move(message), bytes);
  if (const Status room = batcher_.check_room(); !room.ok())
    return answer(asker, wire::ErrorReply{room.error()});
  batcher_.hold(bytes);
  std::vector<std::string> names{*group};
  find_groups(std::move(names),
              [this, asker, bytes, message = std::move(message)](const Status&) mutable {
                batcher_.release(bytes);
                if (stopping_) return answer(asker, wire::ErrorReply{stopping_error()});
                route_known(asker, std::move(message), bytes);
              });
}

void JobTracker::route_known(const Asker& asker, wire::Message message, std::size_t bytes) {
  if (auto* submit = std::get_if<wire::Submit>(&message))
    return submit_.submit(asker, std::move(*submit), bytes);
  if (auto* act = std::get_if<wire::Act>(&message)) {
    if (act->verb == wire::Verb::kAddExecutors) return on_add_executors(asker, std::move(*act));
    if (act->verb == wire::Verb::kSplitGroup) return on_split(asker, std::move(*act));
    if (act->verb == wire::Verb::kRemoveGroup) return on_remove_group(asker, *act);
    if (wire::is_about_node(act->verb)) return on_node(asker, *act);
    if (act->verb == wire::Verb::kSilence) return on_silence(asker, *act);
    if (act->verb == wire::Verb::kTestAlarm) return on_test_alarm(asker, *act);
    if (act->verb == wire::Verb::kCleanHistory) return on_clean_history(asker, *act);
    return act_.act(asker, std::move(*act), bytes);
  }
  if (auto* fetch = std::get_if<wire::FetchFeedback>(&message))
    return feedback_.fetch(asker, std::move(*fetch));
  if (auto* query = std::get_if<wire::Query>(&message)) {
    if (query->what == "whoami") return access_.whoami(asker);
    if (query->what == "principals") return access_.list(asker, apps_with_token());
    return query_.query(asker, *query);
  }
  if (auto* put = std::get_if<wire::PutPrincipal>(&message))
    return access_.put(asker, std::move(*put));
  if (auto* remove = std::get_if<wire::RemovePrincipal>(&message))
    return access_.remove(asker, *remove);
  if (auto* hello = std::get_if<wire::Register>(&message))
    return on_register(asker, std::move(*hello));
  if (auto* pull = std::get_if<wire::Pull>(&message)) return on_pull(asker, *pull);
  if (auto* output = std::get_if<wire::Output>(&message))
    return on_output(asker, std::move(*output));
  if (auto* bye = std::get_if<wire::Bye>(&message)) return on_bye(asker, *bye);
  if (auto* report = std::get_if<wire::Report>(&message)) {
    if (Worker* worker = worker_of(asker, report->session)) {
      leave_others(*worker, *report);
      completion_.report(*worker, *report);
    }
    return;
  }
  if (auto* back = std::get_if<wire::GiveBack>(&message)) {
    if (Worker* worker = worker_of(asker, back->session)) completion_.give_back(*worker, *back);
    return;
  }
  ++bad_frames_;
  answer(asker, wire::ErrorReply{Error{ErrorCode::kInvalidArgument,
                                       "a job tracker does not accept this type of message"}});
}

}  // namespace carillon::jobtracker
