#include "shared/base/time_text.h"

#include <array>
#include <cstdint>
#include <optional>

namespace carillon {
namespace {

struct Unit {
  std::string_view name{};
  std::int64_t micros = 0;
};

// Largest first, the order within a duration.
constexpr std::array kUnits{Unit{"d", 86'400'000'000}, Unit{"h", 3'600'000'000},
                            Unit{"m", 60'000'000},     Unit{"s", 1'000'000},
                            Unit{"ms", 1'000},         Unit{"us", 1}};

Error bad_duration(std::string_view text, const std::string& why) {
  return {ErrorCode::kInvalidArgument, "'" + std::string{text} + "' is " + why};
}

constexpr const char* kDurationExamples = "(write 500ms, 3s, 5m or 1h30m)";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Removes and returns the digits at the front; none if there are none or too many.
std::optional<std::int64_t> take_number(std::string_view& text) {
  std::int64_t number = 0;
  std::size_t length = 0;
  while (length < text.size() && is_digit(text[length])) {
    if (__builtin_mul_overflow(number, std::int64_t{10}, &number) ||
        __builtin_add_overflow(number, std::int64_t{text[length] - '0'}, &number)) {
      return std::nullopt;
    }
    ++length;
  }
  if (length == 0) return std::nullopt;
  text.remove_prefix(length);
  return number;
}

// Removes and returns exactly this number of digits at the front; -1 if they are not there.
int take_digits(std::string_view& text, std::size_t count) {
  if (text.size() < count) return -1;
  int number = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (!is_digit(text[i])) return -1;
    number = number * 10 + (text[i] - '0');
  }
  text.remove_prefix(count);
  return number;
}

bool take_char(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

Error bad_time(std::string_view text, const std::string& why) {
  return {ErrorCode::kInvalidArgument, "'" + std::string{text} + "' is not a time: " + why +
                                           " (write 2026-11-21T08:00:00Z or "
                                           "2026-11-21T16:00:00+08:00)"};
}

void append_padded(std::string& text, std::int64_t number, int width) {
  std::array<char, 20> digits{};
  int count = 0;
  do {
    digits[static_cast<std::size_t>(count++)] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  for (int i = count; i < width; ++i) text += '0';
  while (count > 0) text += digits[static_cast<std::size_t>(--count)];
}

// Removes ".25" from the front and returns it as microseconds; 0 without a point, -1 without a
// digit after it.
int take_fraction(std::string_view& text) {
  if (!take_char(text, ".,")) return 0;
  int micros = 0;
  int digits = 0;
  while (!text.empty() && is_digit(text.front())) {
    if (digits < 6) micros = micros * 10 + (text.front() - '0');
    ++digits;
    text.remove_prefix(1);
  }
  if (digits == 0) return -1;
  for (; digits < 6; ++digits) micros *= 10;
  return micros;
}

// Removes "Z" or "+08:00" from the front and returns the offset to subtract to get UTC.
std::optional<std::chrono::minutes> take_offset(std::string_view& text) {
  if (take_char(text, "Zz")) return std::chrono::minutes{0};
  const bool west = !text.empty() && text.front() == '-';
  if (!take_char(text, "+-")) return std::nullopt;
  const int hours = take_digits(text, 2);
  if (!take_char(text, ":")) return std::nullopt;
  const int minutes = take_digits(text, 2);
  if (hours < 0 || hours > 23 || minutes < 0 || minutes > 59) return std::nullopt;
  const std::chrono::minutes offset{hours * 60 + minutes};
  return west ? -offset : offset;
}

}  // namespace

Result<Duration> parse_duration(std::string_view text) {
  const Error not_one = bad_duration(text, std::string{"not a duration "} + kDurationExamples);
  if (text.starts_with('-')) {
    return bad_duration(text, std::string{"negative "} + kDurationExamples);
  }
  std::string_view left = text;
  std::int64_t total = 0;
  std::size_t next_unit = 0;
  if (left.empty()) return not_one;
  while (!left.empty()) {
    const auto number = take_number(left);
    if (!number) return not_one;
    if (left.empty() && *number != 0) {
      return bad_duration(text, "a number without a unit (write " + std::string{text} + "s for " +
                                    "seconds, or one of ms, s, m, h, d)");
    }
    if (left.empty()) break;  // Zero needs no unit to be understood.
    std::size_t letters = 0;
    while (letters < left.size() && !is_digit(left[letters])) ++letters;
    const std::string_view name = left.substr(0, letters);
    while (next_unit < kUnits.size() && kUnits[next_unit].name != name) ++next_unit;
    if (next_unit == kUnits.size()) return not_one;
    left.remove_prefix(letters);
    std::int64_t part = 0;
    if (__builtin_mul_overflow(*number, kUnits[next_unit].micros, &part) ||
        __builtin_add_overflow(total, part, &total)) {
      return bad_duration(text, "too long for a duration, the maximum is 36600d");
    }
    ++next_unit;
  }
  if (total == 0) {
    return bad_duration(text, std::string{"zero, a duration must be longer "} + kDurationExamples);
  }
  return Duration{total};
}

std::string format_duration(Duration duration) {
  if (duration.count() == 0) return "0s";
  std::string text;
  // Unsigned, so that the smallest duration also has a text.
  std::uint64_t left = static_cast<std::uint64_t>(duration.count());
  if (duration.count() < 0) {
    text += '-';
    left = 0 - left;
  }
  for (const Unit& unit : kUnits) {
    const auto micros = static_cast<std::uint64_t>(unit.micros);
    if (left < micros) continue;
    text += std::to_string(left / micros);
    text += unit.name;
    left %= micros;
  }
  return text;
}

Result<WallTime> parse_time(std::string_view text) {
  std::string_view left = text;
  const int year = take_digits(left, 4);
  const bool dash = take_char(left, "-");
  const int month = take_digits(left, 2);
  const bool second_dash = take_char(left, "-");
  const int day = take_digits(left, 2);
  if (!dash || !second_dash || year < 0 || month < 0 || day < 0) {
    return bad_time(text, "it does not start with a date");
  }
  const std::chrono::year_month_day date{std::chrono::year{year},
                                         std::chrono::month{static_cast<unsigned>(month)},
                                         std::chrono::day{static_cast<unsigned>(day)}};
  if (!date.ok()) return bad_time(text, "this day does not exist");
  if (!take_char(left, "Tt ")) return bad_time(text, "no time of day follows the date");
  const int hour = take_digits(left, 2);
  const bool colon = take_char(left, ":");
  const int minute = take_digits(left, 2);
  const bool second_colon = take_char(left, ":");
  const int second = take_digits(left, 2);
  if (!colon || !second_colon || hour < 0 || minute < 0 || second < 0) {
    return bad_time(text, "hours, minutes and seconds are needed");
  }
  if (hour > 23 || minute > 59 || second > 60) {
    return bad_time(text, "this time of day does not exist");
  }
  const int micros = take_fraction(left);
  if (micros < 0) return bad_time(text, "digits must follow the decimal point");
  const auto offset = take_offset(left);
  if (!offset || !left.empty()) {
    return bad_time(text, "it must end with Z or an offset from UTC");
  }
  return WallTime{std::chrono::sys_days{date} + std::chrono::hours{hour} +
                  std::chrono::minutes{minute} + std::chrono::seconds{second} +
                  std::chrono::microseconds{micros} - *offset};
}

std::string format_time(WallTime time) {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::int64_t of_day = (time - day).count();
  std::string text;
  text.reserve(24);
  const int year = static_cast<int>(date.year());
  if (year < 0) text += '-';
  append_padded(text, year < 0 ? -year : year, 4);
  text += '-';
  append_padded(text, static_cast<unsigned>(date.month()), 2);
  text += '-';
  append_padded(text, static_cast<unsigned>(date.day()), 2);
  text += 'T';
  append_padded(text, of_day / 3'600'000'000, 2);
  text += ':';
  append_padded(text, of_day / 60'000'000 % 60, 2);
  text += ':';
  append_padded(text, of_day / 1'000'000 % 60, 2);
  text += '.';
  append_padded(text, of_day / 1'000 % 1'000, 3);
  text += 'Z';
  return text;
}

}  // namespace carillon
