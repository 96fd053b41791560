#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// All words one after another, with `between` between them: as a person reads a list.
inline std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != &words.front()) text += between;
    text += word;
  }
  return text;
}

}  // namespace carillon
