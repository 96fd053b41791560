#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "jobtracker/store/beat_watch.h"
#include "jobtracker/store/partitions.h"
#include "jobtracker/store/rows.h"

namespace carillon::jobtracker {

// What one answer of the database shows of the job trackers that share it.
struct ClusterView {
  struct Tracker {
    SessionId session{};
    std::string name{};
    std::string address{};  // where clients and task trackers reach it
    bool yields = false;    // it is about to let go of partitions
  };
  std::vector<Tracker> trackers{};              // that have not ended, by session
  std::vector<SessionBeat> beats{};             // theirs, each lane's
  std::array<SessionId, kPartitions> owners{};  // 0: nobody
  Partitions used{};                            // those that have node groups
  Partitions inbox{};                           // those for which something waits
  std::vector<Group> groups{};                  // with higher numbers than were known
  SteadyTime asked{};                           // of this process
  SteadyTime answered{};
  SteadyTime proven{};  // when the newest beat was sent that was raised; likewise
};

}  // namespace carillon::jobtracker
