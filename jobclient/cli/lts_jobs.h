#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "jobclient/cli/lts_rows.h"
#include "shared/job/zone.h"

// The rows of an LTS database as jobs that do the same here; docs/guide/moving-from-lts.md says
// what becomes of what.
//
// Thread: any.
namespace carillon::cli {

struct LtsOptions {
  Zone zone = Zone::utc();        // of LTS's job trackers
  WallTime now{};                 // repeats go on with their next fire after it
  std::string handler{};          // empty: the name of the node group
  std::string handler_from{};     // a param that names the handler where a job has it; empty: none
  std::string shell{};            // instead of a handler: the line that runs every job
  std::int64_t retries_max = 10;  // LTS's job.max.retry.times
  Duration retry_base = std::chrono::seconds{30};  // its jobtracker.job.retry.interval.millis
  bool replace = false;
};

// What becomes of one row. The occurrences that a definition has waiting have no entry of their
// own: it makes them again.
struct LtsEntry {
  LtsRow row{};
  Result<JobSpec> job = Error{};     // or why it is not taken over
  std::string schedule{};            // in a few words
  std::int64_t waiting = 0;          // occurrences that LTS has made of this definition
  std::vector<std::string> notes{};  // what differs
};

std::vector<LtsEntry> read_lts_jobs(const std::vector<LtsRow>& rows, const LtsOptions& options);

}  // namespace carillon::cli
