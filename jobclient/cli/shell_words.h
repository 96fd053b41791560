#pragma once

#include <string>

namespace carillon::cli {

// Quoted for a shell, whatever is in it. Thread: any.
std::string shell_quoted(const std::string& text);

// Likewise, but as it is where a shell takes it for itself.
std::string shell_word(const std::string& text);

}  // namespace carillon::cli
