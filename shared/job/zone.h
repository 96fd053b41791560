#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "carillon/result.h"
#include "carillon/time.h"

// A time zone of the system's IANA database, and conversions between instants and local times.
//
// cctz reads the database; its types stay in zone.cc. cctz keeps each loaded zone until the process
// ends, so a Zone is one pointer, and copies are cheap. A newer database on disk is used after a
// restart.
//
// Thread: any.
namespace carillon {

class Environment;

// A local time: seconds since 1970-01-01 00:00 in some zone.
using LocalTime = std::chrono::local_seconds;

// A time span with one offset from UTC. The default contains no instant and serves as an empty
// cache.
struct ZoneSpan {
  std::chrono::sys_seconds begin{};      // the first instant
  std::chrono::sys_seconds end{};        // the first instant after it
  std::chrono::seconds offset{};         // local time minus UTC
  std::chrono::seconds offset_before{};  // the offset that ended at `begin`
  bool operator==(const ZoneSpan&) const = default;

  // The start of a zone's first span and the end of its last one.
  static constexpr std::chrono::seconds kOpen{std::int64_t{1} << 60};

  bool holds(std::chrono::sys_seconds instant) const { return begin <= instant && instant < end; }
  bool is_last() const { return end.time_since_epoch() == kOpen; }
  LocalTime to_local(std::chrono::sys_seconds instant) const {
    return LocalTime{instant.time_since_epoch() + offset};
  }
  std::chrono::sys_seconds to_instant(LocalTime local) const {
    return std::chrono::sys_seconds{local.time_since_epoch() - offset};
  }
  LocalTime local_begin() const { return to_local(begin); }
  LocalTime local_end() const { return to_local(end); }
  // The local time at `begin` before the change. If it is later than local_begin(), the clocks went
  // back: local times between the two occur twice. If it is earlier, they went forward: local times
  // between the two do not exist.
  LocalTime local_before() const { return LocalTime{begin.time_since_epoch() + offset_before}; }
};

enum class LocalKind { kUnique, kSkipped, kRepeated };

// The instants of one local time in a zone.
struct LocalLookup {
  LocalKind kind = LocalKind::kUnique;
  std::chrono::sys_seconds first{};   // kRepeated: the earlier one; kSkipped: when the gap ends
  std::chrono::sys_seconds second{};  // kRepeated: the later one; otherwise the same as `first`
};

class Zone {
 public:
  // By its name in the database, like "Europe/Berlin" or "UTC", case-sensitive. Errors: paths,
  // POSIX rules ("CET-1CEST") and names that depend on the machine.
  static Result<Zone> load(std::string_view name);
  static Zone utc();

  std::string name() const;
  // The span around an instant. A change of only the abbreviation does not end a span.
  ZoneSpan span_at(std::chrono::sys_seconds instant) const;
  LocalTime to_local(std::chrono::sys_seconds instant) const;
  LocalLookup lookup(LocalTime local) const;

  bool operator==(const Zone&) const = default;

 private:
  explicit Zone(const void* handle) : handle_(handle) {}

  const void* handle_;
};

// The name of this machine's zone: the target of `etc`/localtime, else the content of
// `etc`/timezone, else "UTC".
std::string local_zone_name(const std::filesystem::path& etc = "/etc");
// The zone of this user: TZ, else this machine's.
Result<Zone> local_zone(const Environment& environment);

}  // namespace carillon
