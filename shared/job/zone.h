#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "carillon/result.h"
#include "carillon/time.h"

// A time zone of the system's IANA database, and the arithmetic between instants and local times.
//
// The database is read through cctz, whose types stay in zone.cc. cctz keeps every zone that was
// ever loaded until the process ends, so a Zone is one pointer and copies are free; a newer
// database on disk is seen after a restart.
//
// Thread: any.
namespace carillon {

class Environment;

// What a clock on the wall shows: seconds since 1970-01-01 00:00 in some zone.
using LocalTime = std::chrono::local_seconds;

// A stretch of time in which a zone keeps one offset from UTC. The default holds no instant, so it
// serves as an empty cache.
struct ZoneSpan {
  std::chrono::sys_seconds begin{};      // the first instant
  std::chrono::sys_seconds end{};        // the first instant after it
  std::chrono::seconds offset{};         // local time minus UTC
  std::chrono::seconds offset_before{};  // the offset that ended at `begin`
  bool operator==(const ZoneSpan&) const = default;

  // Where a zone's first span begins and its last one ends.
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
  // What the clocks showed at `begin` before they were changed. Later than local_begin() when they
  // went back: the local times between the two are repeated. Earlier when they went forward: the
  // local times between the two do not exist.
  LocalTime local_before() const { return LocalTime{begin.time_since_epoch() + offset_before}; }
};

enum class LocalKind { kUnique, kSkipped, kRepeated };

// The instants at which the clocks of a zone show one local time.
struct LocalLookup {
  LocalKind kind = LocalKind::kUnique;
  std::chrono::sys_seconds first{};   // kRepeated: the earlier one; kSkipped: when the gap ends
  std::chrono::sys_seconds second{};  // kRepeated: the later one; otherwise the same as `first`
};

class Zone {
 public:
  // By its name in the database, "Europe/Berlin" or "UTC", upper and lower case as written there.
  // Paths, POSIX rules ("CET-1CEST") and names that depend on the machine are refused.
  static Result<Zone> load(std::string_view name);
  static Zone utc();

  std::string name() const;
  // The span around an instant. Changes of the abbreviation alone do not end a span.
  ZoneSpan span_at(std::chrono::sys_seconds instant) const;
  LocalTime to_local(std::chrono::sys_seconds instant) const;
  LocalLookup lookup(LocalTime local) const;

  bool operator==(const Zone&) const = default;

 private:
  explicit Zone(const void* handle) : handle_(handle) {}

  const void* handle_;
};

// The name of the zone that this machine keeps: what `etc`/localtime links to, else what
// `etc`/timezone says, else "UTC".
std::string local_zone_name(const std::filesystem::path& etc = "/etc");
// The zone that the clock on this user's wall keeps: TZ, else this machine's.
Result<Zone> local_zone(const Environment& environment);

}  // namespace carillon
