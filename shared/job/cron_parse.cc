#include <algorithm>
#include <charconv>
#include <string>
#include <utility>
#include <vector>

#include "carillon/job_spec.h"
#include "shared/base/utf8.h"
#include "shared/job/cron_fields.h"

// Parses text to CronFields. A table has the values of each field; each operator of the day fields
// has a function.
namespace carillon {

namespace {

constexpr std::size_t kQuotedBytesMax = 100;
constexpr std::size_t kFieldsMax = 7;
constexpr std::string_view kBlanks = " \t\r\n";

constexpr std::array<std::string_view, 12> kMonthNames = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                                          "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::array<std::string_view, 7> kWeekdayNames = {"SUN", "MON", "TUE", "WED",
                                                           "THU", "FRI", "SAT"};

enum class Names { kNone, kMonths, kWeekdays };

struct FieldRule {
  const char* name;
  int low;   // the lowest value, and the value of the first name
  int high;  // the highest value that may be written
  int last;  // the end of * and a/n: `high`, except for Sunday as 7
  int step_max;
  bool wraps;      // ranges may wrap around
  bool bare_step;  // /n is */n
  Names names;
};

constexpr FieldRule kSecond{"second", 0, 59, 59, 59, true, true, Names::kNone};
constexpr FieldRule kMinute{"minute", 0, 59, 59, 59, true, true, Names::kNone};
constexpr FieldRule kHour{"hour", 0, 23, 23, 23, true, true, Names::kNone};
constexpr FieldRule kDay{"day-of-month", 1, 31, 31, 31, true, true, Names::kNone};
constexpr FieldRule kMonth{"month", 1, 12, 12, 12, true, true, Names::kMonths};
constexpr FieldRule kWeekday{"day-of-week", 1, 7, 7, 7, true, true, Names::kWeekdays};
constexpr FieldRule kYear{
    "year", kCronYearMin, kCronYearMax, kCronYearMax, kCronYearMax - kCronYearMin,
    false,  true,         Names::kNone};

constexpr FieldRule unix_rule(FieldRule rule) {
  rule.wraps = false;
  rule.bare_step = false;
  return rule;
}
constexpr FieldRule kUnixMinute = unix_rule(kMinute);
constexpr FieldRule kUnixHour = unix_rule(kHour);
constexpr FieldRule kUnixDay = unix_rule(kDay);
constexpr FieldRule kUnixMonth = unix_rule(kMonth);
constexpr FieldRule kUnixWeekday{"day-of-week", 0, 7, 6, 7, false, false, Names::kWeekdays};

// The values of a field: bit v - base for value v. Wide enough for years.
using Values = CronYears;

Error refuse(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

std::string quoted(std::string_view text) {
  const bool cut = text.size() > kQuotedBytesMax;
  return "'" + std::string{first_bytes(text, kQuotedBytesMax)} + (cut ? "..." : "") + "'";
}

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

bool equal_in_any_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return upper(x) == upper(y); });
}

bool ends_in_letter(std::string_view text, char letter) {
  return !text.empty() && upper(text.back()) == letter;
}

bool is_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// A number of any length; too large ones become the maximum int.
int to_int(std::string_view digits) {
  int value = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return read.ec == std::errc{} ? value : std::numeric_limits<int>::max();
}

Result<int> parse_number(std::string_view digits, const char* what, int low, int high) {
  const int value = to_int(digits);
  if (value >= low && value <= high) return value;
  return refuse(std::string{what} + " " + std::string{digits.substr(0, 20)} + " is out of range " +
                std::to_string(low) + "-" + std::to_string(high));
}

int value_of_name(std::string_view text, const FieldRule& rule) {
  const auto find = [&](const auto& names) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (equal_in_any_case(text, names[i])) return rule.low + static_cast<int>(i);
    }
    return -1;
  };
  if (rule.names == Names::kMonths) return find(kMonthNames);
  if (rule.names == Names::kWeekdays) return find(kWeekdayNames);
  return -1;
}

Result<int> parse_value(std::string_view text, const FieldRule& rule) {
  if (is_digits(text)) return parse_number(text, rule.name, rule.low, rule.high);
  if (const int named = value_of_name(text, rule); named >= 0) return named;
  std::string what = "not a number";
  if (rule.names == Names::kMonths) what = "neither a number nor a name JAN-DEC";
  if (rule.names == Names::kWeekdays) what = "neither a number nor a name SUN-SAT";
  return refuse(std::string{rule.name} + " " + quoted(text) + " is " + what);
}

