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

// How every program of Carillon gets its settings: it declares them once, as plain data, and the
// flags, environment variables, keys of the TOML file, --help and shell completion follow.
//
// A setting comes from the first of: flag (--log-level), environment (CARILLON_LOG_LEVEL), file
// (log_level, in the table named like the program or above all tables), default. What belongs to
// one verb (jobclient's submit --task-id) comes from the command line only. Every program takes
// --config FILE, --help, --version and --completion SHELL without declaring them.
//
// Errors name the source of the bad value and the fix. Asking a Configuration for a name that was
// not declared, or as another kind than declared, is a bug and stops the process.
//
// Thread: any, once parsed.
namespace carillon {

enum class OptionKind : int {
  kText = 0,
  kNumber = 1,    // whole
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
  std::string fallback{};              // default, as text (a list's parts by comma); empty: unset
  std::string fallback_help{};         // instead of fallback in --help: "one per core"
  std::vector<std::string> choices{};  // the only words it takes; empty: any
  std::int64_t min = 0;                // kNumber: least and most; kDuration: of microseconds
  std::int64_t max = INT64_MAX;
  Status (*check)(const std::string& text) = nullptr;  // kText, or each of a kList: its form
  std::string section = "Options";                     // heading in --help
  bool by_comma = false;  // kList: a flag's "a,b" is two values, as it is in the environment
  // kText: an empty value is refused, and this says what to do instead; kNumber: the same of one
  // that is too small; kDuration: of zero.
  std::string if_empty{};
  bool secret = false;  // masked in effective()
};

// An argument without a flag. Its value is asked for by name, like an option's.
struct Positional {
  std::string name{};  // "TASK_ID"
  std::string help{};
  bool required = true;
  bool many = false;  // kList, takes all that is left; otherwise kText
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
      rest_placeholder{};  // "PROGRAM [ARGUMENT]...": takes what follows "--"; empty: nothing may
  std::string examples{};  // lines to type, below a heading
  std::string section = "Verbs";  // heading in the program's --help
};

struct Program {
  std::string name{};  // "jobtracker"
  std::string summary{};
  std::string description{};
  std::vector<Option> options{};  // a program with verbs takes them before and after the verb
  std::vector<Verb> verbs{};      // empty: a program without verbs; otherwise one must be given
  std::string examples{};
  bool reads_environment = true;  // and --help names the variables
};

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
  // What followed "--".
  const std::vector<std::string>& rest() const { return rest_; }

  // Whether it has any value, a default included.
  bool has(std::string_view name) const;
  // Whether somebody set it: by flag, environment or file.
  bool was_given(std::string_view name) const;

  // Requires: declared with that kind. An unset text or list is empty, an unset switch is off.
  const std::string& text(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const;
  bool is_on(std::string_view name) const;
  // Requires: declared with that kind, and has(name).
  std::int64_t number(std::string_view name) const;
  Duration duration(std::string_view name) const;

  // What an error about the value begins with: "--listen", "environment CARILLON_LISTEN",
  // "configuration: FILE:3: listen".
  std::string source(std::string_view name) const;

  // Every option that has a value, in the order of declaration, passwords masked: for the log.
  std::vector<EffectiveOption> effective() const;

 private:
  friend class ConfigurationReader;

  struct Value {
    OptionKind kind = OptionKind::kText;
    OptionSource source = OptionSource::kUnset;
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

// What a command line comes to.
struct Parsed {
  // --help, --version or --completion was asked for: print this on stdout and exit with 0.
  std::optional<std::string> print{};
  // Otherwise: the settings.
  Configuration configuration{};
};

// `arguments` are argv without the program's own name. The error's message is to be printed as
// "PROGRAM: message", and the program to exit with 2.
Result<Parsed> parse_configuration(const Program& program,
                                   const std::vector<std::string>& arguments,
                                   const Environment& environment);
Result<Parsed> parse_configuration(const Program& program, int argc, const char* const* argv);

// The variable of an option: CARILLON_LOG_LEVEL of "log-level".
std::string environment_name(std::string_view option);

// The text of --help; of the whole program, or of one verb.
std::string help_text(const Program& program, const Verb* verb = nullptr);
// Of all verbs that begin with this word.
std::string help_text(const Program& program, const std::string& first_word);

// A script for "bash" or "zsh" that completes verbs, flags and fixed words.
Result<std::string> completion_script(const Program& program, std::string_view shell);

// An URL without its password: "mysql://app:***@db:3306/carillon".
std::string mask_secrets(std::string_view url);

}  // namespace carillon
