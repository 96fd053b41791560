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

// How often node groups are looked at, at the most; an answer that takes long makes it less often.
inline constexpr Duration kGroupLooks = std::chrono::seconds{10};
// Failures are a part of the runs that ended in the last one of these, of at least so many.
inline constexpr Duration kFailureWindow = std::chrono::minutes{5};
inline constexpr std::int64_t kFailureRunsMin = 20;

// Sees when a node group is not as it should be, by the operator's rules, and when it is again. It
// says each once, as long as its process looks after the group. What waits is looked at for all
// parts of a group by who has the first one, and so is the load of its task trackers' machines;
// failures, and what runs write, by each job tracker: of the runs that report to it.
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
  // What no store knows, by whole group.
  struct Memory {
    std::map<GroupId, SteadyTime> unserved_since{};
    std::map<SessionId, SteadyTime> overloaded_since{};
    std::map<GroupId, Found> found{};                   // last, in what its runs wrote
    std::map<GroupId, Ends> ends{};                     // since the last look
    std::map<GroupId, std::deque<Counted>> past{};      // before that
    std::map<GroupId, std::set<std::string>> silent{};  // executors that were named
    std::map<std::pair<GroupId, Condition>, WallTime> said{};
  };

  GroupWatch(const std::vector<AlarmRule>& rules, Catalog& catalog, const Ownership& ownership,
             const Workers& workers, const Executors& executors, const ExecutorSilence& silence,
             Questions& questions, SchedulingClock& clock, Tell tell);

  Memory take_memory() { return std::exchange(memory_, {}); }
  // Of the last session, but for groups that are another's by now. Once it is known which are.
  void go_on_from(Memory memory);

  // A run of the group has ended so.
  void count(GroupId part, bool has_failed);
  // Whether what runs of the group write is looked through.
  bool watches_output(GroupId group) const;
  // A run of that task has written this. Requires: its group's output is.
  void wrote(GroupId group, const std::string& task_id, const OutputRow& output);
  // Looks, when it is time to.
  void run_once();
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

  // By group in lower case, empty: all others; and condition.
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