void set(Values& values, int index) {
  const auto position = static_cast<std::size_t>(index);
  values[position / 64] |= std::uint64_t{1} << (position % 64);
}

// `*`, `a`, `a-b`, each with or without `/n`, and `/n`.
Status add_plain(std::string_view item, const FieldRule& rule, int base, Values& values) {
  const std::size_t slash = item.find('/');
  const bool has_step = slash != std::string_view::npos;
  const std::string_view body = item.substr(0, slash);
  int step = 1;
  if (has_step) {
    const std::string_view text = item.substr(slash + 1);
    if (!is_digits(text)) {
      return refuse(std::string{rule.name} + " " + quoted(item) + " has no number after the /");
    }
    const std::string what = std::string{rule.name} + " step";
    step = CARILLON_TRY(parse_number(text, what.c_str(), 1, rule.step_max));
  }
  int low = rule.low;
  int high = rule.last;
  if (body.empty() && !rule.bare_step) {
    return refuse(std::string{rule.name} + " " + quoted(item) +
                  " has nothing before the / (write *" + std::string{item} + ")");
  }
  if (!body.empty() && body != "*") {
    const std::size_t dash = body.find('-');
    low = CARILLON_TRY(parse_value(body.substr(0, dash), rule));
    if (dash != std::string_view::npos) {
      high = CARILLON_TRY(parse_value(body.substr(dash + 1), rule));
    } else {
      high = has_step ? std::max(low, rule.last) : low;
    }
  }
  const int size = rule.last - rule.low + 1;
  if (high < low) {
    if (!rule.wraps) {
      return refuse(std::string{rule.name} + " range " + quoted(body) + " runs backwards; " +
                    (rule.bare_step ? "years" : "unix ranges") + " do not wrap");
    }
    high += size;
  }
  for (int value = low; value <= high; value += step) {
    set(values, (value > rule.high ? value - size : value) - base);
  }
  return {};
}

// Calls `add` for each item of a list.
template <class Add>
Status for_each_item(std::string_view field, const FieldRule& rule, Add add) {
  for (std::size_t begin = 0;;) {
    const std::size_t comma = field.find(',', begin);
    const std::string_view item = field.substr(begin, comma - begin);
    if (item.empty()) {
      return refuse(std::string{rule.name} + " " + quoted(field) + " has an empty list item");
    }
    if (item.find('?') != std::string_view::npos) {
      return refuse(
          std::string{rule.name} + " " + quoted(field) +
          " contains a '?', which is allowed only alone in a day field of a quartz expression");
    }
    CARILLON_TRY(add(item));
    if (comma == std::string_view::npos) return {};
    begin = comma + 1;
  }
}

Result<Values> parse_plain(std::string_view field, const FieldRule& rule, int base = 0) {
  Values values{};
  CARILLON_TRY(for_each_item(
      field, rule, [&](std::string_view item) { return add_plain(item, rule, base, values); }));
  return values;
}

// L, L-n, LW, L-nW and nW. Ignores others.
Result<bool> add_day_operator(std::string_view item, CronFields& fields) {
  const bool from_last = upper(item.front()) == 'L';
  const bool near_weekday = ends_in_letter(item, 'W');
  if (!from_last && !near_weekday) return false;
  std::string_view rest = item;
  if (from_last) rest.remove_prefix(1);
  if (near_weekday) rest.remove_suffix(1);
  if (!from_last) {
    if (!is_digits(rest)) {
      return refuse("day-of-month " + quoted(item) +
                    " needs one day before the W, as in 15W or LW");
    }
    const int day = CARILLON_TRY(parse_number(rest, kDay.name, kDay.low, kDay.high));
    fields.near_weekday_mask |= std::uint32_t{1} << day;
    return true;
  }
  int back = 0;
  if (!rest.empty()) {
    if (rest.front() != '-' || !is_digits(rest.substr(1))) {
      return refuse("day-of-month " + quoted(item) + " is not one of L, L-n, LW, L-nW");
    }
    back = CARILLON_TRY(parse_number(rest.substr(1), "day-of-month L-n offset", 0, 30));
  }
  (near_weekday ? fields.near_weekday_from_last_mask : fields.from_last_mask) |= std::uint32_t{1}
                                                                                 << back;
  return true;
}

