#pragma once

#include <string>

#include "carillon/ids.h"
#include "carillon/time.h"

namespace carillon::jobtracker {

// An alarm about a node group that is on.
struct FiringAlarm {
  GroupId group{};
  std::string rule{};  // "late"
  WallTime since{};
  std::string message{};  // for people
};

// A rule for alarms about node groups.
struct AlarmRuleText {
  std::string group{};  // empty: all groups without their own rule
  std::string rule{};
  std::string limit{};  // "5m", "20%"
};

}  // namespace carillon::jobtracker
