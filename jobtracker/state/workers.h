#pragma once

#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

struct UnseenHandOut {
  std::int32_t jobs = 0;
  SteadyTime sent_at{};
};

// A task tracker's session, and its credit.
struct Worker {
  SessionId session{};
  std::string peer{};  // where frames for it go
  std::string name{};
  GroupId group{};
  std::int32_t threads = 1;
  std::map<std::string, std::string> labels{};
  std::string version{};
  WallTime started_at{};
  SteadyTime heard_at{};  // the lease counts from here

  std::int64_t pull = 0;    // the newest pull's number
  std::int32_t window = 0;  // what it asked for
  // Jobs claimed for it and not sent yet.
  std::int32_t reserved = 0;
  std::int64_t handout_last = 0;
  // The newest hand-out that a pull of it knew of.
  std::int64_t handout_seen = 0;
  // Hand-outs that its newest pull did not know of yet, by number.
  std::map<std::int64_t, UnseenHandOut> unseen{};
  std::int32_t unseen_jobs = 0;

  // How many jobs may be claimed for it now. A pull replaces the credit, less what is on the way,
  // so that messages that cross never hand it more than it asked for.
  std::int32_t credit() const { return window - unseen_jobs - reserved; }

  void take_pull(const wire::Pull& message) {
    if (message.number <= pull) return;  // An old one, overtaken.
    pull = message.number;
    window = message.window;
    handout_seen = std::max(handout_seen, message.handout_seen);
    while (!unseen.empty() && unseen.begin()->first <= message.handout_seen) forget_first_unseen();
  }
  // Hand-outs sent before this were lost on the way: if they arrive after all, they are refused,
  // because they answer a pull that is older than the lease.
  void forget_unseen(SteadyTime sent_before) {
    while (!unseen.empty() && unseen.begin()->second.sent_at < sent_before) forget_first_unseen();
  }
  std::int64_t number_handout(std::int32_t jobs, SteadyTime now) {
    ++handout_last;
    unseen[handout_last] = {.jobs = jobs, .sent_at = now};
    unseen_jobs += jobs;
    return handout_last;
  }

 private:
  void forget_first_unseen() {
    unseen_jobs -= unseen.begin()->second.jobs;
    unseen.erase(unseen.begin());
  }
};

// The task trackers that are believed to be alive.
// Thread: the loop.
class Workers {
 public:
  Worker& put(Worker worker) {
    const SessionId session = worker.session;
    auto& place = workers_[session];
    if (place) remove_from_group(*place);
    place = std::make_unique<Worker>(std::move(worker));
    by_group_[place->group].push_back(place.get());
    return *place;
  }
  Worker* find(SessionId session) {
    const auto found = workers_.find(session);
    return found == workers_.end() ? nullptr : found->second.get();
  }
  void erase(SessionId session) {
    const auto found = workers_.find(session);
    if (found == workers_.end()) return;
    remove_from_group(*found->second);
    workers_.erase(found);
  }
  // The group's workers in turn, so that equals share the load.
  Worker* next_with_credit(GroupId group, std::int32_t credit_min) {
    const auto found = by_group_.find(group);
    if (found == by_group_.end()) return nullptr;
    auto& members = found->second;
    std::size_t& turn = turn_[group];
    for (std::size_t i = 0; i < members.size(); ++i) {
      turn = (turn + 1) % members.size();
      if (members[turn]->credit() >= credit_min) return members[turn];
    }
    return nullptr;
  }
  const std::unordered_map<SessionId, std::unique_ptr<Worker>>& all() const { return workers_; }
  std::size_t count(GroupId group) const {
    const auto found = by_group_.find(group);
    return found == by_group_.end() ? 0 : found->second.size();
  }

 private:
  void remove_from_group(Worker& worker) {
    auto& members = by_group_[worker.group];
    std::erase(members, &worker);
    if (members.empty()) by_group_.erase(worker.group);
  }

  std::unordered_map<SessionId, std::unique_ptr<Worker>> workers_;
  std::unordered_map<GroupId, std::vector<Worker*>> by_group_;
  std::unordered_map<GroupId, std::size_t> turn_;
};

}  // namespace carillon::jobtracker
