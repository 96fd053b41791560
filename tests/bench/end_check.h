#pragma once

#include <string>
#include <vector>

#include "carillon/result.h"

namespace carillon::bench {

// A row of the history, as far as the check needs it. The key is what must end exactly once: a job
// id, or a schedule's task id with the time of a fire.
struct End {
  std::string key{};
  std::string state{};
};

// Whether each of `expected` has succeeded, with one row and no more, and nothing else has ended.
// The error counts what is wrong, and gives an example. `expected` holds no key twice.
Status check_each_succeeded_once(const std::vector<std::string>& expected,
                                 const std::vector<End>& ends);

}  // namespace carillon::bench
