#include <cstddef>
#include <cstdint>
#include <string_view>

#include "shared/base/assert.h"
#include "shared/job/cron.h"
#include "shared/job/cron_note.h"

// Feeds any bytes to the cron parser; what it accepts is asked for some fires under every DST rule,
// which must come in order and be told apart from times that do not match.
// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon;  // NOLINT(google-build-using-namespace): one function
  static const Zone zones[] = {Zone::utc(), Zone::load("America/New_York").value(),
                               Zone::load("Pacific/Apia").value()};
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const auto cron = Cron::parse(text);
  if (!cron.ok()) {
    CARILLON_ASSERT(!cron.error().message.empty(), "every refusal has a reason");
    return 0;
  }
  for (const Zone& zone : zones) {
    for (const DstRule rule : {DstRule::kAuto, DstRule::kSkip, DstRule::kOnce, DstRule::kTwice}) {
      WallTime last{std::chrono::sys_days{std::chrono::year{2011} / 12 / 29}};
      ZoneSpan span;
      for (int i = 0; i < 4; ++i) {
        const auto fire = cron.value().next(last, zone, rule, span);
        if (!fire) break;
        CARILLON_ASSERT(*fire > last, "a fire is strictly later than the time asked from");
        const LocalTime local = zone.to_local(std::chrono::floor<std::chrono::seconds>(*fire));
        CARILLON_ASSERT(cron.value().matches(local) ||
                            dst_note(*fire, zone, cron.value()).starts_with("replaces"),
                        "a fire matches its expression or stands for one that was skipped");
        last = *fire;
      }
    }
  }
  return 0;
}
