#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/ids.h"

namespace carillon::jobtracker {

// The source of output: job, attempt and stream.
struct OutputPlace {
  JobId job_id{};
  std::int32_t attempt = 0;
  int stream = 0;

  auto operator<=>(const OutputPlace&) const = default;
};

// Searches the output of runs for texts, also across two pieces of output. For each run it keeps
// only the start of a possible match, which is nearly nothing after a complete line.
//
// Thread: the loop.
class OutputWords {
 public:
  // Most kept starts of matches. Beyond it, all are dropped.
  static constexpr std::size_t kBegunMax = 10'000;

  // Requires: no word is empty.
  explicit OutputWords(std::vector<std::string> words) : words_(std::move(words)) {}

  // Searches the next piece of output at this place, together with the kept start. Returns the
  // first text that it contains, or empty.
  std::string_view find(const OutputPlace& place, std::string_view bytes);
  std::size_t begun() const { return begun_.size(); }

 private:
  std::string_view first_in(std::string_view text) const;
  // The longest suffix of `text` that is the start of a text to find.
  std::string_view begun_at_end_of(std::string_view text) const;

  std::vector<std::string> words_;
  std::map<OutputPlace, std::string> begun_{};
};

}  // namespace carillon::jobtracker
