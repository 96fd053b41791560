#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobclient/cli/lts_jobs.h"
#include "jobclient/cli/lts_rows.h"
#include "shared/base/assert.h"
#include "shared/base/time_text.h"
#include "shared/wire/codec.h"
#include "tests/fuzz/text_database.h"

namespace carillon::cli {
namespace {

LtsOptions options_of(std::uint8_t choice) {
  static const Zone zone = Zone::load("Asia/Shanghai").value();
  static const WallTime now = parse_time("2026-11-21T20:00:00Z").value();
  LtsOptions options{.zone = zone, .now = now};
  if ((choice & 1U) != 0) options.handler_from = "handler";
  if ((choice & 2U) != 0) options.shell = "true";
  if ((choice & 4U) != 0) options.replace = true;
  return options;
}

void check(const LtsEntry& entry, const LtsOptions& options,
           std::set<std::pair<std::string, std::string>>& tasks) {
  if (!entry.job.ok()) {
    CARILLON_ASSERT(!entry.job.error().message.empty(), "every refusal has a reason");
    return;
  }
  JobSpec job = entry.job.value();
  CARILLON_ASSERT(job.validate().ok(), "a job tracker takes what was imported");
  CARILLON_ASSERT(tasks.emplace(job.group, job.task_id).second, "no two rows become one job");
  const bool repeats = job.schedule.kind == ScheduleKind::kEvery;
  CARILLON_ASSERT(!repeats || *job.schedule.first > options.now,
                  "a repeat goes on with a fire that is to come");
  CARILLON_ASSERT(!repeats || !job.schedule.count || *job.schedule.count > 0,
                  "a repeat that has ended is not imported");
  job.replace_on_exist = false;  // belongs to the request
  const auto sent = wire::decode_spec(wire::encode_spec(job));
  CARILLON_ASSERT(sent.ok() && sent.value() == job, "it is the same at the job tracker");
}

}  // namespace
}  // namespace carillon::cli

// Feeds a database that is made of the input to the import from LTS. The first byte chooses
// options; for the others see TextDatabase. NOLINTNEXTLINE(readability-identifier-naming): the name
// that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon::cli;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::string_view text{reinterpret_cast<const char*>(data) + 1, size - 1};
  carillon::fuzz::TextDatabase database(text, {});
  std::vector<std::string> groups;
  if ((data[0] & 8U) != 0) groups.emplace_back("orders");
  const auto rows = read_lts(database, groups);
  if (!rows.ok()) {
    CARILLON_ASSERT(!rows.error().message.empty(), "every refusal has a reason");
    return 0;
  }
  const LtsOptions options = options_of(data[0]);
  const std::vector<LtsEntry> entries = read_lts_jobs(rows.value(), options);
  CARILLON_ASSERT(entries.size() <= rows.value().size(), "no entry is made of nothing");
  std::set<std::pair<std::string, std::string>> tasks;
  for (const LtsEntry& entry : entries) check(entry, options, tasks);
  return 0;
}
