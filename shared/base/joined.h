#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace carillon {

// Joins words with `between`.
inline std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (&word != &words.front()) text += between;
    text += word;
  }
  return text;
}

}  // namespace carillon
