#include "jobclient/cli/job_words.h"

#include "shared/base/joined.h"
#include "shared/base/nearest_word.h"
#include "shared/wire/spec_words.h"

namespace carillon::cli {
namespace {

template <class T, std::size_t kCount>
std::vector<std::string> words_of(const wire::Words<T, kCount>& table) {
  std::vector<std::string> words;
  for (const auto& [word, value] : table) words.emplace_back(word);
  return words;
}

template <class T, std::size_t kCount>
Result<T> parse(const wire::Words<T, kCount>& table, const char* what, std::string_view given) {
  for (const auto& [word, value] : table) {
    if (given == word) return value;
  }
  const std::vector<std::string> known = words_of(table);
  return Error{ErrorCode::kInvalidArgument, std::string{what} + " '" + std::string{given} +
                                                "' is unknown" + did_you_mean(given, known) +
                                                ", it must be one of " + joined(known, ", ")};
}

}  // namespace

std::vector<std::string> dst_rule_words() { return words_of(wire::kDstWords); }
Result<DstRule> parse_dst_rule(std::string_view word) {
  return parse(wire::kDstWords, "dst", word);
}

std::vector<std::string> overlap_words() { return words_of(wire::kOverlapWords); }
Result<Overlap> parse_overlap(std::string_view word) {
  return parse(wire::kOverlapWords, "overlap", word);
}

std::vector<std::string> dispatch_words() { return words_of(wire::kDispatchWords); }
Result<Dispatch> parse_dispatch(std::string_view word) {
  return parse(wire::kDispatchWords, "dispatch", word);
}

std::vector<std::string> route_words() { return words_of(wire::kRouteWords); }
Result<Route> parse_route(std::string_view word) { return parse(wire::kRouteWords, "route", word); }

std::vector<std::string> block_words() { return words_of(wire::kBlockWords); }
Result<Block> parse_block(std::string_view word) { return parse(wire::kBlockWords, "block", word); }

std::vector<std::string> misfire_words() { return words_of(wire::kMisfireWords); }
Result<MisfirePolicy> parse_misfire(std::string_view word) {
  return parse(wire::kMisfireWords, "misfire", word);
}

std::vector<std::string> backoff_words() { return words_of(wire::kBackoffWords); }
Result<RetryBackoff> parse_backoff(std::string_view word) {
  return parse(wire::kBackoffWords, "retry policy", word);
}

}  // namespace carillon::cli
