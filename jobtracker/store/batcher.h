#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <vector>

#include "carillon/result.h"
#include "jobtracker/store/batch.h"
#include "jobtracker/store/bulk_room.h"
#include "jobtracker/store/reads.h"
#include "jobtracker/store/settled_log.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"
#include "shared/metrics/histogram.h"

// Combines single operations into transactions: group commit.
namespace carillon::jobtracker {

// The interface to a store connection. One batch is in progress at a time; reads are answered in
// order with the batches. Thread: the loop. Answers arrive as messages, to BatchDone and ReadDone
// below, never within a call.
class StoreConnection {
 public:
  virtual ~StoreConnection() = default;
  virtual void commit(Batch batch) = 0;
  virtual void read(std::uint64_t token, Read question) = 0;
};

// The end of a commit. Never Unknown, and never RolledBack because of an unreachable database: the
// store connection retries and settles until the result is certain.
struct BatchDone {
  Batch batch{};
  std::variant<Committed, RolledBack> result{};
};

struct ReadDone {
  std::uint64_t token = 0;
  Result<ReadAnswer> answer = Error{};
};

// Answers queries of clients on another connection. Thread: the loop, also for answers.
class Questions {
 public:
  virtual ~Questions() = default;
  // Error: kLimit if too many queries wait.
  virtual void ask(Read question, std::function<void(Result<ReadAnswer>)> on_answer) = 0;
};

struct BatcherConfig {
  // Target time for the statements of a batch, without the COMMIT, whose time depends on the disk.
  // Longer: larger batches and more jobs a second. Shorter: urgent claims wait less behind bulk
  // loads.
  Duration rows_time_aim = std::chrono::milliseconds{8};
  // Ends wait this long in favour of starts, so that of many jobs due at one instant the last
  // starts sooner. Longer: ended jobs are shown as executing, and task trackers resend results and
  // write them to disk.
  Duration completion_wait = std::chrono::milliseconds{500};
  std::size_t rows_min = 64;
  std::size_t rows_max = 8192;
  // Most rows waiting for a commit; beyond it clients are asked to slow down.
  std::size_t pending_max = 200'000;
  std::size_t pending_bytes_max = 256 * 1024 * 1024;  // payloads, output and held requests
  // Most reads, and requests waiting for a read; beyond it clients are asked to slow down.
  std::size_t reads_max = 20'000;

  Status validate() const;
};

// Order of operations in a batch: starts precede the ends of earlier runs, except ends that have
// waited too long.
enum class Urgency : std::uint8_t {
  kClaim = 0,
  kCompletion = 1,
  kRequest = 2,
  kBulk = 3,
  kHousekeeping = 4
};
inline constexpr std::size_t kUrgencies = 5;

// `refused`: the store rejected the operation permanently (nothing of its unit was done); otherwise
// null.
using OnOutcome = std::function<void(Operation&, const Outcome&, const Error* refused)>;
// The operations of a unit and their outcomes.
using OnUnit =
    std::function<void(std::vector<Operation>&, const std::vector<Outcome>&, const Error* refused)>;
using OnRequest = std::function<void(const RequestOutcome&, const Error* refused)>;
using OnAnswer = std::function<void(Result<ReadAnswer>)>;

// The parts of each batch besides its operations; see Batch.
struct BatchHead {
  WallTime now{};
  std::int64_t id_high = 0;
  bool recovered = false;
  Duration lease{};
};

// Collects posted operations while the store connection is busy, and sends them as one transaction.
//
// A unit is never divided: it is in one transaction. Units of one urgency keep their order.
// Outcomes arrive by callback on the loop, in batch order.
//
// Thread: the loop.
class Batcher {
 public:
  Batcher(BatcherConfig config, StoreConnection& connection, const Clock& clock, const Logger& log);

  void post(Urgency urgency, Operation operation, OnOutcome on_outcome);
  void post_unit(Urgency urgency, std::vector<Operation> operations, OnUnit on_unit);
  // The operations of a client's numbered request, with the answer to store for a resend.
  void post_request(Urgency urgency, NumberedRequest number, std::vector<Operation> operations,
                    OnRequest on_request, OnUnit on_unit);
  void ask(Read question, OnAnswer on_answer);

  // A request of this size waits, for a read or a change, before its operations are posted.
  // release() must follow.
  void hold(std::size_t bytes);
  void release(std::size_t bytes);
  // The same for requests that may wait for other things.
  void hold_bytes(std::size_t bytes) { pending_bytes_ += bytes; }
  void release_bytes(std::size_t bytes) { pending_bytes_ -= bytes; }

