#include "jobclient/cli/shell_words.h"

#include <string_view>

namespace carillon::cli {
namespace {

constexpr std::string_view kPlain =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,";

}  // namespace

std::string shell_quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_not_of(kPlain) == std::string::npos;
  return is_plain ? text : shell_quoted(text);
}

}  // namespace carillon::cli
