#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

// Bad states of a node group.
enum class Condition : std::uint8_t {
  kUnserved = 1,  // jobs have been due for this time and no task tracker is connected
  kLate = 2,      // a due job has waited for this time since its trigger time
  kBacklog = 3,   // this many jobs are due
  kFailures = 4,  // this percentage of the latest runs failed
  kOverload = 5,  // a task tracker has been overloaded for this time and takes no jobs
  kOutput = 6,    // a run wrote one of these texts
  kSilent = 7,    // an executor with runs neither registers nor answers; on by default
};
std::string_view word_of(Condition condition);

// Examples: "late=5m" for all groups without their own rule; "reports/late=1h" for one group;
// "reports/late=off".
struct AlarmRule {
  std::string group{};  // empty: all groups without their own rule
  Condition condition = Condition::kUnserved;
  bool is_off = false;
  std::int64_t limit = 0;            // jobs or percent
  Duration time{};                   // for kUnserved, kLate and kOverload
  std::vector<std::string> words{};  // for kOutput
};

inline constexpr Duration kAlarmTimeMin = std::chrono::seconds{10};
inline constexpr std::int64_t kAlarmBacklogMax = 1'000'000;
inline constexpr std::size_t kAlarmWordsMax = 20;
inline constexpr std::size_t kAlarmWordBytesMax = 100;

// Error: kInvalidArgument, with the correct form.
Result<AlarmRule> parse_alarm_rule(std::string_view text);
// "5m", "10000 jobs", "20%". Empty for kOutput and kSilent.
std::string limit_of(const AlarmRule& rule);

}  // namespace carillon::jobtracker