  bool is_full() const {
    return pending_rows_ >= config_.pending_max || pending_bytes_ >= config_.pending_bytes_max ||
           asked_.size() + held_requests_ >= config_.reads_max;
  }
  // Error: kLimit if new requests must wait; counts them.
  Status check_room();
  Error slow_down();
  // Whether the waiting bulk loads are so few that the store connection may soon be idle, with time
  // to read one before the next batch.
  bool wants_bulk() const;
  std::int64_t slowed_down() const { return slowed_down_; }
  std::size_t pending_rows() const { return pending_rows_; }
  // Nothing waits, and nothing is in progress.
  bool is_idle() const { return !is_busy_ && pending_rows_ == 0 && asked_.empty(); }
  // The result of the last commit is known, and no other is in progress.
  bool is_settled() const { return !is_busy_; }
  // The disk is full, or a limit of the database is reached: the last writes failed.
  bool lacks_room() const { return lacks_room_; }

  // Call it each second: logs when a commit takes several seconds.
  void watch_commit();
  bool is_stalled() const { return looks_ >= kLooksMax; }

  // At the end of a turn: starts a commit if operations wait and the store connection is free.
  void flush(const BatchHead& head);
  // The heartbeat: a commit, even without operations, unless one happened anyway.
  void heartbeat();

  // The store connection has finished. Sends operations that gathered meanwhile before it calls
  // back, so that the store connection has work while the loop processes the outcomes. False: this
  // session was fenced, and must stop deciding.
  bool on_batch_done(BatchDone done, const BatchHead& next);
  void on_read_done(ReadDone done);

  // Whether any log row of this session is settled (Batch::log_settled).
  bool has_settled() const { return settled_log_.has_any(); }

  std::int64_t commits() const { return commits_; }
  // Send time of the newest committed batch; epoch: none.
  SteadyTime committed_at() const { return committed_at_; }
  std::int64_t committed_operations() const { return committed_operations_; }
  // From sending a transaction to its result.
  const ShortTimeHistogram& commit_times() const { return commit_times_; }
  // Claims in each transaction that has any.
  const Histogram<kSizeBounds>& claim_batches() const { return claim_batches_; }
  Sizes sizes() const;

 private:
  // Number of watch_commit() calls during one commit. Calls and not time: no commit takes long
  // while the process itself is suspended.
  static constexpr int kLooksMax = 4;

  struct Unit {
    std::vector<Operation> operations{};
    std::optional<NumberedRequest> request{};
    std::size_t rows = 0;  // rows that it writes, approximately; never 0
    std::size_t bytes = 0;
    SteadyTime since{};
    SettledLog::Epoch epoch = 0;
    bool is_weighed = false;  // counted by bulk_room_, also when it is sent again
    OnOutcome on_outcome{};   // for a single operation
    OnUnit on_unit{};
    OnRequest on_request{};
  };

  void enqueue(Urgency urgency, Unit unit);
  std::array<Urgency, kUrgencies> order() const;
  bool may_go(Urgency urgency) const;
  void weigh(Urgency urgency, std::size_t rows);
  void deliver(std::vector<Unit>& units, Batch& batch, const Committed& committed);
  void deliver_unit(Unit& unit, std::vector<Operation> operations, const Outcome* outcomes,
                    const RequestOutcome* request);
  void forget(const Unit& unit);
  void refuse(Unit& unit, const Error& error);
  void after_rollback(Batch batch, const RolledBack& rolled_back);
  void say_no_room(const Error& error);
  void say_room_again();
  void adapt(std::size_t rows, Duration took);
  void measure(const Batch& batch);

  BatcherConfig config_;
  StoreConnection& connection_;
  const Clock& clock_;
  const Logger& log_;
  std::deque<Unit> waiting_[kUrgencies];
  std::array<std::size_t, kUrgencies> credit_{};  // rows, for a unit that did not fit last time
  BulkRoom bulk_room_{};
  SettledLog settled_log_{};
  std::vector<Unit> in_flight_;  // their operations are in the batch under way
  std::size_t in_flight_rows_ = 0;
  bool is_busy_ = false;
  bool wants_beat_ = false;
  bool lacks_room_ = false;
  SteadyTime not_before_{};    // while the store is full
  SteadyTime said_no_room_{};  // the same, for the log
  std::size_t limit_;
  std::size_t limit_once_ = 0;  // smaller while a culprit is searched
  std::size_t pending_rows_ = 0;
  std::size_t pending_bytes_ = 0;
  std::size_t held_requests_ = 0;
  std::int64_t next_number_ = 1;
  std::uint64_t next_token_ = 1;
  std::unordered_map<std::uint64_t, OnAnswer> asked_;
  SteadyTime sent_at_{};  // send time of the current batch
  int looks_ = 0;         // calls of watch_commit() during it
  SteadyTime committed_at_{};
  std::int64_t commits_ = 0;
  std::int64_t committed_operations_ = 0;
  ShortTimeHistogram commit_times_{};
  Histogram<kSizeBounds> claim_batches_{};
  std::int64_t slowed_down_ = 0;
};

}  // namespace carillon::jobtracker
