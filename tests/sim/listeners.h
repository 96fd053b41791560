#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/sim/cluster.h"

namespace carillon::sim {

// Those who want to know how jobs end: each client listens for each client group. What they are
// told is held against what was stored for them: nothing else, and nothing goes before somebody was
// told of it.
//
// Thread: the simulation's.
class Listeners {
 public:
  static constexpr const char* kGroups[] = {"billing", "ops"};

  Listeners(Cluster& cluster, Broken broken) : cluster_(cluster), broken_(std::move(broken)) {}

  // Each life anew.
  void listen(ClientProcess& client);
  void committed(const Commit& commit);
  bool are_waited_for() const { return !waits_.empty(); }
  // That everything was told and acknowledged.
  void check_end() const;

 private:
  void ask(ClientProcess& client, const wire::FetchFeedback& next);
  void take(ClientProcess& client, wire::FetchFeedback next, const wire::Feedback& feedback);
  void stored(const jobtracker::LogEntry& entry);
  void removed(const jobtracker::RemoveFeedback& removal);

  Cluster& cluster_;
  Broken broken_;
  std::int64_t last_ = 0;
  std::map<std::int64_t, std::string> stored_;            // result -> client group
  std::set<std::pair<std::string, std::int64_t>> waits_;  // client group and result
  std::set<std::int64_t> told_;
};

}  // namespace carillon::sim
