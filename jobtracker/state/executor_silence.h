#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "carillon/ids.h"
#include "shared/base/clock.h"

namespace carillon::jobtracker {

// An executor is silent after this time without a registration, an answer or a result.
inline constexpr Duration kExecutorSilent = std::chrono::seconds{90};

// The executors with runs that do not answer heartbeats, and since when. The time counts from the
// first unanswered heartbeat, not from the last answer: a job tracker that was suspended itself
// does not declare executors silent when it resumes.
//
// Thread: the loop.
class ExecutorSilence {
 public:
  using Place = std::pair<GroupId, std::string>;  // an executor's, by its address

  // A heartbeat was not answered. True: the executor is silent from now on.
  bool miss(const Place& place, SteadyTime now) {
    Quiet& quiet = quiet_.try_emplace(place, Quiet{.since = now, .last = now}).first->second;
    if (now - quiet.last > kHeartbeatsApart) quiet = {.since = now, .last = now};
    quiet.last = now;
    if (quiet.silent_since || now - quiet.since < kExecutorSilent) return false;
    quiet.silent_since = now;
    return true;
  }
  // It registered, answered or reported a result. True: it was silent.
  bool hear(const Place& place) {
    const auto found = quiet_.find(place);
    if (found == quiet_.end()) return false;
    const bool was_silent = found->second.silent_since.has_value();
    quiet_.erase(found);
    return was_silent;
  }
  // Removes executors that get no heartbeats any more.
  void tidy(SteadyTime now) {
    std::erase_if(quiet_,
                  [&](const auto& one) { return now - one.second.last > kHeartbeatsApart; });
  }

  // None: it is not silent.
  std::optional<SteadyTime> since(const Place& place) const {
    if (quiet_.empty()) return std::nullopt;
    const auto found = quiet_.find(place);
    return found == quiet_.end() ? std::nullopt : found->second.silent_since;
  }
  // The addresses of silent executors.
  std::map<GroupId, std::set<std::string>> silent() const {
    std::map<GroupId, std::set<std::string>> all;
    for (const auto& [place, quiet] : quiet_) {
      if (quiet.silent_since) all[place.first].insert(place.second);
    }
    return all;
  }
  std::size_t size() const { return quiet_.size(); }

 private:
  struct Quiet {
    SteadyTime since{};
    SteadyTime last{};
    std::optional<SteadyTime> silent_since{};
  };

  // The time between two heartbeats counts only up to this.
  static constexpr Duration kHeartbeatsApart = std::chrono::seconds{30};

  std::map<Place, Quiet> quiet_;
};

}  // namespace carillon::jobtracker
