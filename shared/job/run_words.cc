#include "shared/job/run_words.h"

#include <utility>

namespace carillon {

std::string_view script_language(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kOtherNames{
      {{"python3", "python"}, {"nodejs", "node"}, {"javascript", "node"}, {"pwsh", "powershell"}}};
  for (const auto& [other, usual] : kOtherNames) {
    if (name == other) return usual;
  }
  for (const std::string_view usual : kScriptLanguages) {
    if (name == usual) return usual;
  }
  return {};
}

std::string_view glue_type(std::string_view language) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kGlueTypes{
      {{"sh", "GLUE_SHELL"},
       {"bash", "GLUE_SHELL"},
       {"python", "GLUE_PYTHON"},
       {"python2", "GLUE_PYTHON2"},
       {"php", "GLUE_PHP"},
       {"node", "GLUE_NODEJS"},
       {"powershell", "GLUE_POWERSHELL"},
       {"groovy", "GLUE_GROOVY"}}};
  const std::string_view usual = script_language(language);
  for (const auto& [known, type] : kGlueTypes) {
    if (known == (usual.empty() ? language : usual)) return type;
  }
  return {};
}

std::string param_variable(std::string_view param) {
  std::string variable = "CARILLON_PARAM_";
  for (const char c : param) {
    if (c >= 'a' && c <= 'z') {
      variable += static_cast<char>(c - 'a' + 'A');
    } else if ((c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) {
      variable += c;
    } else {
      variable += '_';
    }
  }
  return variable;
}

}  // namespace carillon
