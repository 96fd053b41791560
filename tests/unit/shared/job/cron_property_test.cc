#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "shared/base/random.h"
#include "shared/base/time_text.h"
#include "shared/job/cron.h"
#include "tests/support/cron_reference.h"

// Random expressions of both dialects in many zones, each fire compared with the reference.
// CARILLON_CRON_ROUNDS sets how many (default 1500), CARILLON_CRON_SEED where they start.
namespace carillon {
namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year;
using testing::CronReference;

constexpr std::array kZones = {"Europe/Berlin",     "America/New_York",    "Australia/Lord_Howe",
                               "Africa/Casablanca", "Asia/Kathmandu",      "America/Sao_Paulo",
                               "Pacific/Apia",      "Asia/Shanghai",       "UTC",
                               "America/St_Johns",  "Europe/Dublin",       "Antarctica/Troll",
                               "Africa/Cairo",      "America/Havana",      "Asia/Beirut",
                               "Asia/Gaza",         "Asia/Pyongyang",      "America/Caracas",
                               "Pacific/Chatham",   "Pacific/Kiritimati",  "Pacific/Kwajalein",
                               "America/Asuncion",  "Asia/Tehran",         "Europe/Lisbon",
                               "Asia/Kolkata",      "America/Godthab",     "Atlantic/Azores",
                               "Africa/El_Aaiun",   "Australia/Lindeman",  "Europe/Volgograd",
                               "Antarctica/Casey",  "America/Scoresbysund"};

// Numbers from the environment, so that a person can run more rounds.
std::uint64_t setting(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

const std::vector<std::string> kMonths = {"JAN", "feb", "Mar", "APR", "MAY", "JUN",
                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
const std::vector<std::string> kWeekdays = {"SUN", "mon", "Tue", "WED", "THU", "FRI", "SAT"};

// Makes expressions that follow the grammar; some of them never fire.
class Expressions {
 public:
  explicit Expressions(Random& random) : random_(random) {}

  std::string make() { return chance(3) ? make_unix() : make_quartz(); }

  std::uint64_t below(std::uint64_t limit) { return random_.next() % limit; }
  bool chance(std::uint64_t one_in) { return below(one_in) == 0; }

 private:
  int between(int low, int high) {
    return low + static_cast<int>(below(static_cast<std::uint64_t>(high - low) + 1));
  }
  std::string number(int low, int high) { return std::to_string(between(low, high)); }

  std::string value(int low, int high, const std::vector<std::string>& names) {
    const int number = between(low, high);
    const auto index = static_cast<std::size_t>(number - low);
    if (index >= names.size() || !chance(3)) return std::to_string(number);
    return names[index];
  }

  std::string item(int low, int high, int step_max, bool quartz,
                   const std::vector<std::string>& names = {}) {
    const std::string step = "/" + number(1, step_max);
    switch (below(7)) {
      case 0:
        return quartz && chance(4) ? step : "*" + step;
      case 1:
        return value(low, high, names) + step;
      case 2:
      case 3: {
        int from = between(low, high);
        int to = between(low, high);
        if (!quartz && to < from) std::swap(from, to);
        const std::string range = std::to_string(from) + "-" + std::to_string(to);
        return chance(2) ? range : range + step;
      }
      default:
        return value(low, high, names);
    }
  }

  template <class Item>
  std::string list(Item make_item) {
    std::string text = make_item();
    while (chance(4)) text += "," + make_item();
    return text;
  }

  std::string day_item() {
    switch (below(10)) {
      case 0:
        return "L";
      case 1:
        return "LW";
      case 2:
        return "L-" + number(0, 30);
      case 3:
        return "L-" + number(0, 30) + "W";
      case 4:
      case 5:
        return number(1, 31) + "W";
      default:
        return item(1, 31, 31, true);
    }
  }

  std::string weekday_item() {
    switch (below(8)) {
      case 0:
        return "L";
      case 1:
        return value(1, 7, kWeekdays) + "L";
      case 2:
        return value(1, 7, kWeekdays) + "#" + number(1, 5);
      default:
        return item(1, 7, 7, true, kWeekdays);
    }
  }

  // Hours close to midnight and to the usual changes of the clocks come often.
  std::string hour(bool quartz) {
    if (chance(4)) return "*";
    if (chance(3)) return "*/" + number(1, 23);
    if (chance(4)) return "0/" + number(1, 23);
    if (chance(2)) return list([&] { return number(0, 3); });
    return list([&] { return item(0, 23, 23, quartz); });
  }
  std::string month(bool quartz) {
    if (!chance(4)) return "*";
    return list([&] { return item(1, 12, 12, quartz, kMonths); });
  }

  std::string make_quartz() {
    const bool by_date = chance(2);
    std::string text =
        chance(8) ? "*" : (chance(2) ? "0" : list([&] { return item(0, 59, 59, true); }));
    text += " " + (chance(6) ? std::string{"*"} : list([&] { return item(0, 59, 59, true); }));
    text += " " + hour(true);
    text += " " + (!by_date    ? std::string{"?"}
                   : chance(3) ? "*"
                               : list([&] { return day_item(); }));
    text += " " + month(true);
    text += " " + (by_date     ? std::string{"?"}
                   : chance(3) ? "*"
                               : list([&] { return weekday_item(); }));
    if (chance(10)) text += " " + list([&] { return item_of_years(); });
    return text;
  }
  std::string item_of_years() {
    const int from = between(1970, 2199);
    if (chance(2)) return std::to_string(from) + "/" + number(1, 20);
    return std::to_string(from) + "-" + number(from, 2199);
  }

  std::string make_unix() {
    std::string text = chance(6) ? "*" : list([&] { return item(0, 59, 59, false); });
    text += " " + hour(false);
    text += " " + (chance(2) ? std::string{"*"} : list([&] { return item(1, 31, 31, false); }));
    text += " " + month(false);
    text +=
        " " + (chance(2) ? std::string{"*"}
                         : list([&] { return item(0, chance(2) ? 7 : 6, 7, false, kWeekdays); }));
    return text;
  }

  Random& random_;
};

// A time of the years 1990-2100; every second one lies shortly before a change of the clocks,
// some of those within its last seconds.
WallTime random_time(Random& random, const Zone& zone) {
  const sys_seconds begin = sys_days{year{1990} / 1 / 1};
  const sys_seconds end = sys_days{year{2101} / 1 / 1};
  const auto range = static_cast<std::uint64_t>((end - begin).count());
  const auto instant = begin + seconds{static_cast<std::int64_t>(random.next() % range)};
  const Duration part{static_cast<std::int64_t>(random.next() % 2 * (random.next() % 1'000'000))};
  const ZoneSpan span = zone.span_at(instant);
  if (random.next() % 2 == 0 || span.is_last()) return instant + part;
  const std::uint64_t before = random.next() % 4 == 0 ? 3 : 100'000;
  return span.end - seconds{static_cast<std::int64_t>(random.next() % before)} + part;
}

// How far to compare: some thousand fires at most, more days for rarer ones.
std::chrono::seconds window_of(const CronReference& reference) {
  const std::size_t a_day = reference.fires_of_a_day();
  if (a_day > 2000) return hours{30};
  if (a_day > 100) return days{4};
  return days{a_day > 10 ? 60 : 500};
}

void compare(const std::string& expression, const Zone& zone, DstRule rule, WallTime after) {
  const Cron cron = Cron::parse(expression).value();
  const CronReference reference(expression);
  const WallTime until = after + window_of(reference);
  ZoneSpan span;
  WallTime last = after;
  for (const WallTime expected : reference.fires(after, until, zone, rule)) {
    const auto fire = cron.next(last, zone, rule, span);
    ASSERT_TRUE(fire.has_value()) << "none after " << format_time(last);
    ASSERT_EQ(*fire, expected) << format_time(*fire) << ", not " << format_time(expected)
                               << ", after " << format_time(last);
    last = *fire;
  }
  const auto beyond = cron.next(last, zone, rule);
  ASSERT_TRUE(!beyond || *beyond > until) << format_time(*beyond) << " after " << format_time(last);
}

TEST(CronProperty, FiresMatchTheReferenceImplementation) {
  const std::uint64_t rounds = setting("CARILLON_CRON_ROUNDS", 1500);
  const std::uint64_t first_seed = setting("CARILLON_CRON_SEED", 1);
  std::uint64_t compared = 0;
  for (std::uint64_t seed = first_seed; seed < first_seed + rounds; ++seed) {
    SeededRandom random(seed);
    Expressions expressions(random);
    const std::string expression = expressions.make();
    const Zone zone = Zone::load(kZones[expressions.below(kZones.size())]).value();
    const auto rule = static_cast<DstRule>(expressions.below(4));
    SCOPED_TRACE("CARILLON_CRON_ROUNDS=1 CARILLON_CRON_SEED=" + std::to_string(seed) + ": '" +
                 expression + "' in " + zone.name() + ", rule " +
                 std::to_string(static_cast<int>(rule)));
    const auto cron = Cron::parse(expression);
    if (!cron.ok()) {
      ASSERT_NE(cron.error().message.find("never fires"), std::string::npos)
          << cron.error().message;
      ASSERT_FALSE(CronReference(expression).has_date());
      continue;
    }
    compare(expression, zone, rule, random_time(random, zone));
    if (HasFatalFailure()) return;
    ++compared;
  }
  EXPECT_GE(compared, rounds * 9 / 10);
}

TEST(CronProperty, CachedZoneSpanDoesNotChangeTheNextFire) {
  SeededRandom random(7);
  Expressions expressions(random);
  const Zone zone = Zone::load("Africa/Casablanca").value();
  ZoneSpan span;
  for (int round = 0; round < 3000; ++round) {
    const std::string expression = expressions.make();
    const auto cron = Cron::parse(expression);
    if (!cron.ok()) continue;
    const WallTime after = random_time(random, zone);
    const auto rule = static_cast<DstRule>(expressions.below(4));
    ASSERT_EQ(cron.value().next(after, zone, rule, span), cron.value().next(after, zone, rule))
        << expression << " after " << format_time(after);
  }
}

}  // namespace
}  // namespace carillon
