#include "tests/bench/end_check.h"

#include <unordered_map>

#include "shared/base/assert.h"

namespace carillon::bench {
namespace {

// How often something was wrong, and with what the first time.
struct Fault {
  const char* what = "";
  std::size_t count = 0;
  std::string example{};

  void add(const std::string& key) {
    if (count++ == 0) example = key;
  }
};

}  // namespace

Status check_each_succeeded_once(const std::vector<std::string>& expected,
                                 const std::vector<End>& ends) {
  std::unordered_map<std::string, int> rows;
  for (const std::string& key : expected) {
    const bool is_new = rows.emplace(key, 0).second;
    CARILLON_ASSERT(is_new, "a benchmark expects no end twice");
  }
  Fault unexpected{.what = "ended that was not submitted"};
  Fault unsuccessful{.what = "did not succeed"};
  Fault twice{.what = "ended twice"};
  Fault missing{.what = "never ended"};
  for (const End& end : ends) {
    const auto found = rows.find(end.key);
    if (found == rows.end()) {
      unexpected.add(end.key);
      continue;
    }
    if (end.state != "succeeded") unsuccessful.add(end.key + " " + end.state);
    if (++found->second == 2) twice.add(end.key);
  }
  for (const std::string& key : expected) {
    if (rows.at(key) == 0) missing.add(key);
  }
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
