#include "shared/job/cron_words.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

namespace carillon {
namespace {

constexpr std::array kDaysInWords{"Sunday",   "Monday", "Tuesday", "Wednesday",
                                  "Thursday", "Friday", "Saturday"};
constexpr std::array kMonthsInWords{"January",   "February", "March",    "April",
                                    "May",       "June",     "July",     "August",
                                    "September", "October",  "November", "December"};

struct CronWords {
  std::string second = "0";
  std::string minute{};
  std::string hour{};
  std::string day{};
  std::string month{};
  std::string week_day{};
  bool is_unix = false;  // Sunday is 0, and not 1
};

std::optional<int> whole(std::string_view text) {
  int number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc{} || at != end || number < 0) return std::nullopt;
  return number;
}

bool is_any(std::string_view field) { return field == "*" || field == "?"; }

// "*/10" and "0/10" of Quartz.
std::optional<int> step_of(std::string_view field) {
  const auto slash = field.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  const std::string_view from = field.substr(0, slash);
  if (from != "*" && from != "0") return std::nullopt;
  return whole(field.substr(slash + 1));
}

std::optional<CronWords> split_fields(std::string_view expression) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kMacros{
      {{"@yearly", "0 0 1 1 *"},
       {"@monthly", "0 0 1 * *"},
       {"@weekly", "0 0 * * 0"},
       {"@daily", "0 0 * * *"},
       {"@midnight", "0 0 * * *"},
       {"@hourly", "0 * * * *"}}};
  for (const auto& [name, meaning] : kMacros) {
    if (expression == name) expression = meaning;
  }
  std::vector<std::string> fields;
  for (std::size_t at = 0; at < expression.size();) {
    const std::size_t end = std::min(expression.find_first_of(" \t", at), expression.size());
    if (end > at) fields.emplace_back(expression.substr(at, end - at));
    at = end + 1;
  }
  if (fields.size() == 7 && fields[6] == "*") fields.pop_back();
  if (fields.size() == 5)
    return CronWords{"0", fields[0], fields[1], fields[2], fields[3], fields[4], true};
  if (fields.size() != 6) return std::nullopt;
  return CronWords{fields[0], fields[1], fields[2], fields[3], fields[4], fields[5], false};
}

std::string padded_to_two(int number) { return (number < 10 ? "0" : "") + std::to_string(number); }

std::string amount_of(int number, const std::string& unit) {
  return number == 1 ? unit : std::to_string(number) + " " + unit + "s";
}

// "MON", "1" and so on.
std::optional<int> day_number(std::string_view text, bool is_unix) {
  constexpr std::array<std::string_view, 7> kShort{"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
  for (std::size_t i = 0; i < kShort.size(); ++i) {
    const bool is_same =
        text.size() == 3 &&
        std::equal(text.begin(), text.end(), kShort.at(i).begin(),
                   [](char one, char other) { return one == other || one - 'a' + 'A' == other; });
    if (is_same) return static_cast<int>(i);
  }
  const auto number = whole(text);
  if (!number) return std::nullopt;
  const int day = is_unix ? *number % 7 : *number - 1;
  return day >= 0 && day < 7 ? std::optional{day} : std::nullopt;
}

// "Monday", "Monday to Friday", "Monday and Friday"; empty: not simple.
std::string week_day_words(std::string_view field, bool is_unix) {
  const auto name = [&](std::string_view text) -> std::string {
    const auto day = day_number(text, is_unix);
    return day ? kDaysInWords.at(static_cast<std::size_t>(*day)) : "";
  };
  if (const auto dash = field.find('-'); dash != std::string_view::npos) {
    const std::string first = name(field.substr(0, dash));
    const std::string last = name(field.substr(dash + 1));
    return first.empty() || last.empty() ? "" : first + " to " + last;
  }
  std::vector<std::string> names;
  while (!field.empty()) {
    const std::string_view one = field.substr(0, field.find(','));
    field.remove_prefix(std::min(field.size(), one.size() + 1));
    names.push_back(name(one));
    if (names.back().empty()) return {};
  }
  std::string words;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) words += i + 1 == names.size() ? " and " : ", ";
    words += names[i];
  }
  return words;
}

// "every day", "Monday", "day 1 of every month"; empty: not simple.
std::string date_words(const CronWords& cron) {
  if (!is_any(cron.week_day))
    return is_any(cron.day) && is_any(cron.month) ? week_day_words(cron.week_day, cron.is_unix)
                                                  : "";
  if (is_any(cron.day)) return is_any(cron.month) ? "every day" : "";
  const bool is_last = cron.day == "L";
  const auto day = whole(cron.day);
  if (!day && !is_last) return {};
  const std::string which = is_last ? "the last day" : "day " + std::to_string(*day);
  if (is_any(cron.month)) return which + " of every month";
  const auto month = whole(cron.month);
  if (!month || *month < 1 || *month > 12) return {};
  return which + " of " + kMonthsInWords.at(static_cast<std::size_t>(*month - 1));
}

// "every 10 minutes"; empty: it has one time a day, or is not simple.
std::string period_words(const CronWords& cron) {
  const bool is_any_hour = is_any(cron.hour);
  if (is_any_hour && is_any(cron.minute)) {
    if (is_any(cron.second)) return "every second";
    if (const auto step = step_of(cron.second)) return "every " + amount_of(*step, "second");
    if (cron.second == "0") return "every minute";
  }
  if (cron.second != "0") return {};
  if (is_any_hour) {
    if (const auto step = step_of(cron.minute)) return "every " + amount_of(*step, "minute");
    const auto minute = whole(cron.minute);
    if (minute)
      return *minute == 0 ? "every hour" : "every hour at minute " + std::to_string(*minute);
  }
  const auto step = step_of(cron.hour);
  const auto minute = whole(cron.minute);
  if (!step || !minute) return {};
  return "every " + amount_of(*step, "hour") +
         (*minute == 0 ? "" : " at minute " + std::to_string(*minute));
}

}  // namespace

std::string cron_words(std::string_view expression) {
  const auto cron = split_fields(expression);
  if (!cron) return {};
  const std::string date = date_words(*cron);
  if (date.empty()) return {};
  const std::string period = period_words(*cron);
  if (!period.empty()) return date == "every day" ? period : period + " on " + date;
  const auto hour = whole(cron->hour);
  const auto minute = whole(cron->minute);
  const auto second = whole(cron->second);
  if (!hour || !minute || !second) return {};
  std::string time = padded_to_two(*hour) + ":" + padded_to_two(*minute);
  if (*second != 0) time += ":" + padded_to_two(*second);
  return date + " at " + time;
}

}  // namespace carillon
