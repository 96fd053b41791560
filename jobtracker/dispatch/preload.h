#pragma once

#include <climits>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobtracker/store/rows.h"
#include "shared/base/assert.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

struct PreloadConfig {
  // Most jobs in memory, due and upcoming each. More: fewer refills, more memory. If more jobs than
  // this are due at one instant, none of them is claimed ahead.
  std::size_t capacity = 30'000;
  // Limit for their specs, due and upcoming each: large payloads reduce the capacity.
  std::size_t bytes_max = 32 * 1024 * 1024;
};

// The part of a group's waiting jobs that is in memory: the best due jobs by priority, due time and
// creation, and the earliest upcoming ones. The others stay in the table.
//
// Invariants. Each waiting row of the table is in memory, except:
// - due rows worse than due_bound(), if there is a bound;
// - rows that become due after upcoming_bound(), if there is a bound.
// So best() is the best of all due jobs whenever needs_due_refill() is false or best() exists.
// Exception: more than `capacity` rows become due during one refill. upcoming_bound() has passed
// then, and the rows after it are found by due time, one refill later.
//
// A taken row belongs to the caller; offer() returns it.
//
// Thread: the loop.
class Preload {
 public:
  Preload(PreloadConfig config, WallTime now);

  // A row in the table: new, changed, or returned. Kept if it belongs in memory.
  void offer(WaitingJob job, WallTime now);
  // The row is about to leave the table, or has left it.
  void forget(JobId id);
  // The same for every row of a definition.
  void forget_definition(DefinitionId id);
  // The same for all rows except triggered runs.
  void forget_fires(DefinitionId id);

  // Moves jobs that are due now to the due ones.
  void advance(WallTime now);

  bool has_due() const { return !due_.empty(); }
  const WaitingJob& best() const { return due_.begin()->second; }
  WaitingJob take_best();
  // The earliest upcoming job, to claim it ahead; at one instant, the best in due order. None if a
  // better one of that instant may be only in the table.
  const WaitingJob* soonest() const;
  WaitingJob take_soonest();

  // The earliest due time in memory.
  std::optional<WallTime> next_due_time() const;

  // ---- filling from the table ----
  bool needs_due_refill() const {
    return due_bound_ && !due_asked_ && is_low(due_.size(), due_bytes_);
  }
  // The key to read due rows after.
  std::optional<HandOutKey> ask_due();
  // The answer. `through`: the key of its last row. Empty: the table has no more.
  void due_loaded(std::vector<WaitingJob> jobs, std::optional<HandOutKey> through, WallTime now);
  void due_failed() { due_asked_ = false; }

  bool needs_upcoming_refill() const {
    if (!upcoming_bound_ || upcoming_asked_) return false;
    return is_low(upcoming_.size(), upcoming_bytes_) || (is_cut() && has_room());
  }
  // Whether memory has all rows that become due until then.
  bool is_filled_until(WallTime time) const {
    return !upcoming_bound_ || upcoming_bound_->first > time;
  }
  DueKey ask_upcoming();
  void upcoming_loaded(std::vector<WaitingJob> jobs, std::optional<DueKey> through, WallTime now);
  void upcoming_failed() { upcoming_asked_ = false; }

  std::size_t capacity() const { return config_.capacity; }
  std::size_t due_size() const { return due_.size(); }
  std::size_t upcoming_size() const { return upcoming_.size(); }
  // Whether memory has all due rows of the table.
  bool is_due_complete(WallTime now) const { return !due_bound_ && is_filled_until(now); }
  Sizes sizes() const {
    return {{"starts", starts_.size()},
            {"places", places_.size()},
            {"of_definitions", of_definitions_.size()}};
  }

 private:
  // Start order: due time, priority, creation.
  using StartKey = std::tuple<WallTime, int, JobId>;
  static StartKey start_key(const WaitingJob& job) { return {due_time(job), job.priority, job.id}; }

  struct Place {
    bool is_due = false;
    HandOutKey due{};
    DueKey upcoming{};
  };

  void offer_due(WaitingJob job);
  void offer_upcoming(WaitingJob job);
  void remember(const WaitingJob& job, const Place& place);
  void let_go(const WaitingJob& job);
  WaitingJob take_upcoming(std::map<DueKey, WaitingJob>::iterator place);
  // Whether some rows of the earliest instant may be only in the table.
  bool is_cut() const {
    return upcoming_bound_ && !starts_.empty() &&
           upcoming_bound_->first <= std::get<WallTime>(*starts_.begin());
  }
  bool has_room() const {
    return upcoming_.size() < config_.capacity && upcoming_bytes_ < config_.bytes_max;
  }
  bool is_low(std::size_t jobs, std::size_t bytes) const {
    return jobs < config_.capacity / 5 && bytes < config_.bytes_max / 5;
  }
  static std::size_t bytes_of(const WaitingJob& job) { return job.spec.size() + 200; }

  PreloadConfig config_;
  std::map<HandOutKey, WaitingJob> due_;
  std::map<DueKey, WaitingJob> upcoming_;  // in the table's order, for the bound
  std::set<StartKey> starts_;              // of upcoming_
  std::unordered_map<JobId, Place> places_;
  std::set<std::pair<DefinitionId, JobId>> of_definitions_;  // of places_, those with a definition
  std::size_t due_bytes_ = 0;
  std::size_t upcoming_bytes_ = 0;
  std::optional<HandOutKey> due_bound_;   // set: due rows worse than this may be only in the table
  std::optional<DueKey> upcoming_bound_;  // set: rows later than this may be only in the table
  bool due_asked_ = false;
  std::optional<HandOutKey> due_asked_after_;  // the bound when the table was read
  // The best due row that was left in the table since then.
  std::optional<HandOutKey> due_left_out_{};
  bool upcoming_asked_ = false;
  std::optional<DueKey> upcoming_asked_after_;
};

}  // namespace carillon::jobtracker
