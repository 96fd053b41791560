#include "shared/base/command_line.h"

#include <algorithm>

#include <CLI/CLI.hpp>

#include "shared/base/nearest_word.h"

namespace carillon {
namespace {

constexpr const char* kHelp = "help";
constexpr const char* kVersion = "version";
constexpr const char* kCompletion = "completion";
constexpr const char* kConfig = "config";

Error wrong_usage(const std::string& what) { return {ErrorCode::kInvalidArgument, what}; }

std::string flag_names(const Option& option) {
  const std::string flag = "--" + flag_name(option);
  return option.letter == 0 ? flag : std::string{"-"} + option.letter + "," + flag;
}

// Values stay text here: they are converted together with those of the other sources.
void declare(CLI::App& app, const Option& option) {
  if (option.kind == OptionKind::kSwitch) {
    app.add_flag(flag_names(option))->take_all();
  } else {
    app.add_option(flag_names(option))->take_all();
  }
}

void declare_common(CLI::App& app) {
  app.set_help_flag();
  app.add_flag(std::string{"-h,--"} + kHelp);
  app.add_flag(std::string{"--"} + kVersion);
  app.add_option(std::string{"--"} + kCompletion)->take_all();
  app.add_option(std::string{"--"} + kConfig)->take_all();
}

// CLI11 would use a following flag as the value of a flag without one.
Status check_values(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i + 1 < arguments.size() && arguments[i] != "--"; ++i) {
    const CLI::Option* const option = app.get_option_no_throw(arguments[i]);
    if (option == nullptr && app.get_prefix_command())
      return {};  // The verb's options from here on.
    if (option == nullptr || option->get_expected_min() == 0) continue;
    const std::string& value = arguments[++i];
    if (!value.starts_with("--")) continue;
    return wrong_usage(arguments[i - 1] + " needs a value, got '" + value + "' (write --" +
                       option->get_lnames().front() + "=" + value + " if this value is intended)");
  }
  return {};
}

// The only place that converts exceptions of CLI11 to errors.
Status run(CLI::App& app, const std::vector<std::string>& arguments) {
  CARILLON_TRY(check_values(app, arguments));
  try {
    app.parse(std::vector<std::string>{arguments.rbegin(), arguments.rend()});
    return {};
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    return wrong_usage(text.substr(0, text.find(':')) + " needs a value");
  } catch (const CLI::Error& error) {
    return wrong_usage(error.what());
  }
}

void collect(const CLI::App& app, const std::vector<Option>& options, CommandLine& line) {
  for (const Option& option : options) {
    const std::vector<std::string>& found = app.get_option("--" + flag_name(option))->results();
    if (found.empty()) continue;
    std::vector<std::string>& values = line.values[option.name];
    values.insert(values.end(), found.begin(), found.end());
  }
}

Status collect_once(const CLI::App& app, const std::string& name, std::string& value) {
  const std::vector<std::string>& found = app.get_option("--" + name)->results();
  if (found.empty()) return {};
  if (found.size() > 1 || !value.empty()) return wrong_usage("--" + name + " was given twice");
  value = found.front();
  return {};
}

Status collect_common(const CLI::App& app, const std::vector<Option>& options, CommandLine& line) {
  line.help = line.help || app.count(std::string{"--"} + kHelp) > 0;
  line.version = line.version || app.count(std::string{"--"} + kVersion) > 0;
  CARILLON_TRY(collect_once(app, kCompletion, line.completion));
  CARILLON_TRY(collect_once(app, kConfig, line.config));
  collect(app, options, line);
  return {};
}

bool only_prints(const CommandLine& line) {
  return line.help || line.version || !line.completion.empty();
}

std::vector<std::string> words_of(const std::string& name) {
  std::vector<std::string> words;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= name.size(); ++i) {
    if (i < name.size() && name[i] != ' ') continue;
    words.push_back(name.substr(start, i - start));
    start = i + 1;
  }
  return words;
}

struct FoundVerb {
  const Verb* verb = nullptr;
  std::size_t words = 0;
};

// The verb with the longest matching name at the start of `arguments`.
FoundVerb find_verb(const Program& program, const std::vector<std::string>& arguments) {
  FoundVerb found;
  for (const Verb& verb : program.verbs) {
    const std::vector<std::string> words = words_of(verb.name);
    if (words.size() > arguments.size() || words.size() <= found.words) continue;
    if (std::equal(words.begin(), words.end(), arguments.begin())) found = {&verb, words.size()};
  }
  return found;
}

bool asks_help(const CommandLine& line, const std::vector<std::string>& arguments) {
  return line.help || std::find(arguments.begin(), arguments.end(), "--help") != arguments.end() ||
         std::find(arguments.begin(), arguments.end(), "-h") != arguments.end();
}

// Help for the first word of verbs is help for the verb, if there is only one. False: there is
// none.
bool find_verbs_for_help(const Program& program, const std::string& word, CommandLine& line) {
  int found = 0;
  for (const Verb& verb : program.verbs) {
    if (words_of(verb.name).front() != word) continue;
    line.verb = ++found == 1 ? &verb : nullptr;
    line.first_word = found == 1 ? "" : word;
  }
  line.help = line.help || found > 0;
  return found > 0;
}

