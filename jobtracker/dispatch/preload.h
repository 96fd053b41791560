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
  // Jobs in memory, due and upcoming each; more means fewer refills and more memory. Of more that
  // come due at one instant none is claimed ahead.
  std::size_t capacity = 30'000;
  // Of the specs held, due and upcoming each: with large payloads the capacity is smaller.
  std::size_t bytes_max = 32 * 1024 * 1024;
};

// The waiting jobs of one group that are in memory: of those that are due, the best, by priority,
// due time and creation; of those that are not, the soonest. The rest stays in the table.
//
// Invariants. Every waiting row of the table is in memory, except:
//  - due rows worse than due_bound(), if there is a bound;
//  - rows that come due after upcoming_bound(), if there is a bound.
// So best() is the best of all that is due, whenever needs_due_refill() is false or best() exists;
// unless more than `capacity` rows come due within the time of a refill: upcoming_bound() has
// passed then, and the rows after it are found by due time, a refill later.
//
// A row that was taken is the taker's: it comes back with offer(), or never.
//
// Thread: the loop.
class Preload {
 public:
  Preload(PreloadConfig config, WallTime now);

  // A row that is in the table: new, changed, or given back. Kept if it belongs in memory.
  void offer(WaitingJob job, WallTime now);
  // The row is about to leave the table, or was taken out of it.
  void forget(JobId id);
  // The same for every row of a definition.
  void forget_definition(DefinitionId id);
  // Or for all but what was triggered.
  void forget_fires(DefinitionId id);

  // Makes due what has come due.
  void advance(WallTime now);

  bool has_due() const { return !due_.empty(); }
  const WaitingJob& best() const { return due_.begin()->second; }
  WaitingJob take_best();
  // The soonest upcoming one, for claiming ahead; of one instant, the best as among due ones. None
  // where a better one of that instant may be in the table only.
  const WaitingJob* soonest() const;
  WaitingJob take_soonest();

  // When the next one comes due, of those in memory.
  std::optional<WallTime> next_due_time() const;

  // ---- filling from the table ----
  bool needs_due_refill() const {
    return due_bound_ && !due_asked_ && is_low(due_.size(), due_bytes_);
  }
  // What to ask the table for: due rows after this key.
  std::optional<HandOutKey> ask_due();
  // The answer: `through` is the key of its last row; empty: that was all there is.
  void due_loaded(std::vector<WaitingJob> jobs, std::optional<HandOutKey> through, WallTime now);
  void due_failed() { due_asked_ = false; }

  bool needs_upcoming_refill() const {
    if (!upcoming_bound_ || upcoming_asked_) return false;
    return is_low(upcoming_.size(), upcoming_bytes_) || (is_cut() && has_room());
  }
  // Whatever comes due until then is in memory.
  bool is_filled_until(WallTime time) const {
    return !upcoming_bound_ || upcoming_bound_->first > time;
  }
  DueKey ask_upcoming();
  void upcoming_loaded(std::vector<WaitingJob> jobs, std::optional<DueKey> through, WallTime now);
  void upcoming_failed() { upcoming_asked_ = false; }

  std::size_t capacity() const { return config_.capacity; }
  std::size_t due_size() const { return due_.size(); }
  std::size_t upcoming_size() const { return upcoming_.size(); }
  // Whether the table holds no due rows that memory does not.
  bool is_due_complete(WallTime now) const { return !due_bound_ && is_filled_until(now); }
  Sizes sizes() const {
    return {{"starts", starts_.size()},
            {"places", places_.size()},
            {"of_definitions", of_definitions_.size()}};
  }

 private:
  // As they are to start: due time, priority, creation.
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
  // The rest of the soonest instant may be in the table only.
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
  std::set<std::pair<DefinitionId, JobId>> of_definitions_;  // those of places_ that have one
  std::size_t due_bytes_ = 0;
  std::size_t upcoming_bytes_ = 0;
  std::optional<HandOutKey> due_bound_;   // set: due rows worse than this may be in the table only
  std::optional<DueKey> upcoming_bound_;  // set: rows later than this may be in the table only
  bool due_asked_ = false;
  std::optional<HandOutKey> due_asked_after_;  // the bound when the table was asked
  std::optional<HandOutKey> due_left_out_{};   // the best due row left in the table since then
  bool upcoming_asked_ = false;
  std::optional<DueKey> upcoming_asked_after_;
};

}  // namespace carillon::jobtracker
