#pragma once

#include <array>
#include <string>
#include <string_view>

// Names in a job and their meaning for its run.
namespace carillon {

// The script languages, by their usual names.
inline constexpr std::array<std::string_view, 10> kScriptLanguages{
    "sh", "bash", "python", "python2", "node", "php", "perl", "ruby", "lua", "powershell"};

// The usual name of a language for that name or another common one: "python" for "python3". Empty:
// unknown.
std::string_view script_language(std::string_view name);

// xxl-job's name of a script language: "GLUE_SHELL" for "bash". Empty: not supported by executors.
std::string_view glue_type(std::string_view language);

// The environment variable of a parameter for a command, shell line or script:
// "CARILLON_PARAM_MAIL_TO" for "mail-to".
std::string param_variable(std::string_view param);

}  // namespace carillon
