#pragma once

#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "carillon/job_spec.h"
#include "carillon/result.h"
#include "jobclient/cli/xxl_rows.h"
#include "shared/job/zone.h"

// The jobs of an xxl-job database as jobs that do the same here; docs/guide/moving-from-xxl-job.md
// says what becomes of what.
//
// Thread: any.
namespace carillon::cli {

// Who runs them here.
enum class XxlDispatch {
  kPush,  // the executors that xxl-job has called so far
  kPull   // task trackers of Carillon
};

struct XxlOptions {
  Zone zone = Zone::utc();            // of xxl-job's admin
  WallTime now{};                     // fixed rates go on with their next fire after it
  std::vector<std::string> groups{};  // only the jobs of these app names; empty: all
  std::string prefix = "xxl-";        // of task ids, before the number that xxl-job has given
  XxlDispatch dispatch = XxlDispatch::kPush;
  Duration retry_base = std::chrono::seconds{10};
  bool replace = false;
};

// What becomes of one job.
struct XxlEntry {
  XxlJob row{};
  std::string task_id{};
  std::string group{};               // its app name
  Result<JobSpec> job = Error{};     // or why it is not taken over
  std::string schedule{};            // in a few words
  bool is_suspended = false;         // stopped in xxl-job
  std::vector<std::string> notes{};  // what differs
  std::vector<Script> scripts{};     // what its script was before, the oldest first
};

std::vector<XxlEntry> read_xxl_jobs(const XxlDatabase& database, const XxlOptions& options);

// What has no place here, and is left as it is.
struct XxlLeft {
  std::string kind{};  // "group", "user"
  std::string name{};
  std::string title{};
  std::string note{};
};

std::vector<XxlLeft> what_xxl_leaves(const XxlDatabase& database, const XxlOptions& options);

}  // namespace carillon::cli
