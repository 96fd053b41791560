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
  // An executor that registers itself is out of service after this time without a registration:
  // three usual periods.
  Duration expiry = std::chrono::seconds{90};
  // After a start, all executors in service get this time to register, because they had no admin to
  // register at.
  Duration first_patience = std::chrono::seconds{40};
  // With a shared store: interval for reading registrations that other job trackers stored.
  Duration look = std::chrono::seconds{1};
};

// Knows the executors: accepts registrations for all groups, stores them and then answers. An app
// name is a node group, which is created by the first registration.
//
// Thread: the loop.
class ExecutorRegistry {
 public:
  // `on_change`: the executors of a group have changed; the address is set if one registered.
  // `on_doubt`: an executor may have restarted or left.
  ExecutorRegistry(ExecutorRegistryConfig config, Executors& executors, Ownership& ownership,
                   GroupMaker& groups, Batcher& batcher, SchedulingClock& clock, const Logger& log,
                   std::function<void(GroupId, const std::string& address)> on_change,
                   std::function<void(GroupId, const std::string& address)> on_doubt);

  void start(const StartAnswer& found);
  void take(ExecutorRegistration registration, OnStored done);
  // Sets the list by hand: only these executors, in this order. Without addresses, executors
  // register. The token is sent with each call; without a value it stays unchanged. `audit` is
  // stored with it.
  void add(GroupId group, const std::vector<std::string>& list, std::optional<std::string> token,
           AuditRow audit, OnStored done);
  // Removes the executor group; the next registration creates it again.
  void remove_group(GroupId group, AuditRow audit, OnStored done);
  // Stores an observation: it accepts calls at /trigger, or it has reported itself as busy.
  void learn(GroupId group, const std::string& address, bool ExecutorRow::*fact, bool is_so);
  // Called every half second: removes expired executors and reads those of other job trackers.
  void run_once();
  Sizes sizes() const {
    return {{"seen", seen_.size()}, {"unlisted", unlisted_.size()}, {"leaving", leaving_.size()}};
  }

 private:
  // Observations of an executor in service by steady time, because the clock may be set.
  struct Seen {
    Rhythm rhythm{};
    SteadyTime at{};  // last registration
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
  // Registered although not listed, and it was logged.
  std::set<std::pair<GroupId, std::string>> unlisted_;
  std::set<std::pair<GroupId, std::string>> leaving_;  // being removed from the store
  SteadyTime started_at_{};
  SteadyTime looked_at_{};
  bool is_looking_ = false;
};

}  // namespace carillon::jobtracker
