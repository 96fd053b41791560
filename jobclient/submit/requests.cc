#include "jobclient/submit/requests.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "jobclient/submit/submit_parts.h"
#include "shared/base/assert.h"
#include "shared/base/joined.h"
#include "shared/base/time_text.h"
#include "shared/wire/codec.h"

namespace carillon {
namespace {

constexpr const char* kDeniedPrefix = "access denied";
constexpr std::size_t kTrackersMax = 64;

// The number of a request that changes something; nullptr for one that only asks.
wire::RequestNumber* number_of(wire::Message& message) {
  if (auto* submit = std::get_if<wire::Submit>(&message)) return &submit->request;
  if (auto* act = std::get_if<wire::Act>(&message)) return &act->request;
  return nullptr;
}

bool is_submit(const wire::Message& message) {
  return std::holds_alternative<wire::Submit>(message);
}

RequestsConfig bounded(RequestsConfig config) {
  config.connect_timeout = std::min(config.connect_timeout, kLongestWait);
  config.answer_timeout = std::min(config.answer_timeout, kLongestWait);
  return config;
}

}  // namespace

Result<std::unique_ptr<Requests>> Requests::open(RequestsConfig config, const Clock& clock,
                                                 std::int64_t client,
                                                 MakeTransport make_transport) {
  if (config.trackers.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "no job tracker is named, give at least one like tcp://127.0.0.1:35001"};
  }
  std::unique_ptr<Requests> requests(
      new Requests(std::move(config), clock, client, std::move(make_transport)));
  CARILLON_TRY(requests->connect(0));
  return requests;
}

Requests::Requests(RequestsConfig config, const Clock& clock, std::int64_t client,
                   MakeTransport make_transport)
    : config_(bounded(std::move(config))),
      clock_(clock),
      client_(client),
      make_transport_(std::move(make_transport)),
      trackers_(config_.trackers),
      away_since_(clock.steady_now()),
      connections_(
          make_transport_, config_.try_next_after,
          {.on_frame = [this](const std::string& address,
                              std::string_view frame) { on_answer(address, frame); },
           .on_connected = [this](const std::string& address) { on_connection_connected(address); },
           .on_lost = [this](const std::string& address,
                             const std::string& reason) { on_connection_lost(address, reason); }}) {
}

Requests::~Requests() {
  if (transport_) transport_->set_receiver(nullptr);
}

Status Requests::connect(std::size_t tracker) {
  if (transport_) transport_->set_receiver(nullptr);
  transport_.reset();
  if (connected_) away_since_ = clock_.steady_now();
  connected_ = false;
  leaving_ = false;
  tracker_ = tracker;
  try_next_at_.reset();
  transport_ = CARILLON_TRY(make_transport_(trackers_[tracker]));
  transport_->set_receiver(this);
  connected_ = transport_->is_connected();
  if (trackers_.size() > 1) try_next_at_ = clock_.steady_now() + config_.try_next_after;
  return {};
}

bool Requests::window_is_open() const {
  return by_sequence_.empty() ||
         last_sequence_ + 1 - by_sequence_.begin()->first < wire::kRequestWindow;
}

void Requests::store_with(Store store, std::function<std::int64_t()> draw_client) {
  store_ = std::move(store);
  draw_client_ = std::move(draw_client);
}

void Requests::hold(bool held, const std::string& why) {
  held_ = held;
  held_why_ = why;
  start_unnumbered();
}

void Requests::ask(wire::Message request, SteadyTime since, Done done,
                   std::optional<wire::OnBehalf> on_behalf) {
  Unnumbered one{std::move(request), since, std::move(done), std::move(on_behalf)};
  const wire::RequestNumber* const number = number_of(one.request);
  if (number != nullptr && number->sequence != 0) {
    return place({.number = *number,
                  .may_be_mixed = is_submit(one.request),
                  .asked_at = since,
                  .done = std::move(one.done)},
                 std::move(one.request), std::move(one.on_behalf));
  }
  if (is_submit(one.request) && unnumbered_.empty() && is_away(clock_.steady_now())) {
    store_all(give_up_error(false));
    return store_unsent(std::move(one));
  }
  if (number != nullptr && (held_ || !has_room() || is_away(clock_.steady_now()))) {
    unnumbered_.push_back(std::move(one));
    return;
  }
  start(std::move(one));
}

