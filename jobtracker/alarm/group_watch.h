#pragma once

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/alarm/alarm_rule.h"
#include "jobtracker/alarm/output_words.h"
#include "jobtracker/state/alarm_view.h"
#include "jobtracker/state/catalog.h"
#include "jobtracker/state/executor_silence.h"
#include "jobtracker/state/executors.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/state/workers.h"
#include "jobtracker/store/batcher.h"
#include "shared/base/sizes.h"
#include "shared/wire/alarm_message.h"

namespace carillon::jobtracker {

// Shortest time between two looks at the node groups. A slow answer of the store makes it longer.
inline constexpr Duration kGroupLooks = std::chrono::seconds{10};
// kFailures counts the runs that ended in this window; kRunsMin of them at least.
inline constexpr Duration kFailureWindow = std::chrono::minutes{5};
inline constexpr std::int64_t kFailureRunsMin = 20;

// Detects when a node group gets into a bad state by the operator's rules, and when that ends.
// Reports each change once, while this process owns the group. The owner of a group's first
// partition watches the waiting jobs of all its partitions and the load of its task trackers. Each
// job tracker watches failures and output of the runs that report to it.
//
// Thread: the loop.
class GroupWatch {
 public:
  using Tell = std::function<void(GroupId group, wire::AlarmCondition condition)>;
  struct Ends {
    std::int64_t runs = 0;
    std::int64_t failed = 0;
  };
  struct Counted {
    SteadyTime until{};
    Ends ends{};
  };
  struct Found {
    SteadyTime at{};
    std::string what{};
  };
  // State that is not in the store, by whole group.
  struct Memory {
    std::map<GroupId, SteadyTime> unserved_since{};
    std::map<SessionId, SteadyTime> overloaded_since{};
    std::map<GroupId, Found> found{};                   // the last match in the output of its runs
    std::map<GroupId, Ends> ends{};                     // since the last look
    std::map<GroupId, std::deque<Counted>> past{};      // earlier looks
    std::map<GroupId, std::set<std::string>> silent{};  // executors that were reported as silent
    std::map<std::pair<GroupId, Condition>, WallTime> said{};
  };

  GroupWatch(const std::vector<AlarmRule>& rules, Catalog& catalog, const Ownership& ownership,
             const Workers& workers, const Executors& executors, const ExecutorSilence& silence,
             Questions& questions, SchedulingClock& clock, Tell tell);

  Memory take_memory() { return std::exchange(memory_, {}); }
  // Inherits the state of the previous session, except for groups that another job tracker owns
  // now. Call it when the ownership is known.
  void go_on_from(Memory memory);

  // A run of the group has ended.
  void count(GroupId part, bool has_failed);
  // Whether output of the group's runs is searched.
  bool watches_output(GroupId group) const;
  // A run of this task wrote this output. Requires: watches_output(group).
  void wrote(GroupId group, const std::string& task_id, const OutputRow& output);
  // Looks at the node groups if it is time.
  void run_once();
  std::vector<FiringAlarm> firing() const;
  Sizes sizes() const {
    return {{"unserved_since", memory_.unserved_since.size()},
            {"overloaded_since", memory_.overloaded_since.size()},
            {"ends", memory_.ends.size()},
            {"past", memory_.past.size()},
            {"found", memory_.found.size()},
            {"silent", memory_.silent.size()},
            {"words", words_.size()},
            {"said", memory_.said.size()}};
  }

 private:
  struct Seen {
    std::int64_t due = 0;
    WallTime due_since{};
    std::int64_t nodes = 0;
    bool is_push = false;
  };

  const AlarmRule* rule_of(const Group& group, Condition condition) const;
  std::vector<GroupId> watched() const;
  void judge(const std::vector<CountAnswer::PerGroup>& counts);
  void judge(const Group& group, const Seen& seen);
  void judge_failures(const Group& group);
  void judge_overload();
  void judge_output(const Group& group);
  void judge_silence();
  void set(const Group& group, const AlarmRule& rule, bool is_so, const std::string& measure);

  // By group in lower case (empty: all others) and condition.
  std::map<std::pair<std::string, Condition>, AlarmRule> rules_;
  Catalog& catalog_;
  const Ownership& ownership_;
  const Workers& workers_;
  const Executors& executors_;
  const ExecutorSilence& silence_;
  Questions& questions_;
  SchedulingClock& clock_;
  Tell tell_;
  bool counts_ends_ = false;
  bool is_asking_ = false;
  SteadyTime next_look_;
  Memory memory_{};
  std::map<GroupId, OutputWords> words_{};
};

}  // namespace carillon::jobtracker
