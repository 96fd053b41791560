#include "jobtracker/alarm/output_words.h"

#include <algorithm>

namespace carillon::jobtracker {

std::string_view OutputWords::find(const OutputPlace& place, std::string_view bytes) {
  std::string joined;
  if (const auto begun = begun_.extract(place); !begun.empty()) {
    joined = begun.mapped();
    joined += bytes;
    bytes = joined;
  }
  const std::string_view begins = begun_at_end_of(bytes);
  if (!begins.empty()) {
    if (begun_.size() >= kBegunMax) begun_.clear();
    begun_[place] = begins;
  }
  return first_in(bytes);
}

std::string_view OutputWords::first_in(std::string_view text) const {
  std::string_view first;
  std::size_t first_at = std::string_view::npos;
  for (const std::string& word : words_) {
    const std::size_t at = text.find(word);
    if (at < first_at) {
      first_at = at;
      first = word;
    }
  }
  return first;
}

std::string_view OutputWords::begun_at_end_of(std::string_view text) const {
  std::string_view longest;
  for (const std::string& word : words_) {
    for (std::size_t size = std::min(word.size() - 1, text.size()); size > longest.size(); --size) {
      const std::string_view end = text.substr(text.size() - size);
      if (std::string_view{word}.starts_with(end)) longest = end;
    }
  }
  return longest;
}

}  // namespace carillon::jobtracker
