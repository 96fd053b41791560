#include "shared/job/zone.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/environment.h"
#include "shared/base/time_text.h"
#include "tests/unit/shared/job/parsed.h"

namespace carillon {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;

sys_seconds instant(const std::string& text) {
  return std::chrono::floor<seconds>(parse_time(text).value());
}

// A local time, written like an instant of UTC.
LocalTime local(const std::string& text) {
  return LocalTime{instant(text + "Z").time_since_epoch()};
}

// A folder that stands for /etc.
class EtcFolder {
 public:
  EtcFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "carillon-etc-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~EtcFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }
  void link_localtime(const std::string& target) const {
    std::filesystem::create_symlink(target, path_ / "localtime");
  }
  void write_timezone(const std::string& text) const { std::ofstream(path_ / "timezone") << text; }

 private:
  std::filesystem::path path_;
};

TEST(Zone, LoadsByNameAndKeepsTheName) {
  EXPECT_EQ(zone_of("Europe/Berlin").name(), "Europe/Berlin");
  EXPECT_EQ(zone_of("America/Argentina/Buenos_Aires").name(), "America/Argentina/Buenos_Aires");
  EXPECT_EQ(zone_of("Etc/GMT+5").name(), "Etc/GMT+5");
  EXPECT_EQ(zone_of("UTC").name(), "UTC");
  EXPECT_EQ(zone_of("Europe/Berlin"), zone_of("Europe/Berlin"));
  EXPECT_NE(zone_of("Europe/Berlin"), zone_of("Europe/Paris"));
}

TEST(Zone, NamesAnUnknownZoneInTheError) {
  const auto zone = Zone::load("Europe/Atlantis");
  ASSERT_FALSE(zone.ok());
  EXPECT_EQ(zone.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(zone.error().message,
            "time zone 'Europe/Atlantis' is not in this machine's time zone database; use a name "
            "like Europe/Berlin, in this exact spelling");
}

class ZoneRefuses : public ::testing::TestWithParam<const char*> {};

TEST_P(ZoneRefuses, NamesThatAreNotInTheDatabase) { EXPECT_FALSE(Zone::load(GetParam()).ok()); }

INSTANTIATE_TEST_SUITE_P(Names, ZoneRefuses,
                         ::testing::Values("", "Europe", "europe/berlin", "CET-1CEST,M3.5.0",
                                           "/usr/share/zoneinfo/UTC", "../zoneinfo/UTC", "./UTC",
                                           "file:UTC", "libc:localtime", "localtime",
                                           "right/Europe/Berlin", "posix/Europe/Berlin", "zone.tab",
                                           "Fixed/UTC+01:00:00", "Europe/Berlin ",
                                           ":Europe/Berlin"));

TEST(Zone, RefusesOverlongNamesAndZeroBytes) {
  EXPECT_FALSE(Zone::load(std::string_view{"UTC\0", 4}).ok());
  EXPECT_FALSE(Zone::load(std::string(10'000, 'A')).ok());
}

TEST(Zone, FindsTheSpanBetweenTwoDstChanges) {
  const ZoneSpan summer = zone_of("Europe/Berlin").span_at(instant("2024-07-01T00:00:00Z"));
  EXPECT_EQ(summer.begin, instant("2024-03-31T01:00:00Z"));
  EXPECT_EQ(summer.end, instant("2024-10-27T01:00:00Z"));
  EXPECT_EQ(summer.offset, hours{2});
  EXPECT_EQ(summer.offset_before, hours{1});
  EXPECT_EQ(summer.local_before(), local("2024-03-31T02:00:00"));
  EXPECT_EQ(summer.local_begin(), local("2024-03-31T03:00:00"));
}

TEST(Zone, SpanBeginsAtTheInstantOfTheChange) {
  const Zone berlin = zone_of("Europe/Berlin");
  const sys_seconds change = instant("2024-03-31T01:00:00Z");
  EXPECT_EQ(berlin.span_at(change).begin, change);
  EXPECT_EQ(berlin.span_at(change - seconds{1}).end, change);
  EXPECT_EQ(berlin.span_at(change - seconds{1}).offset, hours{1});
}

TEST(Zone, HasOneEndlessSpanInUtc) {
  const ZoneSpan span = Zone::utc().span_at(instant("2024-07-01T00:00:00Z"));
  EXPECT_TRUE(span.is_last());
  EXPECT_TRUE(span.holds(instant("1970-01-01T00:00:00Z")));
  EXPECT_EQ(span.offset, seconds{0});
  EXPECT_EQ(Zone::utc(), zone_of("UTC"));
}

TEST(Zone, AppliesDstInTheFarFuture) {
  const Zone berlin = zone_of("Europe/Berlin");
  EXPECT_EQ(berlin.span_at(instant("2150-07-01T00:00:00Z")).offset, hours{2});
  EXPECT_EQ(berlin.span_at(instant("2150-12-01T00:00:00Z")).offset, hours{1});
}

TEST(Zone, FindsTheOneInstantOfAnOrdinaryTime) {
  const LocalLookup found = zone_of("Asia/Kathmandu").lookup(local("2024-01-01T12:00:00"));
  EXPECT_EQ(found.kind, LocalKind::kUnique);
  EXPECT_EQ(found.first, instant("2024-01-01T06:15:00Z"));
  EXPECT_EQ(found.second, found.first);
}

TEST(Zone, FindsTheEndOfTheGapForASkippedTime) {
  const LocalLookup found = zone_of("America/New_York").lookup(local("2024-03-10T02:30:00"));
  EXPECT_EQ(found.kind, LocalKind::kSkipped);
  EXPECT_EQ(found.first, instant("2024-03-10T07:00:00Z"));
}

TEST(Zone, FindsBothInstantsOfARepeatedTime) {
  const LocalLookup found = zone_of("Australia/Lord_Howe").lookup(local("2024-04-07T01:45:00"));
  EXPECT_EQ(found.kind, LocalKind::kRepeated);
  EXPECT_EQ(found.first, instant("2024-04-06T14:45:00Z"));
  EXPECT_EQ(found.second, instant("2024-04-06T15:15:00Z"));
}

TEST(Zone, SkipsTheDayMissingInApia) {
  const Zone apia = zone_of("Pacific/Apia");
  EXPECT_EQ(apia.to_local(instant("2011-12-30T09:59:59Z")), local("2011-12-29T23:59:59"));
  EXPECT_EQ(apia.to_local(instant("2011-12-30T10:00:00Z")), local("2011-12-31T00:00:00"));
  EXPECT_EQ(apia.lookup(local("2011-12-30T12:00:00")).kind, LocalKind::kSkipped);
}

TEST(LocalZoneName, ComesFromTheLocaltimeLink) {
  const EtcFolder etc;
  etc.link_localtime("/usr/share/zoneinfo/Asia/Shanghai");
  etc.write_timezone("Europe/Berlin\n");
  EXPECT_EQ(local_zone_name(etc.path()), "Asia/Shanghai");
}

TEST(LocalZoneName, ComesFromTheTimezoneFileWithoutALocaltimeLink) {
  const EtcFolder etc;
  etc.write_timezone("Europe/Berlin\n");
  EXPECT_EQ(local_zone_name(etc.path()), "Europe/Berlin");
}

TEST(LocalZoneName, FallsBackToUtc) {
  const EtcFolder etc;
  EXPECT_EQ(local_zone_name(etc.path()), "UTC");
  etc.link_localtime("/somewhere/else");
  etc.write_timezone("Nowhere/AtAll\n");
  EXPECT_EQ(local_zone_name(etc.path()), "UTC");
}

TEST(LocalZone, FollowsTheTzVariable) {
  const auto name = [](const std::string& tz) {
    const Result<Zone> zone =
        local_zone(Environment(std::map<std::string, std::string>{{"TZ", tz}}));
    return zone.ok() ? zone.value().name() : zone.error().message;
  };
  EXPECT_EQ(name("Asia/Tokyo"), "Asia/Tokyo");
  EXPECT_EQ(name(":Asia/Tokyo"), "Asia/Tokyo");
  EXPECT_EQ(name(""), local_zone_name());
  EXPECT_EQ(name(":/etc/localtime"), local_zone_name());
  EXPECT_THAT(name("CET-1CEST"), ::testing::StartsWith("TZ: "));
}

TEST(LocalZoneName, CanBeLoadedOnThisMachine) { EXPECT_TRUE(Zone::load(local_zone_name()).ok()); }

}  // namespace
}  // namespace carillon
