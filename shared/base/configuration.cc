#include "shared/base/configuration.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "shared/base/assert.h"
#include "shared/base/command_line.h"
#include "shared/base/configuration_file.h"
#include "shared/base/nearest_word.h"
#include "shared/base/time_text.h"

namespace carillon {
namespace {

constexpr const char* kMask = "***";

// A hundred years, as on the wire: adding it to a time does not overflow.
constexpr std::int64_t kDurationMost = Duration{std::chrono::hours{24 * 366 * 100}}.count();

Error bad_value(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

std::string file_key(const std::string& option) {
  std::string key = option;
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

// The prefix of errors about the configuration file.
std::string in_file(const std::string& place, const std::string& key) {
  return "configuration: " + place + ": " + key;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] != at) continue;
    if (i > start) parts.push_back(text.substr(start, i - start));
    start = i + 1;
  }
  return parts;
}

std::string join(const std::vector<std::string>& parts, const char* between) {
  std::string text;
  for (const std::string& part : parts) {
    if (!text.empty()) text += between;
    text += part;
  }
  return text;
}

Result<std::int64_t> parse_number(const std::string& text, const Option& option) {
  std::int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, problem] = std::from_chars(text.data(), end, number);
  if (problem == std::errc::invalid_argument || rest != end)
    return bad_value("'" + text + "' is not a whole number");
  const bool is_beyond = problem == std::errc::result_out_of_range;  // any number's limits
  if (is_beyond ? text.starts_with('-') : number < option.min)
    return bad_value(text + " is too small, the minimum is " + std::to_string(option.min) +
                     (option.if_empty.empty() ? "" : " (" + option.if_empty + ")"));
  if (is_beyond || number > option.max)
    return bad_value(text + " is too large, the maximum is " + std::to_string(option.max));
  return number;
}

Result<Duration> parse_duration_within(const std::string& text, const Option& option) {
  const bool is_zero = text == "0" || text == "0s" || text == "0ms";
  if (is_zero && !option.if_empty.empty())
    return bad_value("'" + text + "' is zero, it must be longer (" + option.if_empty + ")");
  const Duration duration = CARILLON_TRY(parse_duration(text));
  const Duration least{std::max<std::int64_t>(option.min, 1)};
  const Duration most{std::min(option.max, kDurationMost)};
  if (duration >= least && duration <= most) return duration;
  return bad_value("'" + text + "' is too " + (duration < least ? "short" : "long") + ", must be " +
                   format_duration(least) + " to " + format_duration(most));
}

Result<bool> parse_switch(const std::string& text) {
  if (text == "true" || text == "1" || text == "yes" || text == "on") return true;
  if (text == "false" || text == "0" || text == "no" || text == "off") return false;
  return bad_value("'" + text + "' is not true or false");
}

Status check_choice(const std::vector<std::string>& choices, const std::string& text) {
  if (choices.empty()) return {};
  if (std::find(choices.begin(), choices.end(), text) != choices.end()) return {};
  return bad_value("'" + text + "' is not one of " + join(choices, ", "));
}

Status check_text(const Option& option, const std::string& text) {
  CARILLON_TRY(check_choice(option.choices, text));
  return option.check == nullptr ? Status{} : option.check(text);
}

}  // namespace

// Combines the values of all sources for one call of parse_configuration.
class ConfigurationReader {
 public:
  ConfigurationReader(const CommandLine& line, const Environment& environment,
                      const FileValues& file, std::string file_path)
      : line_(line), environment_(environment), file_(file), file_path_(std::move(file_path)) {}

  Result<Configuration> read(const Program& program) {
    for (const Option& option : program.options) CARILLON_TRY(read_option(option, true));
    if (line_.verb != nullptr) {
      for (const Option& option : line_.verb->options) CARILLON_TRY(read_option(option, false));
      CARILLON_TRY(read_positionals(program));
      result_.verb_ = line_.verb->name;
    } else if (!line_.positionals.empty()) {
      return bad_value("unexpected argument '" + line_.positionals.front() + "', " + program.name +
                       " takes flags only (see " + program.name + " --help)");
    }
    result_.rest_ = line_.rest;
    return std::move(result_);
  }

 private:
  // Parses all given values, weakest source first, so that a wrong value is an error even if
  // another source overrides it: otherwise the error would appear only when the override is
  // removed.
  Status read_option(const Option& option, bool all_sources) {
    Configuration::Value& value = add(option.name, option.kind);
    value.flag = flag_name(option);
    value.secret = option.secret;
    if (!option.fallback.empty()) {
      const Status status =
          set_value(option, OptionSource::kDefault, "default", {option.fallback}, true, value);
      CARILLON_ASSERT(status.ok(), "a declared default is valid");
    }
    if (all_sources) {
      CARILLON_TRY(read_file_value(option, value));
      CARILLON_TRY(read_environment(option, value));
    }
    return read_flag(option, value);
  }

