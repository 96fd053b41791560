#include "shared/job/retry_delay.h"

#include <algorithm>

namespace carillon {

Duration retry_delay(const RetryPolicy& policy, int failures, Random& random) {
  Duration wait = policy.base;
  if (policy.policy == RetryBackoff::kExponential) {
    for (int i = 1; i < failures && wait < policy.cap; ++i) wait *= 2;
    wait = std::min(wait, policy.cap);
  }
  if (policy.jitter > 0) {
    const double factor = 1.0 + policy.jitter * (2.0 * random.unit() - 1.0);
    wait = Duration{static_cast<Duration::rep>(static_cast<double>(wait.count()) * factor)};
  }
  if (policy.policy == RetryBackoff::kExponential) wait = std::min(wait, policy.cap);
  return std::max(wait, Duration{0});
}

}  // namespace carillon