void Requests::start(Unnumbered one) {
  Outstanding outstanding{.asked_at = one.asked_at, .done = std::move(one.done)};
  if (wire::RequestNumber* number = number_of(one.request)) {
    *number = {client_, ++last_sequence_};
    outstanding.number = *number;
    outstanding.may_be_stored = store_ && is_submit(one.request);
    outstanding.may_be_mixed = !store_ && is_submit(one.request);
    by_sequence_.emplace(last_sequence_, last_correlation_ + 1);
  }
  place(std::move(outstanding), std::move(one.request), std::move(one.on_behalf));
}

void Requests::deliver(wire::Submit submit, Done done) {
  Outstanding outstanding{
      .number = submit.request, .asked_at = clock_.steady_now(), .done = std::move(done)};
  place(std::move(outstanding), std::move(submit));
}

void Requests::place(Outstanding outstanding, wire::Message request,
                     std::optional<wire::OnBehalf> on_behalf) {
  const std::uint64_t correlation = ++last_correlation_;
  outstanding.subject = connections_.subject_of(request);
  outstanding.connection = line_for(outstanding.subject);
  outstanding.frame = wire::encode({correlation, std::move(request), std::move(on_behalf)});
  const auto placed = outstanding_.emplace(correlation, std::move(outstanding)).first;
  if (placed->second.frame.size() > wire::kFrameBytesMax) {
    answer(placed,
           Error{ErrorCode::kInvalidArgument,
                 "the request has " + std::to_string(placed->second.frame.size()) +
                     " bytes, at most " + std::to_string(wire::kFrameBytesMax) + " are allowed"});
    return;
  }
  if (can_send(placed->second)) send(placed->second, clock_.steady_now());
}

// Only where nothing about the same is on another way, so that nothing overtakes it.
std::string Requests::line_for(const std::string& subject) const {
  const std::string owner = connections_.owner_of(subject);
  if (owner == trackers_[tracker_] || !connections_.is_connected(owner)) return {};
  const bool is_alone =
      std::none_of(outstanding_.begin(), outstanding_.end(), [&](const auto& one) {
        return one.second.subject == subject && one.second.connection != owner &&
               !one.second.is_in_parts;
      });
  return is_alone ? owner : std::string{};
}

bool Requests::can_send(const Outstanding& request) const {
  return request.connection.empty() ? connected_ : connections_.is_connected(request.connection);
}

void Requests::start_unnumbered() {
  while (!held_ && !unnumbered_.empty() && window_is_open() && !is_away(clock_.steady_now())) {
    Unnumbered next = std::move(unnumbered_.front());
    unnumbered_.pop_front();
    start(std::move(next));
  }
}

void Requests::send(Outstanding& request, SteadyTime now) {
  if (request.resend_after == Duration{}) {
    request.resend_after = config_.resend_after;
  } else {
    request.resend_after = std::min(request.resend_after * 2, config_.resend_after_max);
  }
  request.send_at = now + request.resend_after;
  // A transport that is full or just gone keeps nothing: it is sent again later, or over the next
  // connection.
  const Status sent = request.connection.empty()
                          ? transport_->send(request.frame)
                          : connections_.send(request.connection, request.frame);
  if (!sent.ok()) return;
  request.was_sent = true;
  if (!request.sent_at) request.sent_at = now;
  ++request.open_sendings;
}

void Requests::send_due(SteadyTime now) {
  for (auto& [correlation, request] : outstanding_) {
    if (request.is_in_parts || !can_send(request)) continue;
    if (!request.send_at || *request.send_at <= now) send(request, now);
  }
}

// A connection that was lost has its time to come back.
SteadyTime Requests::give_up_at(bool was_sent, SteadyTime asked_at) const {
  const SteadyTime answered_by = asked_at + config_.answer_timeout;
  if (was_sent || connected_) return answered_by;
  const SteadyTime came_back_by = std::min(answered_by, away_since_ + config_.connect_timeout);
  return std::max(came_back_by, asked_at + config_.connect_timeout);
}

