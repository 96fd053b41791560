#include "shared/job/zone.h"

#include <algorithm>
#include <bit>
#include <fstream>
#include <system_error>
#include <type_traits>

#include <cctz/civil_time.h>
#include <cctz/time_zone.h>

#include "shared/base/environment.h"
#include "shared/base/utf8.h"

namespace carillon {

namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;

constexpr std::size_t kZoneNameBytesMax = 64;

// cctz's zone is a handle to data that is never freed; storing it as a pointer keeps cctz's headers
// private.
static_assert(sizeof(cctz::time_zone) == sizeof(const void*));
static_assert(std::is_trivially_copyable_v<cctz::time_zone>);

cctz::time_zone to_cctz(const void* handle) { return std::bit_cast<cctz::time_zone>(handle); }
const void* to_handle(const cctz::time_zone& zone) { return std::bit_cast<const void*>(zone); }

seconds since_epoch(const cctz::civil_second& civil) {
  return seconds{civil - cctz::civil_second{}};
}

bool is_zone_name(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '+' || c == '-' || c == '/';
  };
  if (name.empty() || name.size() > kZoneNameBytesMax || name.front() == '/') return false;
  if (!std::all_of(name.begin(), name.end(), allowed)) return false;
  // These names depend on the machine's setting, or count leap seconds.
  return name != "localtime" && name != "posixrules" && !name.starts_with("posix/") &&
         !name.starts_with("right/");
}

std::string zone_of_link(const std::filesystem::path& link) {
  constexpr std::string_view kFolder = "/zoneinfo/";
  std::error_code failed;
  const std::string target = std::filesystem::read_symlink(link, failed).string();
  const std::size_t folder = failed ? std::string::npos : target.find(kFolder);
  return folder == std::string::npos ? "" : target.substr(folder + kFolder.size());
}

std::string zone_of_file(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string name;
  file >> name;
  return name;
}

}  // namespace

Result<Zone> Zone::load(std::string_view name) {
  cctz::time_zone zone;
  if (!is_zone_name(name) || !cctz::load_time_zone(std::string{name}, &zone)) {
    return Error{ErrorCode::kInvalidArgument,
                 "time zone '" + std::string{first_bytes(name, kZoneNameBytesMax)} +
                     "' is not in this machine's time zone database; use a name like "
                     "Europe/Berlin, in this exact spelling"};
  }
  return Zone{to_handle(zone)};
}

Zone Zone::utc() { return Zone{to_handle(cctz::utc_time_zone())}; }

std::string Zone::name() const { return to_cctz(handle_).name(); }

ZoneSpan Zone::span_at(sys_seconds instant) const {
  const cctz::time_zone zone = to_cctz(handle_);
  const seconds offset{zone.lookup(instant).offset};
  ZoneSpan span{.begin = sys_seconds{-ZoneSpan::kOpen},
                .end = sys_seconds{ZoneSpan::kOpen},
                .offset = offset,
                .offset_before = offset};
  cctz::time_zone::civil_transition change;
  for (sys_seconds at = instant; zone.next_transition(at, &change);) {
    at = sys_seconds{since_epoch(change.from) - offset};
    if (change.from != change.to) {
      span.end = at;
      break;
    }
  }
  // prev_transition() searches strictly before its argument.
  for (sys_seconds at = instant + seconds{1}; zone.prev_transition(at, &change);) {
    at = sys_seconds{since_epoch(change.to) - offset};
    if (change.from != change.to) {
      span.begin = at;
      span.offset_before = since_epoch(change.from) - at.time_since_epoch();
      break;
    }
  }
  return span;
}

LocalTime Zone::to_local(sys_seconds instant) const {
  return LocalTime{since_epoch(to_cctz(handle_).lookup(instant).cs)};
}

LocalLookup Zone::lookup(LocalTime local) const {
  const auto found =
      to_cctz(handle_).lookup(cctz::civil_second{} + local.time_since_epoch().count());
  switch (found.kind) {
    case cctz::time_zone::civil_lookup::SKIPPED:
      return {LocalKind::kSkipped, found.trans, found.trans};
    case cctz::time_zone::civil_lookup::REPEATED:
      return {LocalKind::kRepeated, found.pre, found.post};
    case cctz::time_zone::civil_lookup::UNIQUE:
      break;
  }
  return {LocalKind::kUnique, found.trans, found.trans};
}

std::string local_zone_name(const std::filesystem::path& etc) {
  for (std::string name : {zone_of_link(etc / "localtime"), zone_of_file(etc / "timezone")}) {
    if (Zone::load(name).ok()) return name;
  }
  return "UTC";
}

Result<Zone> local_zone(const Environment& environment) {
  std::string name = environment.get("TZ").value_or("");
  if (name.starts_with(':')) name.erase(0, 1);  // POSIX allows it before a name.
  if (name.empty() || name == "/etc/localtime") return Zone::load(local_zone_name());
  Result<Zone> zone = Zone::load(name);
  return zone.ok() ? zone : zone.error().with_context("TZ");
}

}  // namespace carillon
