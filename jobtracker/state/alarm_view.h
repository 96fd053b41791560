#pragma once

#include <optional>
#include <string>

#include "carillon/ids.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

// An alarm about a node group that is on, or without a rule: a silenced group without alarms.
struct FiringAlarm {
  GroupId group{};
  std::string rule{};  // "late"
  WallTime since{};
  std::string message{};  // for people
  // No messages about the group are sent until then; none: they are sent.
  std::optional<WallTime> silenced_until{};
};

// A rule for alarms about node groups.
struct AlarmRuleText {
  std::string group{};  // empty: all groups without their own rule
  std::string rule{};
  std::string limit{};       // "5m", "20%"
  std::string recipients{};  // separated by blanks, as everybody may see them
};

}  // namespace carillon::jobtracker
