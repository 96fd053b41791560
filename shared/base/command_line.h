#pragma once

#include <map>
#include <string>
#include <vector>

#include "shared/base/configuration.h"

namespace carillon {

// What stands on a command line, sorted by a program's declarations but not yet understood.
struct CommandLine {
  bool help = false;
  bool version = false;
  std::string completion{};    // the shell of --completion; empty: not asked for
  std::string config{};        // the file of --config; empty: not given
  const Verb* verb = nullptr;  // of the program that was passed in
  std::string first_word{};    // of several verbs, where help is asked for; empty: for `verb`
  std::map<std::string, std::vector<std::string>> values{};  // by option name, in order
  std::vector<std::string> positionals{};
  std::vector<std::string> rest{};  // what followed "--"
};

// What may stand behind the first word of verbs: "'add' or 'remove'". Empty: nothing.
std::string second_words(const Program& program, const std::string& first_word);

// Refuses unknown flags and verbs, and flags without their value.
Result<CommandLine> read_command_line(const Program& program,
                                      const std::vector<std::string>& arguments);

}  // namespace carillon
