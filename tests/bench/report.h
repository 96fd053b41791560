#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/bench/workload.h"

namespace carillon::bench {

inline constexpr std::string_view kTrackerFlag = "tracker-flag";

// The same figures, measured once or several times.
struct Report {
  std::string workload{};
  std::string store{};
  std::string durability{};
  std::vector<std::string> settings{};  // "jobs=20000"
  std::string machine{};
  std::string date{};     // UTC, when it began
  std::string version{};  // of the benchmark, and of what it measures unless that is another build
  std::vector<Figures> rounds{};  // each with the same figures in the same order
};

// Of the workload, "jobs=20000" each, and of its job trackers. What is 0 by default and was not
// given is not used.
std::vector<std::string> settings_of(const Verb& workload, const Configuration& flags);

// For people: a line a figure, each with what a commit survives.
std::string to_text(const Report& report);
// One object for programs.
std::string to_json(const Report& report);

}  // namespace carillon::bench
