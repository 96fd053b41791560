#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/push/rhythm.h"
#include "jobtracker/state/executor_requests.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/state/group_maker.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

struct ExecutorRegistryConfig {
  // One that registers itself is out of service when it has not done so for so long; three of the
  // periods in which most do.
  Duration expiry = std::chrono::seconds{90};
  // After a start, all that were in service get so long to register, as they had nobody to tell.
  Duration first_patience = std::chrono::seconds{40};
  // Where job trackers share a store: how often is looked at what others were told.
  Duration look = std::chrono::seconds{1};
};

// Which executors there are: takes registrations for any group, whoever looks after it, stores them
// and then answers. An app name is a node group, which is made when its first executor comes.
//
// Thread: the loop.
class ExecutorRegistry {
 public:
  // `on_change`: the executors of a group are others now; where it names one, that has registered.
  // `on_doubt`: it may have been restarted, or has gone.
  ExecutorRegistry(ExecutorRegistryConfig config, Executors& executors, Ownership& ownership,
                   GroupMaker& groups, Batcher& batcher, SchedulingClock& clock, const Logger& log,
                   std::function<void(GroupId, const std::string& address)> on_change,
                   std::function<void(GroupId, const std::string& address)> on_doubt);

  void start(const StartAnswer& found);
  void take(ExecutorRegistration registration, OnStored done);
  // By hand: these, in this order, and no others, whoever registers; no address: who registers. The
  // token goes with every call; none: the one that went so far.
  void add(GroupId group, const std::vector<std::string>& list, std::optional<std::string> token,
           OnStored done);
  // The group is one of executors no more, until one registers again.
  void remove_group(GroupId group, OnStored done);
  // What was seen of it: whether it takes calls at /trigger, or that it has called itself busy.
  void learn(GroupId group, const std::string& address, bool ExecutorRow::*fact, bool is_so);
  // Called about each half second: who has not registered goes, and who told others comes.
  void run_once();
  Sizes sizes() const {
    return {{"seen", seen_.size()}, {"unlisted", unlisted_.size()}, {"leaving", leaving_.size()}};
  }

 private:
  // Of one in service, as its registrations came: the clock may be set.
  struct Seen {
    Rhythm rhythm{};
    SteadyTime at{};  // when it registered last
  };

  SteadyTime registered_at(const ExecutorRow& row) const;
  void store(ExecutorRow row, OnStored done);
  void leave(ExecutorRow row, Urgency urgency, OnStored done);
  void put(ExecutorRow row);
  void remove(GroupId group, const std::string& address);
  void forget(GroupId group);
  void note_unlisted(GroupId group, const std::string& address);
  void take_all(const ExecutorsAnswer& answer);

  ExecutorRegistryConfig config_;
  Executors& executors_;
  Ownership& ownership_;
  GroupMaker& groups_;
  Batcher& batcher_;
  SchedulingClock& clock_;
  const Logger& log_;
  std::function<void(GroupId, const std::string&)> on_change_;
  std::function<void(GroupId, const std::string&)> on_doubt_;
  std::map<std::pair<GroupId, std::string>, Seen> seen_;
  std::set<std::pair<GroupId, std::string>> unlisted_;  // have registered in vain, and it was said
  std::set<std::pair<GroupId, std::string>> leaving_;   // on their way out of the store
  SteadyTime started_at_{};
  SteadyTime looked_at_{};
  bool is_looking_ = false;
};

}  // namespace carillon::jobtracker
