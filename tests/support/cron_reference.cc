#include "tests/support/cron_reference.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <set>
#include <sstream>

namespace carillon::testing {

namespace {

using std::chrono::days;
using std::chrono::hours;
using std::chrono::local_days;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;

enum Field { kSecond, kMinute, kHour, kDay, kMonth, kWeekday, kYear };

struct Limits {
  int low;
  int high;
};

constexpr std::array<Limits, 7> kLimits = {
    {{0, 59}, {0, 59}, {0, 23}, {1, 31}, {1, 12}, {1, 7}, {1970, 2199}}};

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) parts.push_back(part);
  return parts;
}

// Names become the numbers that the dialect gives them.
std::string without_names(std::string text, Field field, bool unix_dialect) {
  const std::vector<std::string> months = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                           "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
  const std::vector<std::string> weekdays = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
  if (field != kMonth && field != kWeekday) return text;
  const std::vector<std::string>& names = field == kMonth ? months : weekdays;
  const int first = field == kWeekday && unix_dialect ? 0 : 1;
  for (std::size_t i = 0; i < names.size(); ++i) {
    for (std::size_t at; (at = text.find(names[i])) != std::string::npos;) {
      text.replace(at, 3, std::to_string(first + static_cast<int>(i)));
    }
  }
  return text;
}

// One item without operators: counts from its start, step by step, until it meets the value or has
// gone round.
bool item_holds(const std::string& item, int value, Limits limits, bool sunday_is_seven) {
  const std::vector<std::string> halves = split(item, '/');
  const std::string body = halves[0].empty() ? "*" : halves[0];
  const int step = halves.size() > 1 ? std::atoi(halves[1].c_str()) : 1;
  int from = limits.low;
  int length = limits.high - limits.low;
  if (body != "*") {
    const std::vector<std::string> ends = split(body, '-');
    from = std::atoi(ends[0].c_str());
    if (ends.size() > 1) {
      length = std::atoi(ends[1].c_str()) - from;
      if (length < 0) length += limits.high - limits.low + 1;
    } else {
      length = halves.size() > 1 ? std::max(limits.high - from, 0) : 0;
    }
  }
  for (int gone = 0; gone <= length; gone += step) {
    int reached = from + gone;
    if (sunday_is_seven) {
      reached %= 7;
    } else if (reached > limits.high) {
      reached -= limits.high - limits.low + 1;
    }
    if (reached == value) return true;
  }
  return false;
}

bool list_holds(const std::string& field, int value, Limits limits) {
  const std::vector<std::string> items = split(field, ',');
  return std::any_of(items.begin(), items.end(), [&](const std::string& item) {
    return item_holds(item, value, limits, false);
  });
}

int length_of_month(year_month_day date) {
  const std::chrono::year_month_day_last last{date.year() / date.month() / std::chrono::last};
  return static_cast<int>(static_cast<unsigned>(last.day()));
}

int weekday_of(year_month_day date) {  // 0 is Sunday
  return static_cast<int>(std::chrono::weekday{local_days{date}}.c_encoding());
}

// "The weekday nearest to a day of the month, in the same month": tries every day of the month.
int nearest_weekday(year_month_day date, int day) {
  int best = 0;
  for (int candidate = 1; candidate <= length_of_month(date); ++candidate) {
    const int weekday = weekday_of(date.year() / date.month() / candidate);
    if (weekday == 0 || weekday == 6) continue;
    if (best == 0 || std::abs(candidate - day) < std::abs(best - day)) best = candidate;
  }
  return best;
}

bool day_item_holds(const std::string& item, year_month_day date) {
  const int day = static_cast<int>(static_cast<unsigned>(date.day()));
  const int length = length_of_month(date);
  const bool weekday = item.back() == 'W';
  if (item.front() != 'L' && !weekday) return item_holds(item, day, kLimits[kDay], false);
  int wanted = std::atoi(item.c_str());
  if (item.front() == 'L') {
    const std::size_t minus = item.find('-');
    wanted = length - (minus == std::string::npos ? 0 : std::atoi(item.c_str() + minus + 1));
  }
  if (wanted < 1 || wanted > length) return false;
  return day == (weekday ? nearest_weekday(date, wanted) : wanted);
}

bool weekday_item_holds(const std::string& item, year_month_day date, bool unix_dialect) {
  const int day = static_cast<int>(static_cast<unsigned>(date.day()));
  const int weekday = weekday_of(date);
  if (unix_dialect) return item_holds(item, weekday, {0, 6}, true);
  if (item == "L") return weekday == 6;
  const int wanted = std::atoi(item.c_str()) - 1;
  if (item.back() == 'L') return weekday == wanted && day + 7 > length_of_month(date);
  const std::size_t hash = item.find('#');
  if (hash != std::string::npos) {
    return weekday == wanted && (day - 1) / 7 + 1 == std::atoi(item.c_str() + hash + 1);
  }
  return item_holds(item, weekday + 1, kLimits[kWeekday], false);
}

