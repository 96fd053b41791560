#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/ids.h"

namespace carillon::jobtracker {

// Where a run writes to: its job, attempt and stream.
struct OutputPlace {
  JobId job_id{};
  std::int32_t attempt = 0;
  int stream = 0;

  auto operator<=>(const OutputPlace&) const = default;
};

// Looks for texts in what runs write, also for those that come in two pieces. Of a run it keeps
// what may be the beginning of one: next to nothing for a run that has ended a line.
//
// Thread: the loop.
class OutputWords {
 public:
  // Beginnings that are kept at a time; when there are more, all are forgotten.
  static constexpr std::size_t kBegunMax = 10'000;

  // Requires: no word is empty.
  explicit OutputWords(std::vector<std::string> words) : words_(std::move(words)) {}

  // The next piece of what is written there. The first of the words that it, with what was written
  // before, holds; empty: none.
  std::string_view find(const OutputPlace& place, std::string_view bytes);
  std::size_t begun() const { return begun_.size(); }

 private:
  std::string_view first_in(std::string_view text) const;
  // The longest end of the text with which a word begins.
  std::string_view begun_at_end_of(std::string_view text) const;

  std::vector<std::string> words_;
  std::map<OutputPlace, std::string> begun_{};
};

}  // namespace carillon::jobtracker
