#include "jobtracker/alarm/alarm_rule.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "jobtracker/store/names.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker {
namespace {

constexpr std::array<std::pair<std::string_view, Condition>, 4> kWords{
    {{"unserved", Condition::kUnserved},
     {"late", Condition::kLate},
     {"backlog", Condition::kBacklog},
     {"failures", Condition::kFailures}}};
constexpr std::string_view kOff = "off";

Error wrong(std::string_view text, const std::string& what) {
  return {ErrorCode::kInvalidArgument, "'" + std::string{text} + "': " + what};
}

// Of 1 to `most`, with `unit` behind it.
std::optional<std::int64_t> number_of(std::string_view text, std::string_view unit,
                                      std::int64_t most) {
  if (!text.ends_with(unit)) return std::nullopt;
  text.remove_suffix(unit.size());
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  if (number < 1 || number > most) return std::nullopt;
  return number;
}

Status read_limit(std::string_view text, std::string_view limit, AlarmRule& rule) {
  switch (rule.condition) {
    case Condition::kUnserved:
    case Condition::kLate: {
      const auto time = parse_duration(limit);
      if (!time.ok()) return wrong(text, time.error().message);
      if (time.value() < kAlarmTimeMin)
        return wrong(text, "the time must be at least " + format_duration(kAlarmTimeMin));
      rule.time = time.value();
      return {};
    }
    case Condition::kBacklog:
      if (const auto jobs = number_of(limit, "", kAlarmBacklogMax)) {
        rule.limit = *jobs;
        return {};
      }
      return wrong(text, "a backlog is a number of jobs from 1 to " +
                             std::to_string(kAlarmBacklogMax) + ", like backlog=10000");
    case Condition::kFailures:
      if (const auto percent = number_of(limit, "%", 100)) {
        rule.limit = *percent;
        return {};
      }
      return wrong(text, "failures are a part of the runs from 1% to 100%, like failures=20%");
  }
  return {};
}

}  // namespace

std::string_view word_of(Condition condition) {
  for (const auto& [word, one] : kWords) {
    if (one == condition) return word;
  }
  return "?";
}

Result<AlarmRule> parse_alarm_rule(std::string_view text) {
  AlarmRule rule;
  std::string_view rest = text;
  if (const std::size_t slash = rest.find('/'); slash != std::string_view::npos) {
    rule.group = rest.substr(0, slash);
    if (const Status name = check_group_name(rule.group); !name.ok())
      return wrong(text, name.error().message);
    rest.remove_prefix(slash + 1);
  }
  const std::size_t equals = rest.find('=');
  const std::string_view word = rest.substr(0, equals);
  const auto* found = kWords.begin();
  while (found != kWords.end() && found->first != word) ++found;
  if (equals == std::string_view::npos || found == kWords.end()) {
    return wrong(text,
                 "not a condition (write [GROUP/]unserved=TIME, late=TIME, backlog=JOBS or "
                 "failures=PERCENT%)");
  }
  rule.condition = found->second;
  const std::string_view limit = rest.substr(equals + 1);
  rule.is_off = limit == kOff;
  if (!rule.is_off) CARILLON_TRY(read_limit(text, limit, rule));
  return rule;
}

std::string limit_of(const AlarmRule& rule) {
  if (rule.is_off) return std::string{kOff};
  switch (rule.condition) {
    case Condition::kUnserved:
    case Condition::kLate:
      return format_duration(rule.time);
    case Condition::kBacklog:
      return std::to_string(rule.limit) + " jobs";
    case Condition::kFailures:
      return std::to_string(rule.limit) + "%";
  }
  return {};
}

}  // namespace carillon::jobtracker
