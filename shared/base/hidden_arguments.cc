#include "shared/base/hidden_arguments.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

namespace carillon {
namespace {

void overwrite(char* text) { std::fill_n(text, std::strlen(text), '*'); }

std::set<std::string, std::less<>> secret_flags(const Program& program) {
  std::set<std::string, std::less<>> flags;
  for (const Option& option : program.options) {
    if (option.secret) flags.insert("--" + flag_name(option));
  }
  return flags;
}

}  // namespace

void hide_secret_arguments(const Program& program, int argc, char** argv) {
  const auto flags = secret_flags(program);
  for (int i = 1; i < argc; ++i) {
    const std::string_view word{argv[i]};
    if (word == "--") return;
    const std::size_t sign = word.find('=');
    const bool is_secret_flag = flags.contains(word.substr(0, sign));
    if (is_secret_flag && sign != std::string_view::npos) {
      overwrite(argv[i] + sign + 1);
    } else if (is_secret_flag && i + 1 < argc) {
      overwrite(argv[++i]);
    } else if (mask_secrets(word) != word) {
      overwrite(argv[i]);
    }
  }
}

}  // namespace carillon
