#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "jobclient/cli/xxl_jobs.h"
#include "jobclient/cli/xxl_rows.h"
#include "shared/base/assert.h"
#include "shared/base/time_text.h"
#include "shared/wire/codec.h"
#include "tests/fuzz/text_database.h"

namespace carillon::cli {
namespace {

const std::vector<std::string>& columns() {
  static const std::vector<std::string> kColumns{"id",
                                                 "app_name",
                                                 "title",
                                                 "address_type",
                                                 "address_list",
                                                 "job_group",
                                                 "job_desc",
                                                 "author",
                                                 "alarm_email",
                                                 "schedule_type",
                                                 "schedule_conf",
                                                 "misfire_strategy",
                                                 "executor_route_strategy",
                                                 "executor_handler",
                                                 "executor_param",
                                                 "executor_block_strategy",
                                                 "executor_timeout",
                                                 "executor_fail_retry_count",
                                                 "glue_type",
                                                 "glue_source",
                                                 "child_jobid",
                                                 "trigger_status",
                                                 "trigger_next_time",
                                                 "username",
                                                 "role",
                                                 "permission",
                                                 "job_id",
                                                 "glue_remark"};
  return kColumns;
}

XxlOptions options_of(std::uint8_t choice) {
  static const Zone zone = Zone::load("Asia/Shanghai").value();
  static const WallTime now = parse_time("2026-11-21T20:00:00Z").value();
  XxlOptions options{.zone = zone, .now = now};
  if ((choice & 1U) != 0) options.dispatch = XxlDispatch::kPull;
  if ((choice & 2U) != 0) options.groups = {"billing"};
  return options;
}

void check(const XxlEntry& entry) {
  if (!entry.job.ok()) {
    CARILLON_ASSERT(!entry.job.error().message.empty(), "every refusal has a reason");
    return;
  }
  const JobSpec& job = entry.job.value();
  CARILLON_ASSERT(job.validate().ok(), "a job tracker takes what was imported");
  const auto sent = wire::decode_spec(wire::encode_spec(job));
  CARILLON_ASSERT(sent.ok() && sent.value() == job, "it is the same at the job tracker");
  std::int64_t version = 0;
  for (const Script& script : entry.scripts) {
    CARILLON_ASSERT(script.version > version, "versions of a script grow");
    version = script.version;
  }
}

// A job tracker refuses jobs that trigger themselves, by however many steps.
void check_children(const std::vector<XxlEntry>& entries) {
  std::map<std::string, std::vector<Child>> children;
  for (const XxlEntry& entry : entries) {
    if (entry.job.ok()) children[entry.task_id] = entry.job.value().children;
  }
  // Takes those without children away until no more go.
  while (!children.empty()) {
    const auto left = std::erase_if(children, [&children](const auto& parent) {
      return std::none_of(parent.second.begin(), parent.second.end(),
                          [&](const Child& child) { return children.contains(child.task_id); });
    });
    CARILLON_ASSERT(left > 0, "no job leads back to itself");
  }
}

}  // namespace
}  // namespace carillon::cli

// Feeds a database that is made of the input to the import from xxl-job. The first byte chooses
// options; for the others see TextDatabase.
// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon::cli;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  carillon::fuzz::TextDatabase database(text, columns());
  const auto read = read_xxl_job(database);
  if (!read.ok()) {
    CARILLON_ASSERT(!read.error().message.empty(), "every refusal has a reason");
    return 0;
  }
  const XxlOptions options = options_of(data[0]);
  const std::vector<XxlEntry> entries = read_xxl_jobs(read.value(), options);
  CARILLON_ASSERT(entries.size() <= read.value().jobs.size(), "no entry is made of nothing");
  for (const XxlEntry& entry : entries) check(entry);
  check_children(entries);
  (void)what_xxl_leaves(read.value(), options);  // Whatever it says, it must return.
  return 0;
}
