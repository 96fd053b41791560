#pragma once

#include "carillon/job_spec.h"
#include "shared/base/random.h"

namespace carillon {

// How long to wait before the retry that follows the given number of failures (1 after the first).
// Exponential: base doubled with each failure, at most cap. Jitter changes it by up to that share,
// either way.
Duration retry_delay(const RetryPolicy& policy, int failures, Random& random);

}  // namespace carillon
