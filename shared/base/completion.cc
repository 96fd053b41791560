#include <algorithm>

#include "shared/base/configuration.h"

namespace carillon {
namespace {

std::string first_word(const std::string& name) { return name.substr(0, name.find(' ')); }

std::string second_word(const std::string& name) {
  const auto space = name.find(' ');
  return space == std::string::npos ? "" : name.substr(space + 1);
}

std::string joined(const std::vector<std::string>& words, const char* between) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : between) + word;
  return text;
}

// Declared like the others, so that they complete like the others.
std::vector<Option> common_options() {
  return {{.name = "config", .placeholder = "FILE", .help = "TOML file with settings"},
          {.name = "completion",
           .placeholder = "SHELL",
           .help = "print a completion script",
           .choices = {"bash", "zsh"}},
          {.name = "help", .letter = 'h', .kind = OptionKind::kSwitch, .help = "show help"},
          {.name = "version", .kind = OptionKind::kSwitch, .help = "show the version"}};
}

std::vector<Option> global_options(const Program& program) {
  std::vector<Option> options = program.options;
  for (Option& option : common_options()) options.push_back(std::move(option));
  return options;
}

bool takes_file(const Option& option) {
  return option.placeholder == "FILE" || option.placeholder == "DIR" ||
         option.placeholder == "PATH";
}

std::vector<std::string> flags_of(const std::vector<Option>& options) {
  std::vector<std::string> flags;
  for (const Option& option : options) {
    if (option.letter != 0) flags.push_back(std::string{"-"} + option.letter);
    flags.push_back("--" + option.name);
  }
  return flags;
}

// The first words of all verbs, or what may follow `after`.
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

// Cases of bash for what may follow a flag; `verb` limits them to flags of that verb.
std::string bash_values(const std::vector<Option>& options, const std::string& verb) {
  std::string out;
  for (const Option& option : options) {
    if (option.kind == OptionKind::kSwitch) continue;
    const std::string start = "    " + (verb.empty() ? "*" : "'" + verb + "'*") + ":";
    out += start + "--" + option.name;
    if (option.letter != 0) out += "|" + start.substr(4) + "-" + option.letter;
    if (!option.choices.empty()) {
      out += ") COMPREPLY=($(compgen -W '" + joined(option.choices, " ") +
             "' -- \"$word\")); return ;;\n";
    } else if (takes_file(option)) {
      out += ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n";
    } else {
      out += ") return ;;\n";
    }
  }
  return out;
}

std::string bash_script(const Program& program) {
  const std::vector<Option> globals = global_options(program);
  std::string with_value;
  std::string values;
  std::string verbs;
  const auto collect = [&](const std::vector<Option>& options, const std::string& verb) {
    for (const Option& option : options) {
      if (option.kind == OptionKind::kSwitch) continue;
      for (const std::string& flag : flags_of({option})) {
        with_value += (with_value.empty() ? "" : "|") + flag;
      }
    }
    values += bash_values(options, verb);
  };
  std::vector<const Verb*> longest_first;
  for (const Verb& verb : program.verbs) longest_first.push_back(&verb);
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const Verb* a, const Verb* b) { return a->name.size() > b->name.size(); });
  for (const Verb* verb : longest_first) {
    collect(verb->options, verb->name);
    std::vector<std::string> words = verb_words(program, verb->name);
    for (const Positional& positional : verb->positionals) {
      words.insert(words.end(), positional.choices.begin(), positional.choices.end());
    }
    verbs += "    '" + verb->name + "'|'" + verb->name + " '*) words='" + joined(words, " ") +
             "' flags=\"$flags " + joined(flags_of(verb->options), " ") + "\" ;;\n";
  }
  for (const std::string& word : verb_words(program)) {
    verbs += "    '" + word + "') words='" + joined(verb_words(program, word), " ") + "' ;;\n";
  }
  collect(globals, "");
  const std::string function = "_carillon_" + program.name;
  return "# bash completion of " + program.name + "; load it with: source <(" + program.name +
         " --completion bash)\n" + function +
         "() {\n"
         "  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]}\n"
         "  local verb= words='" +
         joined(verb_words(program), " ") + "' i\n  local flags='" +
         joined(flags_of(globals), " ") +
         "'\n"
         "  COMPREPLY=()\n"
         "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
         "    case ${COMP_WORDS[i]} in\n"
         "      --) return ;;\n"
         "      " +
         with_value +
         ") ((++i)) ;;\n"
         "      -*) ;;\n"
         "      *) verb=${verb:+$verb }${COMP_WORDS[i]} ;;\n"
         "    esac\n"
         "  done\n"
         "  case $verb:$previous in\n" +
         values + "  esac\n" + (verbs.empty() ? "" : "  case $verb in\n" + verbs + "  esac\n") +
         "  if [[ $word == -* ]]; then words=$flags; fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
         "}\n"
         "complete -o default -F " +
         function + " " + program.name + "\n";
}

// For zsh's single quotes, and for the brackets and colons that _arguments itself reads.
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
    } else if (takes_file(option)) {
      what += "_files";
    }
  }
  const std::string value = option.kind == OptionKind::kSwitch ? "" : "=";
  const std::string many = option.kind == OptionKind::kList ? "*" : "";
  std::string out = " \\\n    '" + many + "--" + option.name + value + what + "'";
  if (option.letter != 0) out += " \\\n    '" + many + "-" + option.letter + what + "'";
  return out;
}

std::string zsh_verb(const Verb& verb) {
  std::string out = "_arguments -S";
  for (const Option& option : verb.options) out += zsh_option(option);
  for (const Positional& positional : verb.positionals) {
    out += std::string{" \\\n    '"} + (positional.many ? "*" : "") + ":" +
           zsh_text(positional.name) + ":" +
           (positional.choices.empty() ? "" : "(" + joined(positional.choices, " ") + ")") + "'";
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
  for (const Option& option : global_options(program)) out += zsh_option(option);
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
               " ]]; then shift words; ((--CURRENT)); " + zsh_verb(verb) + "; return; fi\n";
      }
      const std::vector<std::string> second = verb_words(program, word);
      if (!second.empty()) {
        out += "    if ((CURRENT == 2)); then compadd " + joined(second, " ") + "; fi\n";
      }
      for (const Verb& verb : program.verbs) {
        if (verb.name == word) out += "    " + zsh_verb(verb) + "\n";
      }
      out += "    ;;\n";
    }
    out += "    esac\n    ;;\n  esac";
  }
  return out + "\n}\ncompdef " + function + " " + program.name + "\n";
}

}  // namespace

Result<std::string> completion_script(const Program& program, std::string_view shell) {
  if (shell == "bash") return bash_script(program);
  if (shell == "zsh") return zsh_script(program);
  return Error{ErrorCode::kInvalidArgument,
               "no completion for '" + std::string{shell} + "' (only bash and zsh)"};
}

}  // namespace carillon