Status parse_day(std::string_view field, const FieldRule& rule, bool quartz, CronFields& fields) {
  Values values{};
  const auto add = [&](std::string_view item) -> Status {
    if (quartz && CARILLON_TRY(add_day_operator(item, fields))) return {};
    return add_plain(item, rule, 0, values);
  };
  CARILLON_TRY(for_each_item(field, rule, add));
  fields.day_mask = static_cast<std::uint32_t>(values[0]);
  return {};
}

// L, nL and n#k. Ignores others.
Result<bool> add_weekday_operator(std::string_view item, CronFields& fields) {
  const auto bit_of = [](int value) {
    return static_cast<std::uint8_t>(1U << static_cast<unsigned>(value - kWeekday.low));
  };
  if (equal_in_any_case(item, "L")) {
    fields.weekday_mask |= bit_of(kWeekday.high);
    return true;
  }
  if (const std::size_t hash = item.find('#'); hash != std::string_view::npos) {
    const int weekday = CARILLON_TRY(parse_value(item.substr(0, hash), kWeekday));
    const std::string_view nth = item.substr(hash + 1);
    if (!is_digits(nth)) {
      return refuse("day-of-week " + quoted(item) + " has no number after the #");
    }
    const int week = CARILLON_TRY(parse_number(nth, "day-of-week #n occurrence", 1, 5));
    fields.nth_weekday_masks[static_cast<std::size_t>(week - 1)] |= bit_of(weekday);
    return true;
  }
  if (!ends_in_letter(item, 'L')) return false;
  item.remove_suffix(1);
  const int weekday = CARILLON_TRY(parse_value(item, kWeekday));
  fields.last_weekday_mask |= bit_of(weekday);
  return true;
}

Status parse_weekday(std::string_view field, const FieldRule& rule, bool quartz,
                     CronFields& fields) {
  Values values{};
  const auto add = [&](std::string_view item) -> Status {
    if (quartz && CARILLON_TRY(add_weekday_operator(item, fields))) return {};
    return add_plain(item, rule, quartz ? rule.low : 0, values);
  };
  CARILLON_TRY(for_each_item(field, rule, add));
  // In Unix expressions bit 7 is also Sunday.
  fields.weekday_mask |= static_cast<std::uint8_t>((values[0] | values[0] >> 7) & 0x7F);
  return {};
}

// `*`, and steps from the start of the day: `*/n`, `0/n`, `/n`.
bool is_every_hour_alike(std::string_view field) {
  if (field == "*") return true;
  const std::size_t slash = field.find('/');
  if (slash == std::string_view::npos || field.find(',') != std::string_view::npos) return false;
  const std::string_view start = field.substr(0, slash);
  return start.empty() || start == "*" || (is_digits(start) && to_int(start) == 0);
}

Result<CronFields> parse_unix(const std::vector<std::string_view>& texts) {
  CronFields fields;
  fields.second_mask = 1;
  fields.minute_mask = CARILLON_TRY(parse_plain(texts[0], kUnixMinute))[0];
  fields.hour_mask = static_cast<std::uint32_t>(CARILLON_TRY(parse_plain(texts[1], kUnixHour))[0]);
  CARILLON_TRY(parse_day(texts[2], kUnixDay, false, fields));
  fields.month_mask =
      static_cast<std::uint32_t>(CARILLON_TRY(parse_plain(texts[3], kUnixMonth))[0]);
  CARILLON_TRY(parse_weekday(texts[4], kUnixWeekday, false, fields));
  fields.year_mask = CARILLON_TRY(parse_plain("*", kYear, kYear.low));
  fields.either_day = !texts[2].starts_with('*') && !texts[4].starts_with('*');
  fields.every_hour_alike = is_every_hour_alike(texts[1]);
  return fields;
}

// The remedy: in place of a '*' it changes nothing.
std::string with_question_mark(std::vector<std::string_view> texts) {
  if (texts[5] != "*" && texts[3] != "*") return "put it into one of them";
  texts[texts[5] == "*" ? 5 : 3] = "?";
  std::string text;
  for (const std::string_view field : texts) text += (text.empty() ? "" : " ") + std::string{field};
  return "write '" + text + "'";
}

