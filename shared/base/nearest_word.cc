#include "shared/base/nearest_word.h"

#include <algorithm>

namespace carillon {
namespace {

// Edit distance: letters to add, remove, change or swap with a neighbour.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> cost(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) cost[i][0] = i;
  for (std::size_t j = 0; j <= b.size(); ++j) cost[0][j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
      }
    }
  }
  return cost[a.size()][b.size()];
}

// Longer words are unlikely to be typing errors.
constexpr std::size_t kWordLengthMax = 64;
// A prefix of more words is not a useful hint.
constexpr std::size_t kWordsMax = 4;

const std::string* nearest(std::string_view wrong, const std::vector<std::string>& words) {
  const std::string* found = nullptr;
  // A flag's dashes do not count as matching letters.
  const std::size_t dashes = std::min(wrong.find_first_not_of('-'), wrong.size());
  std::size_t found_distance = std::max<std::size_t>(1, (wrong.size() - dashes) / 3) + 1;
  for (const std::string& word : words) {
    const std::size_t d = distance(wrong, word);
    if (d < found_distance) {
      found = &word;
      found_distance = d;
    }
  }
  return found;
}

std::vector<std::string> words_beginning_with(std::string_view wrong,
                                              const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const std::string& word : words) {
    if (word.starts_with(wrong)) found.push_back(word);
  }
  return found;
}

// "'retry-base', 'retry-cap' or 'retry-policy'"
std::string listed(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + ("'" + words[i] + "'");
  }
  return text;
}

}  // namespace

std::string did_you_mean(std::string_view wrong, const std::vector<std::string>& words) {
  if (wrong.empty() || wrong.size() > kWordLengthMax) return {};
  std::vector<std::string> meant = words_beginning_with(wrong, words);
  if (meant.size() != 1) {
    if (const std::string* word = nearest(wrong, words)) meant = {*word};
  }
  if (meant.empty() || meant.size() > kWordsMax) return {};
  return " (did you mean " + listed(meant) + "?)";
}

}  // namespace carillon
