#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "jobclient/submit/requests.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/random.h"
#include "shared/base/sizes.h"
#include "shared/outbox/entry.h"

// Submissions that no job tracker could be given, on disk until one can: puts them into the outbox,
// and delivers what lies there, also what processes that died have left.
//
// Delivery is in the order in which they were stored, whichever processes did, one message at a
// time, as many entries in it as fit. Before it is sent its
// entries get its number, on disk: whoever sends them again, in whatever process, sends the same
// message with the same number, and the tracker answers as the first time. A tracker keeps an
// answer for seven days; what was sent longer ago and never answered is set aside, since nobody
// could tell whether it runs already.
//
// A message that the tracker does not take is sent again entry by entry; an entry that it does not
// take is set aside, and the rest goes on. So is each job that is not accepted. What became of each
// job is told once.
//
// While something lies there, this process's own changing requests wait behind it.
//
// Thread: the loop.
namespace carillon {

// Where a job client with that data folder keeps them.
std::string submissions_folder(const std::string& data);

// Those that were not accepted and that nobody has seen yet, as far as no client holds them.
// outbox::visit_set_aside() with answers.
void visit_refused_submits(const std::string& data, const Clock& clock,
                           const std::function<bool(const std::vector<SubmitAnswer>&)>& show);

// After a count of stored submissions, which are not jobs: how many of these one may be.
std::string jobs_of_each();

// How many jobs are stored for exactly these trackers, which are removed then; likewise.
Result<std::int64_t> discard_stored_submits(const std::string& data,
                                            const std::vector<std::string>& trackers,
                                            const Clock& clock);

// What may wait in memory for the disk; more answers kLimit.
inline constexpr std::size_t kUnstoredBytesMax = 64 * 1024 * 1024;

class StoredSubmits {
 public:
  using OnDelivered = std::function<void(const SubmitAnswer&)>;
  using FlushDone = std::function<void(Result<FlushAnswer>)>;

  // `entries` and `last_id` of the outbox behind `writer`. The references must outlive this.
  StoredSubmits(outbox::OutboxWriter& writer, std::int64_t entries, std::int64_t last_id,
                Requests& requests, const Clock& clock, Random& random, OnDelivered on_delivered);

  // For Requests::store_with().
  void store(UnansweredSubmit submit);

  // To be called in each turn: what was done, and what is next.
  void take_done();
  void start_next();
  std::optional<SteadyTime> next_due() const;

  // When nothing is left: how many were delivered since. kUnavailable when none was for so long,
  // without a connection and with one.
  void flush(Duration connect, Duration answer, FlushDone done);

  // Answers whoever waits. Requires: the writer has finished.
  void close();
  Sizes sizes() const {
    return {{"adding", adding_.size()},
            {"page", page_.size()},
            {"jobs_in_entry", jobs_in_entry_.size()},
            {"flushes", flushes_.size()},
            {"next", next_.add.size() + next_.remove.size()}};
  }

 private:
  struct Adding {
    UnansweredSubmit submit{};
    std::vector<SubmitAnswer> answers{};
  };
  struct Flush {
    Duration connect{};
    Duration answer{};
    SteadyTime waits_since{};  // for anything to be delivered
    FlushAnswer before{};      // what was counted until it began
    FlushDone done{};
  };
  enum class Phase { kIdle, kNumbering, kSending };

  void on_added(const outbox::WorkDone& done);
  bool has_entries() const { return left_ > 0 || !adding_.empty(); }
  void read_page_again();
  void prepare_delivery();
  bool is_same_message(const outbox::Entry& entry) const;
  void deliver();
  void on_answer(Result<wire::Message> answer);
  void on_answers(wire::Submitted&& submitted);
  void on_refused(const Error& error);
  void set_aside(const std::string& reason);
  void try_again_later();
  void tell(const SubmitAnswer& answer);
  void end_flushes();
  SteadyTime ends_at(const Flush& flush) const;

  outbox::OutboxWriter& writer_;
  Requests& requests_;
  const Clock& clock_;
  const Logger log_{"outbox"};
  const OnDelivered on_delivered_;
  const std::int64_t client_;  // of messages that are made here
  std::int64_t last_sequence_ = 0;
  std::int64_t last_id_;
  std::int64_t left_;  // on disk

  outbox::Work next_{};
  bool is_busy_ = false;       // the writer
  std::deque<Adding> adding_;  // those under way first
  std::size_t adding_bytes_ = 0;

  std::deque<outbox::Entry> page_;  // the oldest, as far as they were loaded
  bool is_page_stale_ = false;      // may not be the oldest any more
  Phase phase_ = Phase::kIdle;
  std::size_t in_message_ = 0;              // entries at the front of the page
  std::vector<std::size_t> jobs_in_entry_;  // of those
  wire::Submit message_{};
  std::size_t alone_ = 0;  // so many entries at the front go one by one
  SteadyTime retry_at_{};
  bool was_connected_ = false;
  FlushAnswer counted_{};
  std::string last_failure_{};
  std::string last_refusal_{};  // why nothing was taken, since the last that was
  std::deque<Flush> flushes_;
};

}  // namespace carillon
