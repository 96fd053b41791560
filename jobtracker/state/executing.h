#pragma once

#include <set>
#include <string>
#include <unordered_map>

#include "carillon/time.h"
#include "jobtracker/store/rows.h"
#include "shared/base/assert.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

// A job is handed out at most this long before it is due, unless the clock was set.
inline constexpr Duration kHandedOutEarlyMax = std::chrono::seconds{3};

enum class Phase : std::uint8_t {
  kClaiming,  // the claim is being stored
  kHeld,      // claimed; waits until it is due or can be sent
  kSent,      // sent to its worker
  kEnding,    // its end is being stored
};

struct Executing {
  ExecutingJob row{};
  Phase phase = Phase::kClaiming;
  std::int64_t handout = 0;  // the hand-out that contained it; 0: from an earlier session
  std::int64_t pull = 0;     // the newest pull of its worker at that time
  WallTime handed_out_at{};
  SteadyTime early_until{};       // kSent: when it starts; epoch: it may have started
  std::int64_t executor_log = 0;  // the log id of its call, if it has one and is not a broadcast
  int cancels = 0;                // cancellations that are being stored
  bool is_ready = false;          // kHeld: sent in this turn
  bool is_not_there = false;      // its worker does not have it, and never started it
};

// The executing table in memory: all rows of the store, and pending changes. Thread: the loop.
class ExecutingTable {
 public:
  Executing& put(ExecutingJob row, Phase phase) {
    CARILLON_ASSERT(jobs_.count(row.job.id) == 0, "a job is claimed once at a time");
    by_session_[row.session].insert(row.job.id);
    if (is_suspect(row.job)) ++suspects_[row.session];
    spec_bytes_ += row.job.spec.size();
    if (row.job.definition) by_definition_[row.job.definition].insert(row.job.id);
    const JobId id = row.job.id;
    return jobs_.insert_or_assign(id, Executing{.row = std::move(row), .phase = phase})
        .first->second;
  }
  void erase(JobId id) {
    const auto found = jobs_.find(id);
    if (found == jobs_.end()) return;
    const ExecutingJob& row = found->second.row;
    take_out(by_session_, row.session, id);
    if (is_suspect(row.job) && --suspects_.at(row.session) == 0) suspects_.erase(row.session);
    if (row.job.definition) take_out(by_definition_, row.job.definition, id);
    spec_bytes_ -= row.job.spec.size();
    jobs_.erase(found);
  }
  // Requires: the entry had no spec.
  void leave_spec(Executing& entry, const std::string& spec) {
    entry.row.job.spec = spec;
    spec_bytes_ += spec.size();
  }
  // Bytes of all specs.
  std::size_t spec_bytes() const { return spec_bytes_; }
  Executing* find(JobId id) {
    const auto found = jobs_.find(id);
    return found == jobs_.end() ? nullptr : &found->second;
  }
  // The entry, if this attempt executes.
  Executing* find(JobId id, std::int32_t attempt) {
    Executing* found = find(id);
    return found != nullptr && found->row.job.attempt == attempt ? found : nullptr;
  }
  // A copy, so that the caller may end jobs while it iterates.
  std::vector<JobId> of_session(SessionId session) const { return copy_of(by_session_, session); }
  // The same; the definition may be removed.
  std::vector<JobId> of_definition(DefinitionId definition) const {
    return copy_of(by_definition_, definition);
  }
  bool has_suspect(SessionId session) const {
    return !suspects_.empty() && suspects_.contains(session);
  }
  bool has_any(SessionId session) const { return by_session_.contains(session); }
  // Whether fewer than `than` of its jobs have not ended.
  bool has_fewer(SessionId session, std::int32_t than) const {
    const auto found = by_session_.find(session);
    if (found == by_session_.end()) return than > 0;
    for (auto id = found->second.begin(); than > 0 && id != found->second.end(); ++id) {
      if (jobs_.at(*id).phase != Phase::kEnding) --than;
    }
    return than > 0;
  }
  std::vector<SessionId> sessions() const {
    std::vector<SessionId> all;
    for (const auto& [session, jobs] : by_session_) all.push_back(session);
    return all;
  }
  const std::unordered_map<JobId, Executing>& all() const { return jobs_; }
  std::size_t size() const { return jobs_.size(); }
  Sizes sizes() const {
    return {{"by_session", by_session_.size()},
            {"suspects", suspects_.size()},
            {"by_definition", by_definition_.size()},
            {"spec_bytes", spec_bytes_}};
  }

 private:
  template <class Key>
  using Index = std::unordered_map<Key, std::set<JobId>>;

  template <class Key>
  static void take_out(Index<Key>& index, Key key, JobId id) {
    const auto found = index.find(key);
    found->second.erase(id);
    if (found->second.empty()) index.erase(found);
  }
  template <class Key>
  static std::vector<JobId> copy_of(const Index<Key>& index, Key key) {
    const auto found = index.find(key);
    if (found == index.end()) return {};
    return {found->second.begin(), found->second.end()};
  }

  std::unordered_map<JobId, Executing> jobs_;
  Index<SessionId> by_session_;
  // Number of its jobs that were lost before; never 0.
  std::unordered_map<SessionId, std::int32_t> suspects_;
  Index<DefinitionId> by_definition_;
  std::size_t spec_bytes_ = 0;
};

}  // namespace carillon::jobtracker
