#include "tests/bench/end_check.h"

#include <algorithm>

#include "shared/base/assert.h"

namespace carillon::bench {
namespace {

// How often something was wrong, and with what the first time.
struct Fault {
  const char* what = "";
  std::size_t count = 0;
  std::string example{};

  void add(const std::string& name) {
    if (count++ == 0) example = name;
  }
};

}  // namespace

Status check_each_succeeded_once(std::vector<std::int64_t> expected, std::vector<End> ends,
                                 const std::function<std::string(std::int64_t)>& name) {
  std::sort(expected.begin(), expected.end());
  CARILLON_ASSERT(std::adjacent_find(expected.begin(), expected.end()) == expected.end(),
                  "a benchmark expects no end twice");
  std::sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.key < b.key; });
  Fault missing{.what = "never ended"};
  Fault twice{.what = "ended twice"};
  Fault unsuccessful{.what = "did not succeed"};
  Fault unexpected{.what = "ended that was not submitted"};
  auto next = expected.begin();
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const auto& [key, state] = ends[i];
    if (state != "succeeded") unsuccessful.add(name(key) + " " + state);
    if (i > 0 && ends[i - 1].key == key) {
      if (i == 1 || ends[i - 2].key != key) twice.add(name(key));
      continue;
    }
    while (next != expected.end() && *next < key) missing.add(name(*next++));
    if (next != expected.end() && *next == key) {
      ++next;
    } else {
      unexpected.add(name(key));
    }
  }
  while (next != expected.end()) missing.add(name(*next++));
  std::string faults;
  for (const Fault& fault : {missing, twice, unsuccessful, unexpected}) {
    if (fault.count == 0) continue;
    faults += (faults.empty() ? "" : ", ") + std::to_string(fault.count) + " " + fault.what +
              " (first: " + fault.example + ")";
  }
  if (faults.empty()) return {};
  return Error{ErrorCode::kCorrupt, "of " + std::to_string(expected.size()) + " jobs: " + faults};
}

}  // namespace carillon::bench
