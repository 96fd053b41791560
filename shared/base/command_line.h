#pragma once

#include <map>
#include <string>
#include <vector>

#include "shared/base/configuration.h"

namespace carillon {

// A parsed command line, before its values are checked.
struct CommandLine {
  bool help = false;
  bool version = false;
  std::string completion{};    // the shell of --completion; empty: not given
  std::string config{};        // the file of --config; empty: not given
  const Verb* verb = nullptr;  // of the program that was passed in
  std::string first_word{};    // help for all verbs with this first word; empty: for `verb`
  std::map<std::string, std::vector<std::string>> values{};  // by option name, in order
  std::vector<std::string> positionals{};
  std::vector<std::string> rest{};  // the arguments after "--"
};

// The second words of verbs with this first word: "'add' or 'remove'". Empty: none.
std::string second_words(const Program& program, const std::string& first_word);

// Rejects unknown flags and verbs, and flags without a value.
Result<CommandLine> read_command_line(const Program& program,
                                      const std::vector<std::string>& arguments);

}  // namespace carillon
