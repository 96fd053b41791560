#include <algorithm>
#include <set>

#include "shared/base/configuration.h"
#include "shared/base/joined.h"

namespace carillon {
namespace {

std::string first_word(const std::string& name) { return name.substr(0, name.find(' ')); }

std::string second_word(const std::string& name) {
  const auto space = name.find(' ');
  return space == std::string::npos ? "" : name.substr(space + 1);
}

// Declared like other options, so that they complete like them.
std::vector<Option> common_options() {
  return {{.name = "config", .placeholder = "FILE", .help = "TOML file with settings"},
          {.name = "completion",
           .placeholder = "SHELL",
           .help = "print a completion script",
           .choices = {"bash", "zsh"}},
          {.name = "help", .letter = 'h', .kind = OptionKind::kSwitch, .help = "show help"},
          {.name = "version", .kind = OptionKind::kSwitch, .help = "show the version"}};
}

std::vector<Option> global_options(const Program& program, const Verb* verb = nullptr) {
  std::vector<Option> options = options_after(program, verb);
  for (Option& option : common_options()) options.push_back(std::move(option));
  return options;
}

bool takes_file(const std::string& placeholder) {
  return placeholder == "FILE" || placeholder == "DIR" || placeholder == "PATH";
}

std::vector<std::string> flags_of(const std::vector<Option>& options) {
  std::vector<std::string> flags;
  for (const Option& option : options) {
    if (option.letter != 0) flags.push_back(std::string{"-"} + option.letter);
    flags.push_back("--" + flag_name(option));
  }
  return flags;
}

// The first words of all verbs, or the words that may follow `after`.
std::vector<std::string> verb_words(const Program& program, const std::string& after = {}) {
  std::vector<std::string> words;
  for (const Verb& verb : program.verbs) {
    std::string word = after.empty() ? first_word(verb.name) : second_word(verb.name);
    if (!after.empty() && first_word(verb.name) != after) continue;
    if (word.empty() || std::find(words.begin(), words.end(), word) != words.end()) continue;
    words.push_back(std::move(word));
  }
  return words;
}

// The bash cases for words and files that may follow a flag; `verb` restricts them to flags of that
// verb.
std::string bash_values(const std::vector<Option>& options, const std::string& verb) {
  std::string out;
  for (const Option& option : options) {
    const bool is_file = takes_file(option.placeholder);
    if (option.choices.empty() && !is_file) continue;
    const std::string start = "    " + (verb.empty() ? "*" : "'" + verb + "'*") + ":";
    out += start + "--" + flag_name(option);
    if (option.letter != 0) out += "|" + start.substr(4) + "-" + option.letter;
    // bash completes files itself.
    out += is_file ? ") return ;;\n"
                   : ") COMPREPLY=($(compgen -W '" + joined(option.choices, " ") +
                         "' -- \"$word\")); return ;;\n";
  }
  return out;
}

// The bash case for the words that may follow a verb.
std::string bash_verb(const Program& program, const Verb& verb) {
  std::vector<std::string> words = verb_words(program, verb.name);
  bool has_file = false;
  for (const Positional& positional : verb.positionals) {
    words.insert(words.end(), positional.choices.begin(), positional.choices.end());
    has_file = has_file || takes_file(positional.name);
  }
  std::string out = "    '" + verb.name + "'|'" + verb.name + " '*) flags+=' " +
                    joined(flags_of(verb.options), " ") + "'";
  if (verb.positionals.empty() && words.empty()) {
    out += "; words=$flags";
  } else {
    out += "; words='" + joined(words, " ") + "'";
  }
  return out + (has_file ? "" : "; compopt +o default 2>/dev/null") + " ;;\n";
}

std::string bash_script(const Program& program) {
  const std::vector<Option> globals = global_options(program);
  std::set<std::string> flags_with_value;
  std::string values;
  std::string verbs;
  const auto collect = [&](const std::vector<Option>& options, const std::string& verb) {
    for (const Option& option : options) {
      if (option.kind == OptionKind::kSwitch) continue;
      for (const std::string& flag : flags_of({option})) flags_with_value.insert(flag);
    }
    values += bash_values(options, verb);
  };
  std::vector<const Verb*> longest_first;
  for (const Verb& verb : program.verbs) longest_first.push_back(&verb);
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const Verb* a, const Verb* b) { return a->name.size() > b->name.size(); });
  for (const Verb* verb : longest_first) {
    collect(verb->options, verb->name);
    verbs += bash_verb(program, *verb);
  }
  for (const std::string& word : verb_words(program)) {
    verbs += "    '" + word + "') words='" + joined(verb_words(program, word), " ") + "' ;;\n";
  }
  collect(globals, "");
  const std::string function = "_carillon_" + program.name;
  const std::string with_value = joined({flags_with_value.begin(), flags_with_value.end()}, "|");
  // bash splits words at = and : too, so the line is split again.
  return "# bash completion of " + program.name + "; load it with: source <(" + program.name +
         " --completion bash)\n" + function +
         "() {\n"
         "  local IFS=$' \\t\\n'\n"
         "  local line=${COMP_LINE:0:COMP_POINT} verb= i typed\n"
         "  read -ra typed <<< \"$line\"\n"
         "  if [[ $line == *[[:blank:]] ]]; then typed+=(''); fi\n"
         "  local last=$((${#typed[@]} - 1))\n"
         "  local word=${typed[last]} previous=${typed[last - 1]}\n"
         "  if [[ $word == --*=* ]]; then previous=${word%%=*} word=${word#*=}; fi\n"
         "  local flags='" +
         joined(flags_of(globals), " ") + "'\n  local words=" +
         (program.verbs.empty() ? std::string{"$flags"}
                                : "'" + joined(verb_words(program), " ") + "'") +
         "\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < last; ++i)); do\n"
         "    case ${typed[i]} in\n"
         "      --)\n"
         "        if ((i == last - 1)); then COMPREPLY=($(compgen -c -- \"$word\")); fi\n"
         "        return ;;\n"
         "      " +
         with_value +
         ") ((++i)) ;;\n"
         "      -*) ;;\n"
         "      help) ;;\n"
         "      *) verb=${verb:+$verb }${typed[i]} ;;\n"
         "    esac\n"
         "  done\n"
         "  case $verb:$previous in\n" +
         values + "  esac\n  case $previous in\n    " + with_value +
         ") compopt +o default 2>/dev/null; return ;;\n  esac\n" +
         (verbs.empty() ? "" : "  case $verb in\n" + verbs + "  esac\n") +
         "  if [[ $word == -* ]]; then words=$flags; fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F " +
         function + " " + program.name + "\n";
}

