#include "jobtracker/alarm/alarm_rule.h"

#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "jobtracker/store/names.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker {
namespace {

constexpr std::array<std::pair<std::string_view, Condition>, 7> kWords{
    {{"unserved", Condition::kUnserved},
     {"late", Condition::kLate},
     {"backlog", Condition::kBacklog},
     {"failures", Condition::kFailures},
     {"overload", Condition::kOverload},
     {"output", Condition::kOutput},
     {"silent", Condition::kSilent}}};
constexpr std::string_view kOff = "off";
constexpr std::string_view kOn = "on";
constexpr char kBetweenWords = '|';

Error wrong(std::string_view text, const std::string& what) {
  return {ErrorCode::kInvalidArgument, "'" + std::string{text} + "': " + what};
}

// A number from 1 to `most`, followed by `unit`.
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

Result<std::vector<std::string>> read_words(std::string_view text, std::string_view list) {
  std::vector<std::string> words;
  for (std::size_t end = 0; end != std::string_view::npos;) {
    end = list.find(kBetweenWords);
    const std::string_view word = list.substr(0, end);
    if (end != std::string_view::npos) list.remove_prefix(end + 1);
    if (word.empty() || word.size() > kAlarmWordBytesMax || !is_printable_utf8(word)) {
      return wrong(text, "output must list texts of 1 to " + std::to_string(kAlarmWordBytesMax) +
                             " bytes without control characters, like output=FATAL|disk full");
    }
    words.emplace_back(word);
  }
  if (words.size() <= kAlarmWordsMax) return words;
  return wrong(text,
               std::to_string(words.size()) + " texts, at most " + std::to_string(kAlarmWordsMax));
}

Status read_limit(std::string_view text, std::string_view limit, AlarmRule& rule) {
  switch (rule.condition) {
    case Condition::kUnserved:
    case Condition::kLate:
    case Condition::kOverload: {
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
      return wrong(text, "backlog must be a number of jobs from 1 to " +
                             std::to_string(kAlarmBacklogMax) + ", like backlog=10000");
    case Condition::kFailures:
      if (const auto percent = number_of(limit, "%", 100)) {
        rule.limit = *percent;
        return {};
      }
      return wrong(text, "failures must be a share of the runs from 1% to 100%, like failures=20%");
    case Condition::kOutput:
      rule.words = CARILLON_TRY(read_words(text, limit));
      return {};
    case Condition::kSilent:
      if (limit == kOn) return {};
      return wrong(text, "silent must be on or off");
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
  if (const std::size_t slash = rest.substr(0, rest.find('=')).find('/');
      slash != std::string_view::npos) {
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
                 "not a condition (write [GROUP/]unserved=TIME, late=TIME, backlog=JOBS, "
                 "failures=PERCENT%, overload=TIME, output=TEXT or silent=off)");
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
    case Condition::kOverload:
      return format_duration(rule.time);
    case Condition::kBacklog:
      return std::to_string(rule.limit) + " jobs";
    case Condition::kFailures:
      return std::to_string(rule.limit) + "%";
    case Condition::kOutput:
    case Condition::kSilent:
      break;
  }
  return {};
}

}  // namespace carillon::jobtracker
