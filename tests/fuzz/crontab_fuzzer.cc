#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "jobclient/cli/crontab.h"
#include "shared/base/assert.h"
#include "shared/wire/codec.h"
#include "tests/fuzz/expanded.h"

namespace carillon::cli {
namespace {

void check(const CrontabEntry& entry, std::set<std::string>& ids) {
  if (!entry.job.ok()) {
    const std::string& why = entry.job.error().message;
    CARILLON_ASSERT(!why.empty(), "every refusal has a reason");
    CARILLON_ASSERT(!why.starts_with("description"), "what was made of an entry is right");
    return;
  }
  const JobSpec& job = entry.job.value();
  CARILLON_ASSERT(job.validate().ok(), "a job tracker takes what was imported");
  CARILLON_ASSERT(ids.insert(job.task_id).second, "no two lines become one job");
  CARILLON_ASSERT(job.schedule.cron == entry.schedule, "the schedule is kept as it is written");
  const auto sent = wire::decode_spec(wire::encode_spec(job));
  CARILLON_ASSERT(sent.ok() && sent.value() == job, "it is the same at the job tracker");
}

}  // namespace
}  // namespace carillon::cli

// Feeds any bytes to the reader of crontabs, in each form.
// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon::cli;  // NOLINT(google-build-using-namespace): one function
  using Form = CrontabOptions::Form;
  const std::string text = carillon::fuzz::expanded(data, size);
  for (const Form form : {Form::kDetect, Form::kUser, Form::kSystem}) {
    const CrontabOptions options{.form = form, .users = {"root", "www"}, .tz = "UTC"};
    std::set<std::string> ids;
    std::int64_t line = 0;
    for (const CrontabEntry& entry : read_crontab(text, options)) {
      CARILLON_ASSERT(entry.line > line, "entries are in the order of their lines");
      line = entry.line;
      check(entry, ids);
    }
    CARILLON_ASSERT(line <= static_cast<std::int64_t>(text.size()), "every line takes a byte");
  }
  return 0;
}
