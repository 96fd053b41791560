#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/base/environment.h"

// Settings of the programs: a program declares its options as data, and gets flags, environment
// variables, TOML keys, --help and shell completion.
//
// A setting has the value of the first of: flag (--log-level), environment (CARILLON_LOG_LEVEL),
// file (log_level, in the table with the program's name or above all tables), default. Options of
// one verb (jobclient's submit --task-id) can be set only on the command line. All programs accept
// --config FILE, --help, --version and --completion SHELL.
//
// Errors name the source of the bad value and the remedy. Reading an undeclared option, or one as
// another kind, is a bug and stops the process.
//
// Thread: any, after parsing.
namespace carillon {

enum class OptionKind : int {
  kText = 0,
  kNumber = 1,    // an integer
  kDuration = 2,  // 500ms 3s 5m 1h30m
  kSwitch = 3,    // --insecure; in environment and file: true or false
  kList = 4,      // --label A --label B; in the environment: A,B; in the file: ["A", "B"]
};

struct Option {
  std::string name{};  // "log-level"
  char letter = 0;     // 'o' for -o; 0: none
  OptionKind kind = OptionKind::kText;
  std::string placeholder{};               // "LEVEL", for --help
  std::string help{};                      // a sentence or two
  std::vector<std::string> also_called{};  // what people type instead; the error names the option
  std::string fallback{};       // default, as text (list items separated by commas); empty: unset
  std::string fallback_help{};  // shown in --help instead of fallback: "one per core"
  std::vector<std::string> choices{};  // the only allowed words; empty: any
  std::int64_t min = 0;                // kNumber: minimum and maximum; kDuration: in microseconds
  std::int64_t max = INT64_MAX;
  Status (*check)(const std::string& text) =
      nullptr;                      // kText, or each item of a kList: checks its form
  std::string section = "Options";  // heading in --help
  bool by_comma = false;  // kList: a flag value "a,b" has two items, as in the environment
  // kText: the hint after "is empty"; an empty value is then an error. kNumber: the same for a
  // value that is too small; kDuration: for zero.
  std::string if_empty{};
  bool secret = false;  // masked in effective()
  // The flag's name, where it differs: "http". A verb's option may have the same flag, which then
  // is this one's before the verb, and the other's after it.
  std::string flag{};
};

// The name of an option's flag.
inline const std::string& flag_name(const Option& option) {
  return option.flag.empty() ? option.name : option.flag;
}

// An argument without a flag. It is read by name, like an option.
struct Positional {
  std::string name{};  // "TASK_ID"
  std::string help{};
  bool required = true;
  bool many = false;  // kList with all remaining arguments; otherwise kText
  std::vector<std::string> choices{};
};

struct Verb {
  std::string name{};     // "submit", or two words: "groups add"
  std::string summary{};  // one line in the program's --help
  std::string description{};
  std::vector<std::string> also_called{};  // what people type instead; the error names the verb
  std::vector<Option> options{};
  std::vector<Positional> positionals{};
  std::string
      rest_placeholder{};  // "PROGRAM [ARGUMENT]...": the arguments after "--"; empty: not allowed
  std::string examples{};  // lines to type, under a heading
  std::string section = "Verbs";  // heading in the program's --help
};

struct Program {
  std::string name{};  // "jobtracker"
  std::string summary{};
  std::string description{};
  std::vector<Option> options{};  // a program with verbs accepts them before and after the verb
  std::vector<Verb> verbs{};      // empty: a program without verbs; otherwise a verb is required
  std::string examples{};
  bool reads_environment = true;  // and --help names the variables
};

// The program's options after a verb: those whose flag is not the verb's. nullptr: no verb.
std::vector<Option> options_after(const Program& program, const Verb* verb);

// Where a value came from.
enum class OptionSource : int { kUnset = 0, kDefault = 1, kFile = 2, kEnvironment = 3, kFlag = 4 };

// One line of effective().
struct EffectiveOption {
  std::string name{};
  std::string value{};
  std::string source{};  // "flag", "environment CARILLON_LISTEN", "/etc/carillon.toml:3", "default"
};

class Configuration {
 public:
  // Empty for a program without verbs.
  const std::string& verb() const { return verb_; }
  // The arguments after "--".
  const std::vector<std::string>& rest() const { return rest_; }

  // Whether it has a value, including a default.
  bool has(std::string_view name) const;
  // Whether a flag, the environment or the file sets it.
  bool was_given(std::string_view name) const;

  // Requires: declared with this kind. An unset text or list is empty, an unset switch is off.
  const std::string& text(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const;
  bool is_on(std::string_view name) const;
  // Requires: declared with this kind, and has(name).
  std::int64_t number(std::string_view name) const;
  Duration duration(std::string_view name) const;

  // Whether a flag sets it.
  bool has_flag(std::string_view name) const;
  // The prefix of errors about the value: "--listen", "environment CARILLON_LISTEN",
  // "configuration: FILE:3: listen".
  std::string source(std::string_view name) const;

  // All options with a value, in declaration order, with masked passwords: for the log.
  std::vector<EffectiveOption> effective() const;

 private:
  friend class ConfigurationReader;

  struct Value {
    OptionKind kind = OptionKind::kText;
    OptionSource source = OptionSource::kUnset;
    std::string flag{};
    std::string place{};  // "environment CARILLON_X", "FILE:3"
    bool secret = false;
    std::string text{};
    std::vector<std::string> list{};
    std::int64_t number = 0;
    Duration duration{};
  };
  const Value& value(std::string_view name) const;
  const Value& value(std::string_view name, OptionKind kind) const;

  std::map<std::string, Value, std::less<>> values_;
  std::vector<std::string> order_;
  std::string verb_;
  std::vector<std::string> rest_;
};

// The result of a command line.
struct Parsed {
  // For --help, --version and --completion: print this on stdout and exit with 0.
  std::optional<std::string> print{};
  // Otherwise: the settings.
  Configuration configuration{};
};

// `arguments`: argv without the program name. Print an error as "PROGRAM: message" and exit with 2.
Result<Parsed> parse_configuration(const Program& program,
                                   const std::vector<std::string>& arguments,
                                   const Environment& environment);
Result<Parsed> parse_configuration(const Program& program, int argc, const char* const* argv);

// The environment variable of an option: CARILLON_LOG_LEVEL for "log-level".
std::string environment_name(std::string_view option);

// The text of --help for the program or a verb.
std::string help_text(const Program& program, const Verb* verb = nullptr);
// The same for all verbs with this first word.
std::string help_text(const Program& program, const std::string& first_word);

// A script for "bash" or "zsh" that completes verbs, flags and fixed words.
Result<std::string> completion_script(const Program& program, std::string_view shell);

// A URL without its password: "mysql://app:***@db:3306/carillon".
std::string mask_secrets(std::string_view url);

}  // namespace carillon