// Waited for nothing: for an answer.
Error Requests::give_up_error(bool was_sent, const std::string& connection, Duration waited) const {
  if (std::string_view{last_reason_}.starts_with(kDeniedPrefix)) return denied_error();
  if (waited == Duration{}) waited = config_.answer_timeout;
  const std::string silent =
      "no answer from " + name_of(connection) + " within " + format_duration(waited);
  if (was_sent) return {ErrorCode::kTimeout, silent + kMaybeTaken + kAskFirst};
  const std::string behind = held_ ? ", and stored submissions are delivered first" : "";
  const std::string& why = held_ && !held_why_.empty() ? held_why_ : silent;
  if (connected_) return {ErrorCode::kUnavailable, why + behind + " (try again later)"};
  std::string message = "no job tracker reachable at " + joined(trackers_, ", ") + " within " +
                        format_duration(config_.connect_timeout);
  message += last_reason_.empty() ? " (start a jobtracker there, or give another address)"
                                  : ": " + last_reason_;
  return {ErrorCode::kUnavailable, message};
}

// The error that ends a request, or kTimeout where it may have been taken in spite of it.
Error Requests::unless_taken(const Outstanding& request, const Error& error) {
  const bool changes = request.number.sequence != 0;
  if (!changes || request.open_sendings == 0 || error.code == ErrorCode::kTimeout) return error;
  return {ErrorCode::kTimeout,
          error.message +
              ", but it was sent before, and the job tracker may have accepted it then" +
              kAskFirst};
}

void Requests::give_up_due(SteadyTime now) {
  std::vector<std::uint64_t> late;
  for (const auto& [correlation, request] : outstanding_) {
    if (request.is_in_parts) continue;
    if (give_up_at(request.was_sent, request.asked_at) <= now) late.push_back(correlation);
  }
  for (const std::uint64_t correlation : late) {
    const auto found = outstanding_.find(correlation);
    if (found == outstanding_.end()) continue;
    Outstanding& request = found->second;
    answer(found, unless_taken(request, give_up_error(request.was_sent, request.connection)));
  }
  while (!unnumbered_.empty()) {
    Unnumbered& next = unnumbered_.front();
    const bool is_stored = store_ && is_submit(next.request);
    const bool is_late = give_up_at(false, next.asked_at) <= now;
    if (!is_late && !(is_stored && is_away(now))) break;
    Unnumbered ended = std::move(next);
    unnumbered_.pop_front();
    is_stored ? store_unsent(std::move(ended)) : ended.done(give_up_error(false));
  }
}

void Requests::leave_if_silent(SteadyTime now) {
  const bool may_leave = connected_ && !leaving_ && trackers_.size() > 1;
  for (const auto& [correlation, request] : outstanding_) {
    if (!is_silent(request, now)) continue;
    if (!request.connection.empty()) {
      connections_.lose(request.connection,
                        "no answer within " + format_duration(config_.silent_after));
    } else if (may_leave) {
      leaving_ = true;
      try_next_at_ = now;
    }
  }
}

bool Requests::is_silent(const Outstanding& request, SteadyTime now) const {
  const SteadyTime heard =
      request.connection.empty() ? heard_at_ : connections_.heard_at(request.connection);
  return request.sent_at && std::max(heard, *request.sent_at) + config_.silent_after <= now;
}

// So long that nobody is expected back from one moment to the next.
bool Requests::is_away(SteadyTime now) const {
  return store_ && !connected_ && now >= away_since_ + config_.connect_timeout;
}

bool Requests::must_store(const Outstanding& request, const Result<wire::Message>& answer) const {
  return request.may_be_stored && !answer.ok() &&
         (answer.error().code == ErrorCode::kUnavailable ||
          answer.error().code == ErrorCode::kTimeout);
}

void Requests::store(Outstanding request, const Error& why) {
  if (request.number.client == client_) {
    client_ = draw_client_();
    last_sequence_ = 0;
    by_sequence_.clear();
  }
  store_({.frame = std::move(request.frame),
          .number = request.was_sent ? request.number : wire::RequestNumber{},
          .why = why,
          .done = std::move(request.done)});
}

void Requests::store_unsent(Unnumbered request) {
  store_({.frame = wire::encode({0, std::move(request.request)}),
          .why = give_up_error(false),
          .done = std::move(request.done)});
}

