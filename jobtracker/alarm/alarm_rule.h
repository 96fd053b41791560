#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

// What may be amiss with a node group.
enum class Condition : std::uint8_t {
  kUnserved = 1,  // jobs are due, and for that long nobody is there to run any
  kLate = 2,      // a job that is due has waited so long since its time
  kBacklog = 3,   // so many jobs are due
  kFailures = 4,  // so many percent of the runs that ended lately have failed
  kOverload = 5,  // for that long a task tracker takes no jobs, because its machine is too busy
  kOutput = 6,    // what runs write holds one of some texts
  kSilent = 7,    // an executor with runs neither registers nor answers; on without a rule
};
std::string_view word_of(Condition condition);

// "late=5m" for all groups that have none of their own; "reports/late=1h" for one;
// "reports/late=off".
struct AlarmRule {
  std::string group{};  // empty: all others
  Condition condition = Condition::kUnserved;
  bool is_off = false;
  std::int64_t limit = 0;            // jobs, or percent
  Duration time{};                   // of kUnserved, kLate and kOverload
  std::vector<std::string> words{};  // of kOutput
};

inline constexpr Duration kAlarmTimeMin = std::chrono::seconds{10};
inline constexpr std::int64_t kAlarmBacklogMax = 1'000'000;
inline constexpr std::size_t kAlarmWordsMax = 20;
inline constexpr std::size_t kAlarmWordBytesMax = 100;

// kInvalidArgument, with the fix.
Result<AlarmRule> parse_alarm_rule(std::string_view text);
// "5m", "10000 jobs", "20%"; empty: it has none, a text was written or not.
std::string limit_of(const AlarmRule& rule);

}  // namespace carillon::jobtracker
