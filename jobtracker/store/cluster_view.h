#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "jobtracker/store/heartbeat_watch.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// One answer of the database about all job trackers that share it.
struct ClusterView {
  struct Tracker {
    SessionId session{};
    std::string name{};
    std::string address{};  // address for clients and task trackers
    bool yields = false;    // about to give up partitions
  };
  std::vector<Tracker> trackers{};              // sessions that have not ended
  std::vector<SessionHeartbeat> heartbeats{};   // their heartbeats, one per store connection
  std::array<SessionId, kPartitions> owners{};  // 0: none
  Partitions used{};                            // partitions with node groups
  Partitions inbox{};                           // partitions with inbox rows
  std::vector<Group> groups{};                  // with higher numbers than the known ones
  SteadyTime asked{};                           // by the steady clock of this process
  SteadyTime answered{};
  SteadyTime proven{};  // when the newest heartbeat that arrived was sent
};

}  // namespace carillon::jobtracker
