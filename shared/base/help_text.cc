#include <algorithm>

#include "shared/base/configuration.h"
#include "shared/base/joined.h"

namespace carillon {
namespace {

constexpr std::size_t kWidth = 96;
constexpr std::size_t kIndent = 2;
// Column of explanations; after a longer flag the explanation starts on the next line.
constexpr std::size_t kColumn = 30;

// Wraps the words of `text` to kWidth; the first line starts at `column`. Keeps line ends in
// `text`.
void append_wrapped(std::string& out, std::string_view text, std::size_t indent,
                    std::size_t column) {
  std::size_t position = 0;
  bool at_start = true;
  while (position < text.size()) {
    if (text[position] == '\n') {
      out += '\n';
      column = 0;
      at_start = true;
      ++position;
      continue;
    }
    if (text[position] == ' ') {
      ++position;
      continue;
    }
    const std::size_t end = std::min(text.find_first_of(" \n", position), text.size());
    const std::string_view word = text.substr(position, end - position);
    if (!at_start && column + 1 + word.size() > kWidth) {
      out += '\n';
      column = 0;
      at_start = true;
    }
    if (at_start && column < indent) {
      out.append(indent - column, ' ');
      column = indent;
    } else if (!at_start) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
    at_start = false;
    position = end;
  }
  out += '\n';
}

void append_entry(std::string& out, const std::string& left, const std::string& right) {
  out.append(kIndent, ' ');
  out += left;
  std::size_t column = kIndent + left.size();
  if (column + 2 > kColumn) {
    out += '\n';
    column = 0;
  }
  append_wrapped(out, right, kColumn, column);
}

void append_heading(std::string& out, const std::string& heading) { out += "\n" + heading + "\n"; }

void append_option(std::string& out, const Option& option, bool with_environment) {
  std::string left = option.letter == 0 ? "" : std::string{"-"} + option.letter + ", ";
  left += "--" + flag_name(option);
  if (option.kind != OptionKind::kSwitch) {
    left += ' ' + (option.placeholder.empty() ? "VALUE" : option.placeholder);
  }
  std::string right = option.help;
  if (option.kind == OptionKind::kList) right += " (may be repeated)";
  if (!option.choices.empty()) right += "\nOne of " + joined(option.choices, ", ") + ".";
  std::string facts;
  if (!option.fallback_help.empty()) {
    facts = "default: " + option.fallback_help;
  } else if (!option.fallback.empty()) {
    facts = "default: " + option.fallback;
  }
  if (with_environment) facts += (facts.empty() ? "" : ", ") + environment_name(option.name);
  if (!facts.empty()) right += "\n[" + facts + "]";
  append_entry(out, left, right);
}

// Options under their headings, in the order of the headings' first use.
void append_options(std::string& out, const std::vector<Option>& options, bool with_environment) {
  std::vector<std::string> sections;
  for (const Option& option : options) {
    if (std::find(sections.begin(), sections.end(), option.section) == sections.end()) {
      sections.push_back(option.section);
    }
  }
  for (const std::string& section : sections) {
    append_heading(out, section);
    for (const Option& option : options) {
      if (option.section == section) append_option(out, option, with_environment);
    }
  }
}

void append_verbs(std::string& out, const std::vector<Verb>& verbs) {
  std::vector<std::string> sections;
  for (const Verb& verb : verbs) {
    if (std::find(sections.begin(), sections.end(), verb.section) == sections.end()) {
      sections.push_back(verb.section);
    }
  }
  for (const std::string& section : sections) {
    append_heading(out, section);
    for (const Verb& verb : verbs) {
      if (verb.section == section) append_entry(out, verb.name, verb.summary);
    }
  }
}

// The verbs with this first word and a second one.
std::vector<Verb> verbs_behind(const Program& program, const std::string& first_word) {
  std::vector<Verb> verbs;
  for (const Verb& verb : program.verbs) {
    if (!verb.name.starts_with(first_word + " ")) continue;
    verbs.push_back(verb);
    verbs.back().section = "Verbs";
  }
  return verbs;
}

void append_positionals(std::string& out, const Verb& verb) {
  if (verb.positionals.empty()) return;
  append_heading(out, "Arguments");
  for (const Positional& positional : verb.positionals) {
    std::string help = positional.help;
    if (!positional.choices.empty()) help += "\nOne of " + joined(positional.choices, ", ") + ".";
    append_entry(out, positional.name, help);
  }
}

void append_examples(std::string& out, const std::string& examples) {
  if (examples.empty()) return;
  append_heading(out, "Examples");
  std::size_t start = 0;
  while (start < examples.size()) {
    const std::size_t end = std::min(examples.find('\n', start), examples.size());
    const bool is_indented = end == start || examples[start] == ' ';
    out.append(is_indented ? 0 : kIndent, ' ');
    out += examples.substr(start, end - start) + "\n";
    start = end + 1;
  }
}

std::string usage(const Program& program, const Verb* verb) {
  std::string text = "Usage: " + program.name;
  if (verb == nullptr) {
    return text + (program.verbs.empty() ? " [OPTION]..." : " [OPTION]... VERB [ARGUMENT]...");
  }
  text += " " + verb->name;
  if (!verb->options.empty()) text += " [OPTION]...";
  for (const Positional& positional : verb->positionals) {
    const std::string name = positional.name + (positional.many ? "..." : "");
    text += positional.required ? " " + name : " [" + name + "]";
  }
  if (!verb->rest_placeholder.empty()) text += " [-- " + verb->rest_placeholder + "]";
  return text;
}

// An example line of the configuration file from an option of the program: log_level = "debug".
std::string file_example(const Program& program) {
  for (const Option& option : program.options) {
    if (option.choices.empty() || option.kind != OptionKind::kText) continue;
    std::string key = option.name;
    std::replace(key.begin(), key.end(), '-', '_');
    return ": " + key + " = \"" + option.choices.front() + "\"";
  }
  return {};
}

void append_common_options(std::string& out, const Program& program) {
  append_heading(out, "Always");
  append_entry(out, "--config FILE",
               "Read settings from this TOML file. Its keys are the flags, with _ instead of -" +
                   file_example(program) + "." +
                   (program.reads_environment ? "\n[CARILLON_CONFIG]" : ""));
  append_entry(out, "-h, --help", "Show this text.");
  append_entry(out, "--version", "Show the version.");
  append_entry(
      out, "--completion SHELL",
      "Print a completion script for bash or zsh. Source it in your shell's startup file.");
}

std::string how_to_ask(const Program& program) {
  return "\n'" + program.name + " VERB --help' explains a verb.\n";
}

}  // namespace

std::string help_text(const Program& program, const std::string& first_word) {
  std::string out = "Usage: " + program.name + " " + first_word + " ...\n";
  append_verbs(out, verbs_behind(program, first_word));
  return out + how_to_ask(program);
}

std::string help_text(const Program& program, const Verb* verb) {
  std::string out = usage(program, verb) + "\n\n";
  if (verb != nullptr) {
    append_wrapped(out, verb->description.empty() ? verb->summary : verb->description, 0, 0);
    append_verbs(out, verbs_behind(program, verb->name));
    append_positionals(out, *verb);
    append_options(out, verb->options, false);
    std::vector<Option> shared = options_after(program, verb);
    for (Option& option : shared) option.section = "Options of every verb";
    append_options(out, shared, program.reads_environment);
    append_examples(out, verb->examples);
    return out;
  }
  append_wrapped(out, program.summary, 0, 0);
  if (!program.description.empty()) {
    out += '\n';
    append_wrapped(out, program.description, 0, 0);
  }
  append_verbs(out, program.verbs);
  append_options(out, program.options, program.reads_environment);
  append_common_options(out, program);
  append_examples(out, program.examples);
  if (program.verbs.empty()) {
    out += "\n";
    append_wrapped(out,
                   "The value of a setting comes from its flag, its environment variable, the "
                   "configuration file or its default, in this order.",
                   0, 0);
  } else {
    out += how_to_ask(program);
  }
  return out;
}

}  // namespace carillon
