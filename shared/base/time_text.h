#pragma once

#include <string>
#include <string_view>

#include "carillon/result.h"
#include "carillon/time.h"

// Durations and times as text for people and JSON. No locale; time zones only as UTC and offsets.
// Thread: any.
namespace carillon {

// "250us", "500ms", "3s", "5m", "1h30m", "2d": integers with units, largest first. Errors, with the
// remedy: no unit, a negative duration, zero.
Result<Duration> parse_duration(std::string_view text);

// The shortest text that parse_duration accepts: "1h30m", "500ms". "0s" for zero.
std::string format_duration(Duration duration);

// RFC 3339: "2026-11-21T08:00:00Z", "2026-11-21T16:00:00.123456+08:00". Digits beyond microseconds
// are dropped. A leap second (":60") is the first instant of the next minute.
Result<WallTime> parse_time(std::string_view text);

// RFC 3339 in UTC, truncated to milliseconds: "2026-11-21T08:00:00.123Z".
std::string format_time(WallTime time);

}  // namespace carillon