std::vector<int> values_of(const std::string& field, Limits limits) {
  std::vector<int> values;
  for (int value = limits.low; value <= limits.high; ++value) {
    if (list_holds(field, value, limits)) values.push_back(value);
  }
  return values;
}

}  // namespace

CronReference::CronReference(const std::string& expression) {
  std::string upper = expression;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  std::istringstream in(upper);
  std::vector<std::string> texts;
  for (std::string text; in >> text;) texts.push_back(text);
  unix_dialect_ = texts.size() == 5;
  if (unix_dialect_) texts.insert(texts.begin(), "0");
  if (texts.size() == 6) texts.push_back("*");
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    fields_[i] = without_names(texts[i], static_cast<Field>(i), unix_dialect_);
  }
  seconds_ = values_of(fields_[kSecond], kLimits[kSecond]);
  minutes_ = values_of(fields_[kMinute], kLimits[kMinute]);
  hours_ = values_of(fields_[kHour], kLimits[kHour]);
}

std::size_t CronReference::fires_of_a_day() const {
  return seconds_.size() * minutes_.size() * hours_.size();
}

bool CronReference::matches_day_of_month(year_month_day date) const {
  const std::vector<std::string> items = split(fields_[kDay], ',');
  return std::any_of(items.begin(), items.end(),
                     [&](const std::string& item) { return day_item_holds(item, date); });
}

bool CronReference::matches_weekday(year_month_day date) const {
  const std::vector<std::string> items = split(fields_[kWeekday], ',');
  return std::any_of(items.begin(), items.end(), [&](const std::string& item) {
    return weekday_item_holds(item, date, unix_dialect_);
  });
}

bool CronReference::matches_date(local_days day) const {
  const year_month_day date{day};
  const int year = static_cast<int>(date.year());
  const int month = static_cast<int>(static_cast<unsigned>(date.month()));
  if (year < kLimits[kYear].low || year > kLimits[kYear].high) return false;
  if (!list_holds(fields_[kYear], year, kLimits[kYear])) return false;
  if (!list_holds(fields_[kMonth], month, kLimits[kMonth])) return false;
  if (fields_[kDay] == "?") return matches_weekday(date);
  if (fields_[kWeekday] == "?") return matches_day_of_month(date);
  const bool either = fields_[kDay][0] != '*' && fields_[kWeekday][0] != '*';
  if (either) return matches_day_of_month(date) || matches_weekday(date);
  return matches_day_of_month(date) && matches_weekday(date);
}

bool CronReference::has_date() const {
  for (local_days day{std::chrono::year{1970} / 1 / 1};
       day < local_days{std::chrono::year{2200} / 1 / 1}; day += days{1}) {
    if (matches_date(day)) return true;
  }
  return false;
}

std::vector<WallTime> CronReference::fires(WallTime after, WallTime until, const Zone& zone,
                                           DstRule rule) const {
  if (rule == DstRule::kAuto) {
    const std::string& hour = fields_[kHour];
    const bool from_midnight =
        hour.find(',') == std::string::npos && (hour.starts_with("*/") || hour.starts_with("0/") ||
                                                hour.starts_with("00/") || hour.starts_with("/"));
    rule = hour == "*" || from_midnight ? DstRule::kTwice : DstRule::kOnce;
  }
  std::set<sys_seconds> found;
  const auto add = [&](LocalTime local) {
    const LocalLookup shown = zone.lookup(local);
    if (shown.kind == LocalKind::kSkipped) {
      if (rule == DstRule::kOnce) found.insert(shown.first);
      return;
    }
    found.insert(shown.first);
    if (shown.kind == LocalKind::kRepeated && rule == DstRule::kTwice) found.insert(shown.second);
  };
  // Two days more on either side, since clocks can show a time of another day.
  const auto day_of = [&](WallTime time) {
    return std::chrono::floor<days>(zone.to_local(std::chrono::floor<seconds>(time)));
  };
  for (local_days day = day_of(after) - days{2}; day <= day_of(until) + days{2}; day += days{1}) {
    if (!matches_date(day)) continue;
    for (const int hour : hours_) {
      for (const int minute : minutes_) {
        for (const int second : seconds_) {
          add(LocalTime{day} + hours{hour} + minutes{minute} + seconds{second});
        }
      }
    }
  }
  std::vector<WallTime> fires;
  for (const sys_seconds fire : found) {
    if (fire > after && fire <= until) fires.push_back(fire);
  }
  return fires;
}

}  // namespace carillon::testing
