#include "jobclient/cli/job_words.h"

#include <array>
#include <utility>

#include "shared/base/nearest_word.h"

namespace carillon::cli {
namespace {

template <class T, std::size_t kCount>
using Words = std::array<std::pair<const char*, T>, kCount>;

constexpr Words<DstRule, 4> kDstRules{{{"auto", DstRule::kAuto},
                                       {"skip", DstRule::kSkip},
                                       {"once", DstRule::kOnce},
                                       {"twice", DstRule::kTwice}}};
constexpr Words<Overlap, 5> kOverlaps{{{"skip", Overlap::kSkip},
                                       {"queue", Overlap::kQueue},
                                       {"queue_one", Overlap::kQueueOne},
                                       {"cancel_running", Overlap::kCancelRunning},
                                       {"parallel", Overlap::kParallel}}};
constexpr Words<MisfirePolicy, 3> kMisfires{{{"fire_once", MisfirePolicy::kFireOnce},
                                             {"skip", MisfirePolicy::kSkip},
                                             {"fire_all", MisfirePolicy::kFireAll}}};
constexpr Words<RetryBackoff, 2> kBackoffs{
    {{"fixed", RetryBackoff::kFixed}, {"exponential", RetryBackoff::kExponential}}};

template <class T, std::size_t kCount>
std::vector<std::string> words_of(const Words<T, kCount>& table) {
  std::vector<std::string> words;
  for (const auto& [word, value] : table) words.emplace_back(word);
  return words;
}

template <class T, std::size_t kCount>
Result<T> parse(const Words<T, kCount>& table, const char* what, std::string_view given) {
  std::string known;
  for (const auto& [word, value] : table) {
    if (given == word) return value;
    known += (known.empty() ? "" : ", ") + std::string{word};
  }
  return Error{ErrorCode::kInvalidArgument,
               std::string{what} + " '" + std::string{given} + "' is unknown" +
                   did_you_mean(given, words_of(table)) + ", it must be one of " + known};
}

}  // namespace

std::vector<std::string> dst_rule_words() { return words_of(kDstRules); }
Result<DstRule> parse_dst_rule(std::string_view word) { return parse(kDstRules, "dst", word); }

std::vector<std::string> overlap_words() { return words_of(kOverlaps); }
Result<Overlap> parse_overlap(std::string_view word) { return parse(kOverlaps, "overlap", word); }

std::vector<std::string> misfire_words() { return words_of(kMisfires); }
Result<MisfirePolicy> parse_misfire(std::string_view word) {
  return parse(kMisfires, "misfire", word);
}

std::vector<std::string> backoff_words() { return words_of(kBackoffs); }
Result<RetryBackoff> parse_backoff(std::string_view word) {
  return parse(kBackoffs, "retry policy", word);
}

}  // namespace carillon::cli
