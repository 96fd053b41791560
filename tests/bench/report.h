#pragma once

#include <string>
#include <vector>

#include "tests/bench/workload.h"

namespace carillon::bench {

// The same figures, measured once or several times.
struct Report {
  std::string workload{};
  std::string store{};
  std::string durability{};
  std::vector<std::string> settings{};  // "jobs=20000"
  std::string machine{};
  std::vector<Figures> rounds{};  // each with the same figures in the same order
};

// For people: a line a figure, each with what a commit survives.
std::string to_text(const Report& report);
// One object for programs.
std::string to_json(const Report& report);

}  // namespace carillon::bench
