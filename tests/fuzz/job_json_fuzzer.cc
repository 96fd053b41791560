#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/assert.h"
#include "shared/base/utf8.h"
#include "shared/wire/spec_json.h"

namespace carillon::wire {
namespace {

// As spec_to_json() writes it.
JobSpec in_milliseconds(JobSpec spec) {
  using std::chrono::floor;
  using std::chrono::milliseconds;
  spec.schedule.at = floor<milliseconds>(spec.schedule.at);
  if (spec.schedule.first) spec.schedule.first = floor<milliseconds>(*spec.schedule.first);
  return spec;
}

}  // namespace
}  // namespace carillon::wire

// Feeds any bytes to the reader of jobs as JSON. A job that it takes comes out the same after it
// was written, and what it refuses is refused with a reason.
// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon::wire;  // NOLINT(google-build-using-namespace): one function
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto spec = spec_from_json(text);
  const NamedTask task = task_named_in(text);
  if (!spec.ok()) {
    CARILLON_ASSERT(!spec.error().message.empty(), "every refusal has a reason");
    return 0;
  }
  CARILLON_ASSERT(task.task_id == spec.value().task_id && task.group == spec.value().group,
                  "a task that was read is named the same");
  const std::string written = spec_to_json(spec.value());
  CARILLON_ASSERT(carillon::is_utf8(written), "JSON is UTF-8");
  if (!spec.value().validate().ok()) return 0;
  const auto again = spec_from_json(written);
  CARILLON_ASSERT(again.ok(), "what was written can be read");
  CARILLON_ASSERT(again.value() == in_milliseconds(spec.value()), "a job comes out the same");
  return 0;
}