  Status read_flag(const Option& option, Configuration::Value& value) const {
    const auto given = line_.values.find(option.name);
    if (given == line_.values.end()) return {};
    const std::string letter = option.letter == 0 ? "" : std::string{'-', option.letter} + ", ";
    const std::string flag = letter + "--" + flag_name(option);
    if (option.kind != OptionKind::kList && given->second.size() > 1) {
      return bad_value(flag + " was given twice");
    }
    return named(flag, set_value(option, OptionSource::kFlag, "flag", given->second,
                                 option.by_comma, value));
  }

  Status read_environment(const Option& option, Configuration::Value& value) const {
    const std::string name = environment_name(option.name);
    const auto found = environment_.get(name);
    if (!found) return {};
    const std::string place = "environment " + name;
    return named(place,
                 set_value(option, OptionSource::kEnvironment, place, {*found}, true, value));
  }

  Status read_file_value(const Option& option, Configuration::Value& value) const {
    const auto found = file_.find(file_key(option.name));
    if (found == file_.end()) return {};
    const FileValue& given = found->second;
    const std::string place = file_path_ + ":" + std::to_string(given.line);
    const std::string where = in_file(place, found->first);
    if (given.is_list && option.kind != OptionKind::kList) {
      return bad_value(where + ": expected one value, not a list");
    }
    return named(where,
                 set_value(option, OptionSource::kFile, place, given.texts, !given.is_list, value));
  }

  Status read_positionals(const Program& program) {
    std::size_t used = 0;
    const std::vector<Positional>& all = line_.verb->positionals;
    for (auto at = all.begin(); at != all.end(); ++at) {
      const Positional& positional = *at;
      Configuration::Value& value =
          add(positional.name, positional.many ? OptionKind::kList : OptionKind::kText);
      const std::size_t left = line_.positionals.size() - used;
      const auto needed = static_cast<std::size_t>(
          std::count_if(at, all.end(), [](const Positional& one) { return one.required; }));
      if (left == 0 || (!positional.required && left <= needed)) {
        if (positional.required) return bad_value(line_.verb->name + " needs " + positional.name);
        continue;
      }
      value.source = OptionSource::kFlag;
      value.place = "argument";
      const std::size_t taken = positional.many ? left : 1;
      for (std::size_t i = used; i < used + taken; ++i) {
        const std::string& text = line_.positionals[i];
        CARILLON_TRY(named(positional.name, check_choice(positional.choices, text)));
        if (positional.many) value.list.push_back(text);
        value.text = text;
      }
      used += taken;
    }
    if (used == line_.positionals.size()) return {};
    std::string hint =
        line_.verb->rest_placeholder.empty() ? "" : " (put a command to run after --)";
    if (const std::string more = second_words(program, line_.verb->name); !more.empty()) {
      hint = " (" + more + " may follow)";
    }
    return bad_value(line_.verb->name + ": unexpected argument '" + line_.positionals[used] + "'" +
                     hint);
  }

  Configuration::Value& add(const std::string& name, OptionKind kind) {
    const auto [entry, is_new] = result_.values_.emplace(name, Configuration::Value{});
    CARILLON_ASSERT(is_new, "each option is declared once");
    result_.order_.push_back(name);
    entry->second.kind = kind;
    return entry->second;
  }

  // The same status with the source of the value as prefix of its error.
  static Status named(const std::string& place, const Status& status) {
    if (status.ok()) return status;
    return status.error().with_context(place);
  }

  static Status set_value(const Option& option, OptionSource source, const std::string& place,
                          const std::vector<std::string>& texts, bool by_comma,
                          Configuration::Value& value) {
    value.source = source;
    value.place = place;
    value.list.clear();
    if (option.kind != OptionKind::kList) return set_one(option, texts.front(), value);
    for (const std::string& text : texts) {
      const std::vector<std::string> parts =
          by_comma ? split(text, ',') : std::vector<std::string>{text};
      if (parts.empty()) return bad_value("'" + text + "' has no entries (leave it out)");
      for (const std::string& part : parts) {
        CARILLON_TRY(check_text(option, part));
        value.list.push_back(part);
      }
    }
    return {};
  }

  static Status set_one(const Option& option, const std::string& text,
                        Configuration::Value& value) {
    value.text = text;
    switch (option.kind) {
      case OptionKind::kText:
        if (text.empty() && !option.if_empty.empty()) {
          return bad_value("'' is empty (" + option.if_empty + ")");
        }
        return check_text(option, text);
      case OptionKind::kNumber:
        value.number = CARILLON_TRY(parse_number(text, option));
        return {};
      case OptionKind::kDuration:
        value.duration = CARILLON_TRY(parse_duration_within(text, option));
        return {};
      case OptionKind::kSwitch:
        value.number = CARILLON_TRY(parse_switch(text)) ? 1 : 0;
        return {};
      case OptionKind::kList:
        break;
    }
    return {};
  }

