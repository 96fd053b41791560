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

// From single decisions to transactions: group commit.
namespace carillon::jobtracker {

// The way to a store thread. One batch is under way at a time; reads are answered in their order
// among the batches.
// Thread: the loop. Answers come as messages, to BatchDone and ReadDone below, never within a call.
class StoreLane {
 public:
  virtual ~StoreLane() = default;
  virtual void commit(Batch batch) = 0;
  virtual void read(std::uint64_t token, Read question) = 0;
};

// A commit's end. Never Unknown, and never RolledBack for want of a database: the lane tries
// again and settles until one of these is certain.
struct BatchDone {
  Batch batch{};
  std::variant<Committed, RolledBack> result{};
};

struct ReadDone {
  std::uint64_t token = 0;
  Result<ReadAnswer> answer = Error{};
};

// Answers people's reads, away from the lane.
// Thread: the loop; so are the answers.
class Questions {
 public:
  virtual ~Questions() = default;
  // kLimit: too many questions wait already.
  virtual void ask(Read question, std::function<void(Result<ReadAnswer>)> on_answer) = 0;
};

struct BatcherConfig {
  // How long the statements of a batch should take, without the COMMIT, which takes what the disk
  // takes: longer makes larger batches and more jobs a second, shorter lets an urgent claim wait
  // less behind a bulk load.
  Duration rows_time_aim = std::chrono::milliseconds{8};
  // Ends give way to starts so long, so that of many jobs due at one instant the last starts
  // sooner. Longer: more of what has ended shows as executing, and task trackers begin to send
  // results again, and to write them to their disks.
  Duration completion_wait = std::chrono::milliseconds{500};
  std::size_t rows_min = 64;
  std::size_t rows_max = 8192;
  // Rows that may wait for a commit; beyond it clients are told to slow down.
  std::size_t pending_max = 200'000;
  std::size_t pending_bytes_max = 256 * 1024 * 1024;  // of payloads, output and held requests
  // Reads, and requests that wait for one, which may be under way; as above.
  std::size_t reads_max = 20'000;

  Status validate() const;
};

// What a batch is filled with first: starts come before the ends of earlier runs, but for ends that
// have waited for too long.
enum class Urgency : std::uint8_t {
  kClaim = 0,
  kCompletion = 1,
  kRequest = 2,
  kBulk = 3,
  kHousekeeping = 4
};
inline constexpr std::size_t kUrgencies = 5;

// `refused`: the store can't take it, whatever is tried (nothing of its unit was done); else null.
using OnOutcome = std::function<void(Operation&, const Outcome&, const Error* refused)>;
// The operations of a unit, and what became of each.
using OnUnit =
    std::function<void(std::vector<Operation>&, const std::vector<Outcome>&, const Error* refused)>;
using OnRequest = std::function<void(const RequestOutcome&, const Error* refused)>;
using OnAnswer = std::function<void(Result<ReadAnswer>)>;

// What every batch says besides its operations; see Batch.
struct BatchHead {
  WallTime now{};
  std::int64_t id_high = 0;
  bool recovered = false;
  Duration lease{};
};

// Gathers what the deciders post while the lane is busy, and sends it as one transaction.
//
// A unit stays whole: all of it in one transaction. Units of one urgency keep their order.
// Outcomes come by callback on the loop, in the order of the batch.
//
// Thread: the loop.
class Batcher {
 public:
  Batcher(BatcherConfig config, StoreLane& lane, const Clock& clock, const Logger& log);

  void post(Urgency urgency, Operation operation, OnOutcome on_outcome);
  void post_unit(Urgency urgency, std::vector<Operation> operations, OnUnit on_unit);
  // The operations of a client's numbered request, with the answer to keep for a resend.
  void post_request(Urgency urgency, NumberedRequest number, std::vector<Operation> operations,
                    OnRequest on_request, OnUnit on_unit);
  void ask(Read question, OnAnswer on_answer);

  // A request of so many bytes waits, for a read or a change, before its operations are posted;
  // release() it then.
  void hold(std::size_t bytes);
  void release(std::size_t bytes);
  // The same for what may have to wait for something else than a read.
  void hold_bytes(std::size_t bytes) { pending_bytes_ += bytes; }
  void release_bytes(std::size_t bytes) { pending_bytes_ -= bytes; }