bool is_called(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string meant_text(const std::string& name) { return " (did you mean '" + name + "'?)"; }

Error unknown_verb(const Program& program, const std::vector<std::string>& arguments) {
  const std::string more = second_words(program, arguments.front());
  if (!more.empty()) return wrong_usage("'" + arguments.front() + "' needs " + more + " after it");
  const std::string& word = arguments.front();
  std::vector<std::string> first_words;
  std::string meant;
  if (word == kVersion) meant = std::string{"--"} + kVersion;
  for (const Verb& verb : program.verbs) {
    first_words.push_back(words_of(verb.name).front());
    if (is_called(verb.also_called, word)) meant = verb.name;
  }
  return wrong_usage("unknown verb '" + word + "'" +
                     (meant.empty() ? did_you_mean(word, first_words) : meant_text(meant)) +
                     ", see " + program.name + " --help");
}

Error unknown_flag(const Program& program, const Verb* verb, const std::string& argument) {
  const std::string flag = argument.substr(0, argument.find('='));
  std::vector<std::string> known{"--help", "--version", "--config", "--completion"};
  for (const Option& option : program.options) {
    // A typing error must not suggest a flag that disables protection.
    if (option.name != "insecure") known.push_back("--" + flag_name(option));
  }
  std::string help = program.name + " --help";
  std::string meant;
  if (verb != nullptr) {
    for (const Option& option : verb->options) {
      known.push_back("--" + flag_name(option));
      if (flag.starts_with("--") && is_called(option.also_called, flag.substr(2)))
        meant = known.back();
    }
    help = program.name + " " + verb->name + " --help";
  }
  return wrong_usage("unknown flag '" + flag + "'" +
                     (meant.empty() ? did_you_mean(flag, known) : meant_text(meant)) + ", see " +
                     help);
}

// "help submit" equals "submit --help", with any other flags.
void take_help_word(std::vector<std::string>& arguments, CommandLine& line) {
  if (arguments.empty() || arguments.front() != kHelp) return;
  line.help = true;
  arguments.erase(arguments.begin());
  std::erase_if(arguments, [](const std::string& argument) { return argument.starts_with('-'); });
}

// Parses the flags before the verb, and finds and removes the verb.
Result<CommandLine> read_before_verb(const Program& program, std::vector<std::string>& arguments) {
  CommandLine line;
  CLI::App app;
  declare_common(app);
  for (const Option& option : program.options) declare(app, option);
  app.prefix_command();
  CARILLON_TRY(run(app, arguments));
  CARILLON_TRY(collect_common(app, program.options, line));
  arguments = app.remaining();
  take_help_word(arguments, line);
  if (arguments.empty()) {
    if (only_prints(line)) return line;
    return wrong_usage("a verb is needed, see " + program.name + " --help");
  }
  if (arguments.front().starts_with('-')) {
    return unknown_flag(program, nullptr, arguments.front());
  }
  const FoundVerb found = find_verb(program, arguments);
  if (found.verb == nullptr) {
    const bool is_helped =
        asks_help(line, arguments) && find_verbs_for_help(program, arguments.front(), line);
    if (is_helped) return line;
    return unknown_verb(program, arguments);
  }
  line.verb = found.verb;
  arguments.erase(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(found.words));
  return line;
}

// The rest from CLI11: positional arguments, and undeclared flags.
Status collect_positionals(const Program& program, const std::vector<std::string>& left,
                           CommandLine& line) {
  bool only_positionals = false;
  for (const std::string& argument : left) {
    if (!only_positionals && argument == "--") {
      only_positionals = true;
    } else if (!only_positionals && argument.size() > 1 && argument.starts_with('-')) {
      return unknown_flag(program, line.verb, argument);
    } else {
      line.positionals.push_back(argument);
    }
  }
  return {};
}

}  // namespace

std::vector<Option> options_after(const Program& program, const Verb* verb) {
  std::vector<Option> options = program.options;
  if (verb == nullptr) return options;
  std::erase_if(options, [&](const Option& one) {
    return std::any_of(verb->options.begin(), verb->options.end(),
                       [&](const Option& other) { return flag_name(other) == flag_name(one); });
  });
  return options;
}

std::string second_words(const Program& program, const std::string& first_word) {
  std::string all;
  for (const Verb& verb : program.verbs) {
    const std::vector<std::string> words = words_of(verb.name);
    if (words.size() < 2 || words.front() != first_word) continue;
    all += (all.empty() ? "'" : " or '") + words[1] + "'";
  }
  return all;
}

Result<CommandLine> read_command_line(const Program& program,
                                      const std::vector<std::string>& arguments) {
  CommandLine line;
  std::vector<std::string> left = arguments;
  if (program.verbs.empty()) {
    take_help_word(left, line);
  } else {
    line = CARILLON_TRY(read_before_verb(program, left));
    if (line.verb == nullptr) return line;
  }
  if (line.verb != nullptr && !line.verb->rest_placeholder.empty()) {
    const auto dashes = std::find(left.begin(), left.end(), "--");
    if (dashes != left.end()) {
      line.rest.assign(dashes + 1, left.end());
      if (line.rest.empty()) {
        return wrong_usage("nothing follows -- (write " + line.verb->rest_placeholder +
                           " there, or leave out the --)");
      }
    }
    left.erase(dashes, left.end());
  }
  CLI::App app;
  declare_common(app);
  app.allow_extras();
  const std::vector<Option> shared = options_after(program, line.verb);
  for (const Option& option : shared) declare(app, option);
  if (line.verb != nullptr) {
    for (const Option& option : line.verb->options) declare(app, option);
  }
  CARILLON_TRY(run(app, left));
  CARILLON_TRY(collect_common(app, shared, line));
  if (line.verb != nullptr) collect(app, line.verb->options, line);
  if (only_prints(line)) return line;
  CARILLON_TRY(collect_positionals(program, app.remaining(), line));
  return line;
}

}  // namespace carillon
