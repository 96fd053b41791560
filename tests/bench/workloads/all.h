#pragma once

#include "tests/bench/workload.h"

namespace carillon::bench {

Workload cron_workload();
Workload drain_workload();
Workload latency_workload();
Workload limit_workload();
Workload submit_workload();

}  // namespace carillon::bench