void Requests::store_all(const Error& why) {
  std::vector<Outstanding> all;
  for (auto request = outstanding_.begin(); request != outstanding_.end();) {
    if (!request->second.may_be_stored) {
      ++request;
      continue;
    }
    all.push_back(std::move(request->second));
    request = outstanding_.erase(request);
  }
  for (Outstanding& request : all) store(std::move(request), why);
}

void Requests::try_next_tracker(SteadyTime now) {
  const bool stays = connected_ && !leaving_;
  if (stays || !try_next_at_ || *try_next_at_ > now) return;
  const Status connected = connect((tracker_ + 1) % trackers_.size());
  if (!connected.ok()) {
    last_reason_ = connected.error().message;
    try_next_at_ = now + config_.refused_wait;
  }
}

void Requests::run_due() {
  const SteadyTime now = clock_.steady_now();
  leave_if_silent(now);
  connections_.close_lost(now);
  if (needs_tracker()) try_next_tracker(now);
  send_due(now);
  if (is_away(now)) store_all(give_up_error(false));
  give_up_due(now);
}

std::optional<SteadyTime> Requests::next_due() const {
  std::optional<SteadyTime> first;
  const auto consider = [&first](SteadyTime when) {
    if (!first || when < *first) first = when;
  };
  for (const auto& [correlation, request] : outstanding_) {
    if (!request.is_in_parts) consider(give_up_at(request.was_sent, request.asked_at));
    if (request.may_be_stored && !connected_) consider(away_since_ + config_.connect_timeout);
    if (can_send(request) && request.send_at) consider(*request.send_at);
  }
  if (const auto lines_due = connections_.next_due()) consider(*lines_due);
  if (!unnumbered_.empty()) {
    consider(give_up_at(false, unnumbered_.front().asked_at));
    const bool is_stored = store_ && is_submit(unnumbered_.front().request);
    if (is_stored && !connected_) consider(away_since_ + config_.connect_timeout);
  }
  const bool stays = connected_ && !leaving_;
  if (!stays && needs_tracker() && try_next_at_) consider(*try_next_at_);
  return first;
}

void Requests::answer(Table::iterator request, Result<wire::Message> answer) {
  Outstanding ended = std::move(request->second);
  if (ended.number.client == client_) by_sequence_.erase(ended.number.sequence);
  outstanding_.erase(request);
  if (must_store(ended, answer)) {
    store(std::move(ended), answer.error());
    if (!connected_) store_all(answer.error());
  } else {
    ended.done(std::move(answer));
  }
  start_unnumbered();
}

void Requests::try_later(Table::iterator found, const Error& refusal) {
  Outstanding& request = found->second;
  const bool is_away = refusal.code == ErrorCode::kUnavailable;  // Not ready is not reachable.
  if (is_away && !request.connection.empty()) {
    // It looks after that no more, or not yet: it is asked again who does.
    connections_.forget(request.subject);
    request.connection.clear();
    request.sent_at.reset();
  } else if (is_away && trackers_.size() > 1) {
    // The next one is asked at once, the round goes on at an even pace.
    request.slow_down = Duration{};
    leaving_ = true;
    if (!try_next_at_) try_next_at_ = clock_.steady_now() + next_pace();
  }
  try_again(found, is_away, refusal);
}

// A while later than the last time, or never, because of `why`.
void Requests::try_again(Table::iterator found, bool is_away, const Error& why) {
  Outstanding& request = found->second;
  request.slow_down = request.slow_down == Duration{}
                          ? (is_away ? config_.refused_soon : config_.slow_down_wait)
                          : std::min(request.slow_down * 2, config_.resend_after_max);
  request.send_at = clock_.steady_now() + request.slow_down;
  // Not the one that is left.
  if (leaving_ && request.connection.empty() && try_next_at_) request.send_at = *try_next_at_;
  // What another one may have taken is answered by whoever takes that one's place.
  const bool may_be_taken = trackers_.size() > 1 && request.open_sendings > 0;
  // Given up before the answer of one that is too busy, nobody would know what became of it.
  const Duration left = std::min(2 * config_.resend_after, config_.answer_timeout / 15);
  const Duration longest = is_away ? config_.answer_timeout : config_.answer_timeout * 2 / 3;
  const Duration most = is_away && !may_be_taken ? config_.connect_timeout : longest - left;
  if (*request.send_at <= request.asked_at + most) return;
  if (is_away || request.open_sendings == 0) return answer(found, unless_taken(request, why));
  // Each sending is refused by itself; with the last it is known that none was taken.
  request.send_at = request.asked_at + config_.answer_timeout + config_.resend_after;
}

