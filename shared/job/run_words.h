#pragma once

#include <array>
#include <string>
#include <string_view>

// Names that a job gives and a run goes by.
namespace carillon {

// The languages that scripts are written in, by their usual names.
inline constexpr std::array<std::string_view, 10> kScriptLanguages{
    "sh", "bash", "python", "python2", "node", "php", "perl", "ruby", "lua", "powershell"};

// The usual name of a language, of that itself or of another common name: "python" of "python3".
// Empty: no such language.
std::string_view script_language(std::string_view name);

// What xxl-job's executors call a language that they run scripts of: "GLUE_SHELL" of "bash".
// Empty: none of theirs.
std::string_view glue_type(std::string_view language);

// The variable in which a command, shell line or script finds a parameter: "mail-to" is in
// "CARILLON_PARAM_MAIL_TO".
std::string param_variable(std::string_view param);

}  // namespace carillon
