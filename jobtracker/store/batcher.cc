#include "jobtracker/store/batcher.h"

#include <algorithm>
#include <set>
#include <utility>

#include "shared/base/assert.h"

namespace carillon::jobtracker {
namespace {

// Retry interval for a full store, and the time after which it is reported.
constexpr Duration kRoomAgain = std::chrono::seconds{1};
constexpr Duration kSayAgain = std::chrono::minutes{1};

// With this many requests waiting for a read, further bulk loads would only wait too.
constexpr std::size_t kHeldForBulk = 32;

// The size of an operation, as far as clients and workers determine it.
std::size_t bytes_of(const Operation& operation) {
  if (const auto* job = std::get_if<AddJob>(&operation)) return job->job.spec.size();
  if (const auto* job = std::get_if<AddExecuting>(&operation)) return job->to.job.spec.size();
  if (const auto* definition = std::get_if<AddDefinition>(&operation)) {
    return definition->definition.spec.size();
  }
  if (const auto* change = std::get_if<ChangeWaiting>(&operation)) {
    return change->from.spec.size() + (change->to ? change->to->spec.size() : 0);
  }
  if (const auto* output = std::get_if<AddOutput>(&operation)) return output->row.bytes.size();
  return 0;
}

// An operation moves one row; occurrences of a definition and children may be many.
std::size_t rows_of(const Operation& operation) {
  if (const auto* change = std::get_if<ChangeDefinition>(&operation))
    return 1 + change->add.size() + change->runs.size();
  if (const auto* end = std::get_if<End>(&operation)) return 1 + end->children.size();
  return 1;
}

}  // namespace

Status BatcherConfig::validate() const {
  if (rows_min == 0 || rows_min > rows_max) {
    return Error{ErrorCode::kInvalidArgument, "batcher.rows_min is " + std::to_string(rows_min) +
                                                  ", must be from 1 to rows_max"};
  }
  return {};
}

Batcher::Batcher(BatcherConfig config, StoreConnection& connection, const Clock& clock,
                 const Logger& log)
    : config_(config),
      connection_(connection),
      clock_(clock),
      log_(log),
      limit_(std::min<std::size_t>(1000, config.rows_max)) {
  CARILLON_ASSERT(config_.validate().ok(), "main validates every configuration");
}

void Batcher::enqueue(Urgency urgency, Unit unit) {
  unit.epoch = settled_log_.posted();
  for (const Operation& operation : unit.operations) {
    unit.rows += rows_of(operation);
    unit.bytes += bytes_of(operation);
  }
  if (unit.request) unit.bytes += unit.request->answer.size();
  // A request without operations counts too, so that a batch can be halved down to it.
  unit.rows = std::max<std::size_t>(unit.rows, 1);
  unit.since = clock_.steady_now();
  pending_rows_ += unit.rows;
  pending_bytes_ += unit.bytes;
  waiting_[static_cast<std::size_t>(urgency)].push_back(std::move(unit));
}

void Batcher::post(Urgency urgency, Operation operation, OnOutcome on_outcome) {
  Unit unit;
  unit.operations.push_back(std::move(operation));
  unit.on_outcome = std::move(on_outcome);
  enqueue(urgency, std::move(unit));
}

void Batcher::post_unit(Urgency urgency, std::vector<Operation> operations, OnUnit on_unit) {
  Unit unit;
  unit.operations = std::move(operations);
  unit.on_unit = std::move(on_unit);
  enqueue(urgency, std::move(unit));
}

void Batcher::post_request(Urgency urgency, NumberedRequest number,
                           std::vector<Operation> operations, OnRequest on_request,
                           OnUnit on_unit) {
  Unit unit;
  unit.operations = std::move(operations);
  unit.request = std::move(number);
  unit.on_request = std::move(on_request);
  unit.on_unit = std::move(on_unit);
  enqueue(urgency, std::move(unit));
}

void Batcher::ask(Read question, OnAnswer on_answer) {
  const std::uint64_t token = next_token_++;
  asked_.emplace(token, std::move(on_answer));
  connection_.read(token, std::move(question));
}

void Batcher::hold(std::size_t bytes) {
  ++held_requests_;
  pending_bytes_ += bytes;
}

void Batcher::release(std::size_t bytes) {
  CARILLON_ASSERT(held_requests_ > 0, "only a held request is released");
  --held_requests_;
  pending_bytes_ -= bytes;
}

Status Batcher::check_room() {
  if (!is_full()) return {};
  return slow_down();
}

Error Batcher::slow_down() {
  ++slowed_down_;
  return {ErrorCode::kLimit, "the job tracker has too many unstored requests, slow down"};
}

bool Batcher::wants_bulk() const {
  // The next batch must not wait for the reading of a large request.
  if (is_busy_ && clock_.steady_now() > sent_at_ + config_.rows_time_aim / 2) return false;
  if (held_requests_ >= kHeldForBulk) return false;
  std::size_t rows = 0;
  for (const Unit& unit : waiting_[static_cast<std::size_t>(Urgency::kBulk)]) {
    rows += unit.rows;
    if (rows >= 2 * limit_) return false;
  }
  return true;
}

void Batcher::heartbeat() { wants_beat_ = true; }

void Batcher::watch_commit() {
  if (!is_busy_ || is_stalled()) return;
  ++looks_;
  if (is_stalled())
    log_.warn("a commit is stalled; no decision is made until it ends", "pending", pending_rows_);
}

std::array<Urgency, kUrgencies> Batcher::order() const {
  std::array<Urgency, kUrgencies> order{Urgency::kClaim, Urgency::kCompletion, Urgency::kRequest,
                                        Urgency::kBulk, Urgency::kHousekeeping};
  const auto& ends = waiting_[static_cast<std::size_t>(Urgency::kCompletion)];
  const bool are_late =
      !ends.empty() && ends.front().since + config_.completion_wait <= clock_.steady_now();
  if (are_late) std::swap(order[0], order[1]);
  return order;
}

bool Batcher::may_go(Urgency urgency) const {
  if (urgency == Urgency::kBulk && bulk_room_.is_used_up()) return false;
  return !waiting_[static_cast<std::size_t>(urgency)].empty();
}

void Batcher::weigh(Urgency urgency, std::size_t rows) {
  if (urgency == Urgency::kClaim || urgency == Urgency::kCompletion) bulk_room_.ran(rows);
  if (urgency == Urgency::kBulk) bulk_room_.took(rows);
}

void Batcher::flush(const BatchHead& head) {
  if (is_busy_ || clock_.steady_now() < not_before_) return;
  if (pending_rows_ == 0 && !wants_beat_) return;
  Batch batch;
  batch.number = next_number_;
  batch.id_high = head.id_high;
  batch.recovered = head.recovered;
  batch.lease = head.lease;
  batch.log_settled = settled_log_.through(head.id_high, clock_.steady_now());
  batch.now = head.now;
  const std::size_t limit = limit_once_ != 0 ? limit_once_ : limit_;
  bulk_room_.make_batch(clock_.steady_now(), limit_, config_.rows_time_aim);
  batch.operations.reserve(std::min(pending_rows_, limit));
  std::size_t filled = 0;
  std::set<std::pair<std::int64_t, std::int64_t>> numbers;
  const auto order = this->order();
  for (std::size_t at = 0; at < kUrgencies && filled < limit; ++at) {
    auto& queue = waiting_[static_cast<std::size_t>(order[at])];
    // Each urgency leaves an eighth to less urgent ones, so that none starves.
    const bool others_wait = std::any_of(order.begin() + at + 1, order.end(),
                                         [this](Urgency other) { return may_go(other); });
    const std::size_t through = limit - (others_wait ? (limit - filled) / 8 : 0);
    std::size_t& credit = credit_[static_cast<std::size_t>(order[at])];
    const std::size_t units_before = in_flight_.size();
    while (may_go(order[at])) {
      Unit& unit = queue.front();
      // A resend waits for the batch after the first copy's, and is answered from that.
      if (unit.request && !numbers.emplace(unit.request->client, unit.request->sequence).second) {
        break;
      }
      const std::size_t size = unit.operations.size();
      const bool is_first = in_flight_.empty();
      if (!is_first && filled + unit.rows > through + credit) break;
      if (!std::exchange(unit.is_weighed, true)) weigh(order[at], unit.rows);
      filled += unit.rows;
      if (unit.request) {
        unit.request->first_operation = batch.operations.size();
        unit.request->operation_count = size;
        batch.requests.push_back(*unit.request);
      }
      // The operations return to their positions in the unit.
      std::move(unit.operations.begin(), unit.operations.end(),
                std::back_inserter(batch.operations));
      in_flight_.push_back(std::move(unit));
      queue.pop_front();
      credit = 0;
    }
    // A unit larger than the remaining credit is sent eventually.
    if (may_go(order[at]) && in_flight_.size() == units_before) credit += limit / 16;
  }
  if (in_flight_.empty() && !wants_beat_) return;
  in_flight_rows_ = filled;
  wants_beat_ = false;
  is_busy_ = true;
  sent_at_ = clock_.steady_now();
  connection_.commit(std::move(batch));
}

bool Batcher::on_batch_done(BatchDone done, const BatchHead& next) {
  CARILLON_ASSERT(is_busy_, "exactly one batch is in progress");
  const auto* rolled_back = std::get_if<RolledBack>(&done.result);
  if (rolled_back != nullptr && rolled_back->fenced) return false;  // Nothing follows it.
  is_busy_ = false;
  if (is_stalled()) log_.info("the commit has ended", "pending", pending_rows_);
  looks_ = 0;
  if (auto* committed = std::get_if<Committed>(&done.result)) {
    CARILLON_ASSERT(committed->outcomes.size() == done.batch.operations.size(),
                    "a store answers each operation");
    ++next_number_;
    ++commits_;
    committed_at_ = sent_at_;
    committed_operations_ += static_cast<std::int64_t>(done.batch.operations.size());
    adapt(in_flight_rows_, committed->rows_took);
    measure(done.batch);
    limit_once_ = 0;
    // A heartbeat alone needs almost no time.
    const bool is_beat = done.batch.operations.empty() && done.batch.requests.empty();
    if (lacks_room_ && !is_beat) say_room_again();
    std::vector<Unit> units = std::exchange(in_flight_, {});
    for (const Unit& unit : units) forget(unit);
    flush(next);
    deliver(units, done.batch, *committed);
    return true;
  }
  after_rollback(std::move(done.batch), *rolled_back);
  return true;
}

void Batcher::deliver(std::vector<Unit>& units, Batch& batch, const Committed& committed) {
  std::size_t at = 0;
  std::size_t request_at = 0;
  for (Unit& unit : units) {
    const std::size_t size = unit.operations.size();
    const RequestOutcome* request = unit.request ? &committed.requests.at(request_at++) : nullptr;
    if (unit.on_outcome) {
      unit.on_outcome(batch.operations[at], committed.outcomes[at], nullptr);
    } else {
      std::vector<Operation> operations(
          std::make_move_iterator(batch.operations.begin() + static_cast<std::ptrdiff_t>(at)),
          std::make_move_iterator(batch.operations.begin() +
                                  static_cast<std::ptrdiff_t>(at + size)));
      deliver_unit(unit, std::move(operations), committed.outcomes.data() + at, request);
    }
    at += size;
  }
}

void Batcher::deliver_unit(Unit& unit, std::vector<Operation> operations, const Outcome* outcomes,
                           const RequestOutcome* request) {
  const std::vector<Outcome> mine(outcomes, outcomes + operations.size());
  const bool was_done = request == nullptr || !request->answered_before;
  if (unit.on_unit && was_done) unit.on_unit(operations, mine, nullptr);
  if (request != nullptr) {
    RequestOutcome answer = *request;
    if (was_done) answer.outcomes = mine;
    unit.on_request(answer, nullptr);
  }
}

void Batcher::forget(const Unit& unit) {
  pending_rows_ -= unit.rows;
  pending_bytes_ -= unit.bytes;
  settled_log_.ended(unit.epoch);
}

void Batcher::refuse(Unit& unit, const Error& error) {
  forget(unit);
  if (unit.on_outcome)
    unit.on_outcome(unit.operations.front(), Outcome{.kind = OutcomeKind::kConflict}, &error);
  if (unit.on_unit) {
    const std::vector<Outcome> none(unit.operations.size(),
                                    Outcome{.kind = OutcomeKind::kConflict});
    unit.on_unit(unit.operations, none, &error);
  }
  if (unit.on_request) unit.on_request(RequestOutcome{}, &error);
}

// Nothing of the batch was done. A unit that can never succeed is rejected; all others return to
// the front of the queue.
void Batcher::after_rollback(Batch batch, const RolledBack& rolled_back) {
  const bool is_full = rolled_back.error.code == ErrorCode::kLimit;
  std::vector<Unit> units = std::exchange(in_flight_, {});
  const bool is_alone = units.size() == 1;
  std::size_t at = 0;
  std::vector<Unit> again;
  for (Unit& unit : units) {
    const std::size_t size = unit.operations.size();
    for (std::size_t i = 0; i < size; ++i) unit.operations[i] = std::move(batch.operations[at + i]);
    const bool is_culprit =
        rolled_back.culprit && *rolled_back.culprit >= at && *rolled_back.culprit < at + size;
    at += size;
    if (is_culprit || (!is_full && is_alone) || (is_full && unit.request)) {
      if (!is_full)
        log_.error("the store rejected an operation", "error", rolled_back.error.message);
      refuse(unit, rolled_back.error);
    } else {
      again.push_back(std::move(unit));
    }
  }
  if (is_full) {
    // It may be a limit on transactions, which smaller batches do not reach.
    limit_ = std::max(config_.rows_min, std::min(limit_, in_flight_rows_ / 2));
    say_no_room(rolled_back.error);
  }
  if (!is_full && !rolled_back.culprit && again.size() > 1)
    limit_once_ = std::max<std::size_t>(1, in_flight_rows_ / 2);
  auto& first = waiting_[0];
  first.insert(first.begin(), std::make_move_iterator(again.begin()),
               std::make_move_iterator(again.end()));
}

void Batcher::say_no_room(const Error& error) {
  const SteadyTime now = clock_.steady_now();
  const bool is_news = !std::exchange(lacks_room_, true);
  not_before_ = now + kRoomAgain;
  if (!is_news && now < said_no_room_ + kSayAgain) return;
  said_no_room_ = now;
  log_.error("the store is full; no job is accepted, started or ended until it has space", "error",
             error.message, "pending", pending_rows_);
}

void Batcher::say_room_again() {
  lacks_room_ = false;
  log_.info("the store has space again", "pending", pending_rows_);
}

void Batcher::adapt(std::size_t rows, Duration took) {
  if (rows < limit_ / 2 || took.count() <= 0) return;  // A small batch is not representative.
  const double wanted = static_cast<double>(rows) *
                        static_cast<double>(config_.rows_time_aim.count()) /
                        static_cast<double>(took.count());
  const double next = 0.7 * static_cast<double>(limit_) + 0.3 * wanted;
  limit_ = std::clamp(static_cast<std::size_t>(next), config_.rows_min, config_.rows_max);
}

void Batcher::measure(const Batch& batch) {
  commit_times_.record(std::chrono::duration_cast<Duration>(clock_.steady_now() - sent_at_));
  const auto claims = std::count_if(batch.operations.begin(), batch.operations.end(),
                                    [](const Operation& operation) {
                                      return std::holds_alternative<Claim>(operation) ||
                                             std::holds_alternative<AddExecuting>(operation);
                                    });
  if (claims > 0) claim_batches_.record(claims);
}

void Batcher::on_read_done(ReadDone done) {
  auto found = asked_.find(done.token);
  CARILLON_ASSERT(found != asked_.end(), "each read is answered once");
  OnAnswer on_answer = std::move(found->second);
  asked_.erase(found);
  on_answer(std::move(done.answer));
}

Sizes Batcher::sizes() const {
  std::size_t waiting = 0;
  for (const auto& units : waiting_) waiting += units.size();
  return {{"waiting", waiting},
          {"in_flight", in_flight_.size()},
          {"asked", asked_.size()},
          {"held_requests", held_requests_},
          {"pending_bytes", pending_bytes_}};
}

}  // namespace carillon::jobtracker
