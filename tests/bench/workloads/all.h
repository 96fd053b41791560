#pragma once

#include "tests/bench/workload.h"

namespace carillon::bench {

Workload backlog_workload();
Workload burst_workload();
Workload cron_parse_workload();
Workload cron_workload();
Workload drain_workload();
Workload executor_workload();
Workload flow_workload();
Workload history_workload();
Workload http_lists_workload();
Workload http_submit_workload();
Workload latency_workload();
Workload limit_workload();
Workload overload_workload();
Workload push_overload_workload();
Workload push_workload();
Workload recover_workload();
Workload scale_workload();
Workload submit_workload();

}  // namespace carillon::bench