Result<CronFields> parse_quartz(const std::vector<std::string_view>& texts) {
  const bool any_day = texts[3] == "?";
  const bool any_weekday = texts[5] == "?";
  CronFields fields;
  fields.second_mask = CARILLON_TRY(parse_plain(texts[0], kSecond))[0];
  fields.minute_mask = CARILLON_TRY(parse_plain(texts[1], kMinute))[0];
  fields.hour_mask = static_cast<std::uint32_t>(CARILLON_TRY(parse_plain(texts[2], kHour))[0]);
  CARILLON_TRY(parse_day(any_day ? "*" : texts[3], kDay, true, fields));
  fields.month_mask = static_cast<std::uint32_t>(CARILLON_TRY(parse_plain(texts[4], kMonth))[0]);
  CARILLON_TRY(parse_weekday(any_weekday ? "*" : texts[5], kWeekday, true, fields));
  fields.year_mask = CARILLON_TRY(parse_plain(texts.size() > 6 ? texts[6] : "*", kYear, kYear.low));
  fields.every_hour_alike = is_every_hour_alike(texts[2]);
  if (any_day && any_weekday) {
    return refuse("day-of-month and day-of-week are both '?' (put a value or * into one of them)");
  }
  if (!any_day && !any_weekday) {
    return refuse("neither day-of-month nor day-of-week is '?', " + with_question_mark(texts));
  }
  return fields;
}

Result<std::string_view> expand_macro(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kMacros = {{
      {"@hourly", "0 * * * *"},
      {"@daily", "0 0 * * *"},
      {"@midnight", "0 0 * * *"},
      {"@weekly", "0 0 * * 0"},
      {"@monthly", "0 0 1 * *"},
      {"@yearly", "0 0 1 1 *"},
      {"@annually", "0 0 1 1 *"},
  }};
  if (!text.starts_with('@')) return text;
  for (const auto& [macro, expression] : kMacros) {
    if (equal_in_any_case(text, macro)) return expression;
  }
  if (equal_in_any_case(text, "@reboot")) {
    return refuse("@reboot is not supported: the start of a machine does not fire jobs");
  }
  return refuse(
      "no such macro (use one of @hourly @daily @midnight @weekly @monthly @yearly @annually)");
}

// At most one more than the largest number of fields.
std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> fields;
  fields.reserve(kFieldsMax + 1);
  for (std::size_t at = 0; fields.size() <= kFieldsMax;) {
    at = text.find_first_not_of(kBlanks, at);
    if (at == std::string_view::npos) break;
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    fields.push_back(text.substr(at, end - at));
    at = end;
  }
  return fields;
}

Result<CronFields> parse_expression(std::string_view expression) {
  if (expression.size() > kTextBytesMax) {
    return refuse("longer than " + std::to_string(kTextBytesMax) + " bytes");
  }
  std::vector<std::string_view> texts = split(expression);
  if (texts.size() == 1) texts = split(CARILLON_TRY(expand_macro(texts[0])));
  const std::size_t count = texts.size();
  if (count < 5 || count > kFieldsMax) {
    std::string what = "more than 7 fields";
    if (count == 0) what = "empty";
    if (count == 1) what = "only 1 field";
    if (count > 1 && count < 5) what = "only " + std::to_string(count) + " fields";
    return refuse(what +
                  ", needs 5 (unix: minute hour day month weekday) or 6 to 7 "
                  "(quartz: second minute hour day month weekday [year])");
  }
  CronFields fields = CARILLON_TRY(count == 5 ? parse_unix(texts) : parse_quartz(texts));
  if (!fields.first_at_or_after(LocalTime{}).has_value()) {
    const std::size_t day = count == 5 ? 2 : 3;
    return refuse("never fires: " + std::to_string(kCronYearMin) + "-" +
                  std::to_string(kCronYearMax) + " has no date with day-of-month " +
                  std::string{texts[day]} + ", month " + std::string{texts[day + 1]} +
                  ", day-of-week " + std::string{texts[day + 2]} +
                  (count == 7 ? ", year " + std::string{texts[6]} : ""));
  }
  return fields;
}

}  // namespace

Result<CronFields> CronFields::parse(std::string_view expression) {
  auto fields = parse_expression(expression);
  if (!fields.ok()) return fields.error().with_context("cron " + quoted(expression));
  return fields;
}

}  // namespace carillon