void Requests::on_answer(const std::string& connection, std::string_view frame) {
  const SteadyTime now = clock_.steady_now();
  if (connection.empty()) {
    heard_at_ = now;
  } else {
    connections_.heard(connection, now);
  }
  Result<wire::Envelope> decoded = wire::decode(frame);
  const std::uint64_t correlation =
      decoded.ok() ? decoded.value().correlation : wire::correlation_of(frame);
  const auto found = outstanding_.find(correlation);
  if (found == outstanding_.end()) return;  // The second answer to what was sent twice.
  if (!decoded.ok()) {
    return answer(found,
                  Error{ErrorCode::kCorrupt, "the answer of " + name_of(connection) +
                                                 " cannot be read: " + decoded.error().message});
  }
  Outstanding& request = found->second;
  const auto* refused = std::get_if<wire::ErrorReply>(&decoded.value().message);
  const ErrorCode code = refused ? refused->error.code : ErrorCode{};
  const bool is_for_later = code == ErrorCode::kLimit || code == ErrorCode::kUnavailable;
  const auto* elsewhere = std::get_if<wire::Redirect>(&decoded.value().message);
  if ((is_for_later || elsewhere) && request.open_sendings > 0) --request.open_sendings;
  if (refused == nullptr && connection.empty()) leaving_ = false;
  if (code != ErrorCode::kUnavailable && connection.empty()) pace_ = Duration{};
  const bool is_said = !elsewhere && (!refused || code == ErrorCode::kLimit);
  if (request.number.sequence != 0 && is_said) answered_at_ = now;
  // Of an earlier sending; it goes another way by now.
  if ((is_for_later || elsewhere) && connection != request.connection) return;
  if (is_for_later) return try_later(found, refused->error);
  if (elsewhere) return take_redirect(found, *elsewhere);
  if (refused) return answer(found, refused->error);
  answer(found, std::move(decoded.value().message));
}

void Requests::take_redirect(Table::iterator found, const wire::Redirect& elsewhere) {
  Outstanding& request = found->second;
  learn_parts(request, elsewhere.parts);
  if (elsewhere.address.empty()) return send_in_parts(found, elsewhere.parts);
  connections_.learn(request.subject, elsewhere.address);
  if (std::find(trackers_.begin(), trackers_.end(), elsewhere.address) == trackers_.end()) {
    if (trackers_.size() >= kTrackersMax) trackers_.pop_back();
    trackers_.push_back(elsewhere.address);
  }
  send_on(found, elsewhere.address);
}

// What is known of the group's parts tells better whom it is about.
void Requests::learn_parts(Outstanding& request, std::int32_t parts) {
  if (parts <= 1 || request.subject.find('/') != std::string::npos) return;
  connections_.learn_parts(request.subject, parts);
  const auto message = wire::decode(request.frame);
  if (message.ok()) request.subject = connections_.subject_of(message.value().message);
}

void Requests::send_on(Table::iterator found, const std::string& address) {
  Outstanding& request = found->second;
  const SteadyTime now = clock_.steady_now();
  const bool is_back = address == trackers_[tracker_];
  if (!is_back) {
    const Status opened = connections_.open(address, now);
    if (!opened.ok()) return try_again(found, true, opened.error());
  }
  request.connection = is_back ? std::string{} : address;
  request.sent_at.reset();
  request.resend_after = {};
  // Two that send it to one another do not agree yet.
  if (request.was_sent_on || is_back) request.sent_on_wait = slower(request.sent_on_wait);
  request.send_at = now + request.sent_on_wait;
  request.was_sent_on = true;
}

void Requests::on_connection_connected(const std::string& address) {
  const SteadyTime now = clock_.steady_now();
  for (auto& [correlation, request] : outstanding_) {
    if (request.connection == address && !request.is_in_parts) send(request, now);
  }
}