  bool is_full() const {
    return pending_rows_ >= config_.pending_max || pending_bytes_ >= config_.pending_bytes_max ||
           asked_.size() + held_requests_ >= config_.reads_max;
  }
  // kLimit: a request that comes now is to come later; it is counted.
  Status check_room();
  Error slow_down();
  // Whether so little of bulk loads waits, for the lane or a read, that the lane may soon be idle,
  // and there is time to read one before the lane needs its next batch.
  bool wants_bulk() const;
  std::int64_t slowed_down() const { return slowed_down_; }
  std::size_t pending_rows() const { return pending_rows_; }
  // Nothing waits, and nothing is under way.
  bool is_idle() const { return !is_busy_ && pending_rows_ == 0 && asked_.empty(); }
  // What was committed is known, and nothing else is under way to the store.
  bool is_settled() const { return !is_busy_; }
  // The disk is full, or a limit of the database is reached: nothing could be written lately.
  bool lacks_room() const { return lacks_room_; }

  // To be called each second: says it when the commit under way does not end for several of them.
  void watch_commit();
  bool stands_still() const { return looks_ >= kLooksMax; }

  // At the end of a turn: starts a commit if there is something to commit and the lane is free.
  void flush(const BatchHead& head);
  // The beat: a commit, even if there is nothing to commit, unless one came by itself.
  void beat();

  // From the lane. What gathered meanwhile is sent before the outcomes are told, so that the lane
  // has work while the loop acts on them. False: this session was fenced, and must decide nothing
  // any more.
  bool on_batch_done(BatchDone done, const BatchHead& next);
  void on_read_done(ReadDone done);

  // Whether any row of the log of this session is settled (Batch::log_settled).
  bool has_settled() const { return settled_log_.has_any(); }

  std::int64_t commits() const { return commits_; }
  // When the newest batch that was committed had been sent; the epoch: none was.
  SteadyTime committed_at() const { return committed_at_; }
  std::int64_t committed_operations() const { return committed_operations_; }
  Sizes sizes() const;

 private:
  // At the commit under way, by watch_commit(). Looks and not time: while the process itself is
  // stopped, no commit takes long.
  static constexpr int kLooksMax = 4;

  struct Unit {
    std::vector<Operation> operations{};
    std::optional<NumberedRequest> request{};
    std::size_t rows = 0;  // that it writes, about; never 0
    std::size_t bytes = 0;
    SteadyTime since{};
    SettledLog::Epoch epoch = 0;
    bool is_weighed = false;  // in bulk_room_, also when it is sent again
    OnOutcome on_outcome{};   // a single operation
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

  BatcherConfig config_;
  StoreLane& lane_;
  const Clock& clock_;
  const Logger& log_;
  std::deque<Unit> waiting_[kUrgencies];
  std::array<std::size_t, kUrgencies> credit_{};  // rows, for a unit that did not fit lately
  BulkRoom bulk_room_{};
  SettledLog settled_log_{};
  std::vector<Unit> in_flight_;  // their operations are in the batch under way
  std::size_t in_flight_rows_ = 0;
  bool is_busy_ = false;
  bool wants_beat_ = false;
  bool lacks_room_ = false;
  SteadyTime not_before_{};    // while it lacks room
  SteadyTime said_no_room_{};  // likewise
  std::size_t limit_;
  std::size_t limit_once_ = 0;  // smaller while a culprit is looked for
  std::size_t pending_rows_ = 0;
  std::size_t pending_bytes_ = 0;
  std::size_t held_requests_ = 0;
  std::int64_t next_number_ = 1;
  std::uint64_t next_token_ = 1;
  std::unordered_map<std::uint64_t, OnAnswer> asked_;
  SteadyTime sent_at_{};  // the batch under way
  int looks_ = 0;         // at it
  SteadyTime committed_at_{};
  std::int64_t commits_ = 0;
  std::int64_t committed_operations_ = 0;
  std::int64_t slowed_down_ = 0;
};

}  // namespace carillon::jobtracker
