#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "carillon/result.h"

namespace carillon::bench {

// A row of the history, as far as a check needs it. The key is a job id, or stands for a schedule
// and the time of a fire.
struct End {
  std::int64_t key = 0;
  std::string state{};
};

// Whether each of `expected` has succeeded, with one row and no more, and nothing else has ended.
// The error counts what is wrong, and gives an example by `name`. `expected` holds no key twice.
Status check_each_succeeded_once(std::vector<std::int64_t> expected, std::vector<End> ends,
                                 const std::function<std::string(std::int64_t)>& name);

}  // namespace carillon::bench