void Requests::on_connection_lost(const std::string& address, const std::string& reason) {
  std::vector<std::uint64_t> open;
  for (const auto& [correlation, request] : outstanding_) {
    // A whole is ended by its parts.
    if (request.connection == address && !request.is_in_parts) open.push_back(correlation);
  }
  for (const std::uint64_t correlation : open) {
    const auto found = outstanding_.find(correlation);
    if (found == outstanding_.end()) continue;
    Outstanding& request = found->second;
    request.connection.clear();
    request.sent_at.reset();
    request.resend_after = {};
    try_again(found, true,
              {ErrorCode::kUnavailable, "job tracker " + address + ", which owns '" +
                                            request.subject + "', cannot be reached: " + reason});
  }
}

void Requests::send_in_parts(Table::iterator found, std::int32_t group_parts) {
  auto whole = wire::decode(found->second.frame);
  auto* submit = whole.ok() ? std::get_if<wire::Submit>(&whole.value().message) : nullptr;
  if (submit == nullptr) {
    return answer(found,
                  Error{ErrorCode::kCorrupt,
                        "the job tracker asked to divide a message that is not a submission"});
  }
  // The whole waits for its parts, and is not sent again, nor given up before them.
  const std::uint64_t correlation = found->first;
  const SteadyTime asked_at = found->second.asked_at;
  found->second.send_at = clock_.steady_now() + config_.answer_timeout;
  found->second.sent_at.reset();
  found->second.is_in_parts = true;
  auto pending = std::make_shared<SubmitParts>(std::move(*submit), group_parts);
  for (SubmitPart& part : pending->take_parts()) {
    Outstanding one{.number = part.submit.request, .asked_at = asked_at};
    one.done = [this, pending, correlation,
                places = std::move(part.places)](Result<wire::Message> answered) {
      if (!pending->take(places, std::move(answered))) return;
      const auto left = outstanding_.find(correlation);
      if (left == outstanding_.end()) return;  // It was stored meanwhile.
      answer(left, pending->result(left->second.may_be_mixed));
    };
    place(std::move(one), std::move(part.submit), whole.value().on_behalf);
  }
}

void Requests::on_connected() {
  const SteadyTime now = clock_.steady_now();
  connected_ = true;
  try_next_at_.reset();
  last_reason_.clear();
  denied_in_row_ = 0;
  for (auto& [correlation, request] : outstanding_) {
    if (request.is_in_parts || !request.connection.empty()) continue;
    request.resend_after = {};
    request.sent_at.reset();
    send(request, now);
  }
  start_unnumbered();
}

void Requests::on_disconnected(const std::string& reason) {
  const bool denied = std::string_view{reason}.starts_with(kDeniedPrefix);
  if (connected_) away_since_ = clock_.steady_now();
  connected_ = false;
  last_reason_ = reason;
  if (denied || trackers_.size() > 1) {
    const SteadyTime soon = clock_.steady_now() + (denied ? config_.refused_wait : next_pace());
    if (!try_next_at_ || soon < *try_next_at_) try_next_at_ = soon;
  }
  if (denied && ++denied_in_row_ > trackers_.size()) {
    denied_in_row_ = 0;
    // What is stored goes on trying, in its own time.
    if (held_) try_next_at_ = clock_.steady_now() + config_.resend_after;
    fail_all(denied_error());
  }
}

void Requests::fail_all(const Error& error) {
  std::deque<Unnumbered> unnumbered = std::exchange(unnumbered_, {});
  Table outstanding = std::exchange(outstanding_, {});
  by_sequence_.clear();
  // A whole is ended by its parts.
  for (auto request = outstanding.begin(); request != outstanding.end();) {
    const auto next = std::next(request);
    if (request->second.is_in_parts) outstanding_.insert(outstanding.extract(request));
    request = next;
  }
  for (auto& [correlation, request] : outstanding) request.done(unless_taken(request, error));
  for (Unnumbered& request : unnumbered) request.done(error);
}

void Requests::close() {
  fail_all({ErrorCode::kUnavailable, "the job client was closed before the answer came"});
}

}  // namespace carillon
