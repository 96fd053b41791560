#pragma once

#include "carillon/job_spec.h"
#include "shared/base/random.h"

namespace carillon {

// The delay before the retry after the given number of failures (1 after the first). Exponential:
// base, doubled after each failure, at most cap. Jitter changes it by up to this share in either
// direction.
Duration retry_delay(const RetryPolicy& policy, int failures, Random& random);

}  // namespace carillon
