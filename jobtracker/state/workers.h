#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"
#include "jobtracker/state/run_kinds.h"
#include "shared/base/sizes.h"
#include "shared/wire/messages.h"

namespace carillon::jobtracker {

struct UnseenHandOut {
  std::int32_t jobs = 0;
  std::int64_t pull = 0;  // the newest when it was sent
  SteadyTime sent_at{};
};

// A task tracker's session, and its credit.
struct Worker {
  SessionId session{};
  std::string peer{};  // address for frames
  std::string name{};
  std::string address{};
  GroupId group{};
  std::vector<GroupId> parts{};  // partitions of its group that this job tracker owns
  std::int32_t threads = 1;
  RunKinds kinds = RunKinds::all();
  std::map<std::string, std::string> labels{};
  std::string version{};
  bool waits = false;        // supports jobs with a time to wait
  bool is_isolated = false;  // nearly all runs fail on it
  std::string overload{};    // overloaded, takes no jobs: "cpu 97%"
  bool is_draining = false;  // draining, takes no jobs
  bool is_drained = false;   // an operator keeps jobs from it
  WallTime started_at{};
  SteadyTime heard_at{};        // start of its lease
  std::int64_t registered = 0;  // its newest Register's number

  // Pulls up to this number were sent before it registered, perhaps over another connection, and
  // are ignored.
  std::int64_t pulls_before = 0;
  std::int64_t pull = 0;    // the newest pull's number; 0: none since it registered
  std::int32_t window = 0;  // requested number of jobs
  // Jobs claimed for it and not sent yet.
  std::int32_t reserved = 0;
  std::int64_t handout_last = 0;
  // The newest hand-out that one of its pulls confirmed.
  std::int64_t handout_seen = 0;
  // Hand-outs that its newest pull did not confirm, by number.
  std::map<std::int64_t, UnseenHandOut> unseen{};
  std::int32_t unseen_jobs = 0;
  SteadyTime handed_at{};  // the newest hand-out

  // Number of jobs that may be claimed for it. A pull replaces the credit, minus jobs in transit,
  // so that crossing messages never exceed the request.
  std::int32_t credit() const { return is_drained ? 0 : window - unseen_jobs - reserved; }

  bool has_asked() const { return pull != 0; }
  bool is_newer(const wire::Register& message) const {
    return message.number == 0 || message.number > registered;
  }
  // False: an outdated or repeated pull.
  bool take_pull(const wire::Pull& message) {
    if (message.number <= std::max(pull, pulls_before)) return false;
    pull = message.number;
    window = message.window;
    overload = message.overload;
    is_draining = message.draining;
    handout_seen = std::max(handout_seen, message.handout_seen);
    while (!unseen.empty() && unseen.begin()->first <= message.handout_seen) forget_first_unseen();
    return true;
  }
  void forget_pulls() {
    pull = 0;
    window = 0;
  }
  // Hand-outs that were sent before this time were lost, if the task tracker has received the
  // answer to a later pull. If they arrive after all, they are rejected, because they answer a pull
  // older than the lease.
  void forget_unseen(SteadyTime sent_before, std::int64_t answered) {
    const auto is_lost = [&](const UnseenHandOut& one) {
      return one.sent_at < sent_before && one.pull < answered;
    };
    while (!unseen.empty() && is_lost(unseen.begin()->second)) forget_first_unseen();
  }
  std::int64_t number_handout(std::int32_t jobs, SteadyTime now) {
    ++handout_last;
    unseen[handout_last] = {.jobs = jobs, .pull = pull, .sent_at = now};
    unseen_jobs += jobs;
    handed_at = now;
    return handout_last;
  }

 private:
  void forget_first_unseen() {
    unseen_jobs -= unseen.begin()->second.jobs;
    unseen.erase(unseen.begin());
  }
};

// Why a job waits although its group has task trackers.
inline std::string none_accepts(const std::string& group, RunKind kind) {
  return "no task tracker of group '" + group + "' accepts jobs of kind " +
         std::string(wire::word_of(kind, wire::kRunWords)) + " (see their --allow)";
}

// The live task trackers. Thread: the loop.
class Workers {
 public:
  Worker& put(Worker worker) {
    const SessionId session = worker.session;
    auto& place = workers_[session];
    if (place) remove_from_group(*place);
    place = std::make_unique<Worker>(std::move(worker));
    for (const GroupId part : place->parts) {
      members_[{part, place->kinds}].workers.push_back(place.get());
    }
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
  // The group's workers that accept exactly these kinds and for which `may` is true, round-robin,
  // so that they share the load.
  template <class May>
  Worker* next_with_credit(GroupId group, RunKinds kinds, std::int32_t credit_min, May may) {
    const auto found = members_.find({group, kinds});
    if (found == members_.end()) return nullptr;
    auto& [workers, turn] = found->second;
    for (std::size_t i = 0; i < workers.size(); ++i) {
      turn = (turn + 1) % workers.size();
      Worker* worker = workers[turn];
      if (worker->credit() >= credit_min && may(*worker)) return worker;
    }
    return nullptr;
  }
  // The sets of kinds that the group's workers accept, without duplicates, smaller sets first.
  std::vector<RunKinds> kinds(GroupId group) const {
    std::vector<RunKinds> all;
    for (auto one = members_.lower_bound({group, RunKinds{}});
         one != members_.end() && one->first.first == group; ++one) {
      all.push_back(one->first.second);
    }
    return all;
  }
  // Whether a worker of the group accepts such a job.
  bool accepts(GroupId group, const wire::SpecGlance& glance) const {
    const auto sets = kinds(group);
    return std::any_of(sets.begin(), sets.end(), [&](RunKinds set) { return set.takes(glance); });
  }
  const std::unordered_map<SessionId, std::unique_ptr<Worker>>& all() const { return workers_; }
  // Number of task trackers, without executor groups.
  std::size_t count(GroupId group) const {
    std::size_t all = 0;
    for (const RunKinds set : kinds(group)) {
      if (set != RunKinds::pushed()) all += members_.at({group, set}).workers.size();
    }
    return all;
  }
  Sizes sizes() const {
    std::size_t unseen = 0;
    std::size_t reserved = 0;
    for (const auto& [session, worker] : workers_) {
      unseen += worker->unseen.size();
      reserved += static_cast<std::size_t>(worker->reserved);
    }
    return {{"all", workers_.size()},
            {"members", members_.size()},
            {"unseen", unseen},
            {"reserved", reserved}};
  }

 private:
  struct Members {
    std::vector<Worker*> workers{};
    std::size_t turn = 0;
  };

  void remove_from_group(const Worker& worker) {
    for (const GroupId part : worker.parts) {
      const auto found = members_.find({part, worker.kinds});
      std::erase(found->second.workers, &worker);
      if (found->second.workers.empty()) members_.erase(found);
    }
  }

  std::unordered_map<SessionId, std::unique_ptr<Worker>> workers_;
  std::map<std::pair<GroupId, RunKinds>, Members> members_;
};

}  // namespace carillon::jobtracker