// Escaped for zsh's single quotes, and for brackets and colons in _arguments.
std::string zsh_text(const std::string& text) {
  std::string out;
  for (const char c : text.substr(0, text.find('\n'))) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh_option(const Option& option) {
  std::string what = "[" + zsh_text(option.help) + "]";
  if (option.kind != OptionKind::kSwitch) {
    what += ":" + zsh_text(option.placeholder.empty() ? "VALUE" : option.placeholder) + ":";
    if (!option.choices.empty()) {
      what += "(" + joined(option.choices, " ") + ")";
    } else if (takes_file(option.placeholder)) {
      what += "_files";
    }
  }
  const std::string value = option.kind == OptionKind::kSwitch ? "" : "=";
  const std::string many = option.kind == OptionKind::kList ? "*" : "";
  std::string out = " \\\n    '" + many + "--" + flag_name(option) + value + what + "'";
  if (option.letter != 0) out += " \\\n    '" + many + "-" + option.letter + what + "'";
  return out;
}

std::string zsh_verb(const Program& program, const Verb& verb) {
  std::string out = "_arguments -S";
  for (const Option& option : verb.options) out += zsh_option(option);
  for (const Option& option : global_options(program, &verb)) out += zsh_option(option);
  for (const Positional& positional : verb.positionals) {
    const std::string values = takes_file(positional.name) ? "_files"
                               : positional.choices.empty()
                                   ? ""
                                   : "(" + joined(positional.choices, " ") + ")";
    out += std::string{" \\\n    '"} + (positional.many ? "*" : "") + ":" +
           zsh_text(positional.name) + ":" + values + "'";
  }
  if (!verb.rest_placeholder.empty()) out += " \\\n    '*:command:_files'";
  return out;
}

std::string zsh_script(const Program& program) {
  const std::string function = "_" + program.name;
  std::string out = "#compdef " + program.name + "\n# zsh completion of " + program.name +
                    "; load it with: source <(" + program.name + " --completion zsh)\n" + function +
                    "() {\n  local curcontext=\"$curcontext\" state line\n  local -a verbs\n"
                    "  _arguments -C";
  const std::vector<Option> globals = global_options(program);
  for (const Option& option : globals) out += zsh_option(option);
  if (!program.verbs.empty()) {
    out +=
        " \\\n    '1:verb:->verb' \\\n    '*::argument:->argument'\n  case $state in\n  verb)\n"
        "    verbs=(\n";
    for (const std::string& word : verb_words(program)) {
      const auto verb = std::find_if(program.verbs.begin(), program.verbs.end(),
                                     [&](const Verb& v) { return first_word(v.name) == word; });
      out += "      '" + word + ":" + zsh_text(verb->summary) + "'\n";
    }
    out += "    )\n    _describe verb verbs\n    ;;\n  argument)\n    case $line[1] in\n";
    for (const std::string& word : verb_words(program)) {
      out += "    " + word + ")\n";
      for (const Verb& verb : program.verbs) {
        if (first_word(verb.name) != word || second_word(verb.name).empty()) continue;
        out += "    if [[ $words[2] == " + second_word(verb.name) +
               " ]]; then shift words; ((--CURRENT)); " + zsh_verb(program, verb) +
               "; return; fi\n";
      }
      const std::vector<std::string> second = verb_words(program, word);
      if (!second.empty()) {
        out += "    if ((CURRENT == 2)); then compadd " + joined(second, " ") + "; fi\n";
      }
      for (const Verb& verb : program.verbs) {
        if (verb.name == word) out += "    " + zsh_verb(program, verb) + "\n";
      }
      out += "    ;;\n";
    }
    out += "    esac\n    ;;\n  esac";
  }
  // When sourced, it is declared; from a folder of fpath, it is called for the first word.
  return out + "\n}\nif [[ $funcstack[1] == " + function + " ]]; then " + function +
         " \"$@\"; else compdef " + function + " " + program.name + "; fi\n";
}

}  // namespace

Result<std::string> completion_script(const Program& program, std::string_view shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  return Error{ErrorCode::kInvalidArgument,
               "no completion for '" + std::string{shell} + "' (only bash and zsh)"};
}

}  // namespace carillon