  const CommandLine& line_;
  const Environment& environment_;
  const FileValues& file_;
  std::string file_path_;
  Configuration result_;
};

namespace {

Status check_file_keys(const Program& program, const FileValues& file, const std::string& path) {
  std::vector<std::string> keys;
  for (const Option& option : program.options) keys.push_back(file_key(option.name));
  for (const auto& [key, value] : file) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::string others = tables_with_key(key);
    return bad_value("configuration: " + path + ":" + std::to_string(value.line) +
                     ": unknown key '" + key + "'" +
                     (others.empty() ? did_you_mean(key, keys) : " (move it into " + others + ")"));
  }
  return {};
}

}  // namespace

bool Configuration::has(std::string_view name) const {
  return value(name).source != OptionSource::kUnset;
}

bool Configuration::was_given(std::string_view name) const {
  return value(name).source > OptionSource::kDefault;
}

const std::string& Configuration::text(std::string_view name) const {
  return value(name, OptionKind::kText).text;
}

const std::vector<std::string>& Configuration::list(std::string_view name) const {
  return value(name, OptionKind::kList).list;
}

bool Configuration::is_on(std::string_view name) const {
  return value(name, OptionKind::kSwitch).number != 0;
}

std::int64_t Configuration::number(std::string_view name) const {
  CARILLON_ASSERT(has(name), "only a number with a value can be read");
  return value(name, OptionKind::kNumber).number;
}

Duration Configuration::duration(std::string_view name) const {
  CARILLON_ASSERT(has(name), "only a duration with a value can be read");
  return value(name, OptionKind::kDuration).duration;
}

bool Configuration::has_flag(std::string_view name) const {
  return value(name).source == OptionSource::kFlag;
}

std::string Configuration::source(std::string_view name) const {
  const Value& found = value(name);
  if (found.source == OptionSource::kEnvironment) return found.place;
  if (found.source == OptionSource::kFile) return in_file(found.place, file_key(std::string{name}));
  return "--" + found.flag;
}

std::vector<EffectiveOption> Configuration::effective() const {
  std::vector<EffectiveOption> lines;
  for (const std::string& name : order_) {
    const Value& found = value(name);
    if (found.source == OptionSource::kUnset) continue;
    const std::string text = found.kind == OptionKind::kList ? join(found.list, ",") : found.text;
    lines.push_back({name, found.secret ? kMask : mask_secrets(text), found.place});
  }
  return lines;
}

const Configuration::Value& Configuration::value(std::string_view name) const {
  const auto found = values_.find(name);
  CARILLON_ASSERT(found != values_.end(), "only declared options can be read");
  return found->second;
}

const Configuration::Value& Configuration::value(std::string_view name, OptionKind kind) const {
  const Value& found = value(name);
  CARILLON_ASSERT(found.kind == kind, "an option is read as its declared kind");
  return found;
}

Result<Parsed> parse_configuration(const Program& program,
                                   const std::vector<std::string>& arguments,
                                   const Environment& environment) {
  const CommandLine line = CARILLON_TRY(read_command_line(program, arguments));
  Parsed parsed;
  if (line.version) {
    parsed.print = program.name + " " + CARILLON_VERSION + " (carillon)\n";
    return parsed;
  }
  if (!line.completion.empty()) {
    parsed.print = CARILLON_TRY(completion_script(program, line.completion));
    return parsed;
  }
  if (line.help) {
    parsed.print = line.first_word.empty() ? help_text(program, line.verb)
                                           : help_text(program, line.first_word);
    return parsed;
  }
  std::string path = line.config;
  const Environment read = program.reads_environment ? environment : Environment{};
  if (path.empty()) path = read.get(environment_name("config")).value_or("");
  FileValues file;
  if (!path.empty()) {
    file = CARILLON_TRY(read_configuration_file(path, program.name));
    CARILLON_TRY(check_file_keys(program, file, path));
  }
  ConfigurationReader reader{line, read, file, path};
  parsed.configuration = CARILLON_TRY(reader.read(program));
  return parsed;
}

Result<Parsed> parse_configuration(const Program& program, int argc, const char* const* argv) {
  return parse_configuration(program,
                             std::vector<std::string>{argv + std::min(argc, 1), argv + argc},
                             Environment::of_process());
}

std::string environment_name(std::string_view option) {
  std::string name = "CARILLON_";
  for (const char c : option) {
    name += c == '-' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return name;
}

std::string mask_secrets(std::string_view url) {
  const auto scheme = url.find("://");
  if (scheme == std::string_view::npos) return std::string{url};
  // A password may contain any character, so it ends at the last @; it is better to mask too much.
  const auto at = url.rfind('@');
  const auto colon = url.find(':', scheme + 3);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon > at) {
    return std::string{url};
  }
  return std::string{url.substr(0, colon + 1)} + kMask + std::string{url.substr(at)};
}

}  // namespace carillon
