#pragma once

#include <array>
#include <string_view>
#include <utility>

#include "carillon/job_spec.h"

// The words of JSON and flags for a job's enumerations.
namespace carillon::wire {

template <class Enum, std::size_t kCount>
using Words = std::array<std::pair<std::string_view, Enum>, kCount>;

inline constexpr Words<DstRule, 4> kDstWords{{{"auto", DstRule::kAuto},
                                              {"skip", DstRule::kSkip},
                                              {"once", DstRule::kOnce},
                                              {"twice", DstRule::kTwice}}};

inline constexpr Words<Overlap, 5> kOverlapWords{{{"skip", Overlap::kSkip},
                                                  {"queue", Overlap::kQueue},
                                                  {"queue_one", Overlap::kQueueOne},
                                                  {"cancel_running", Overlap::kCancelRunning},
                                                  {"parallel", Overlap::kParallel}}};

inline constexpr Words<MisfirePolicy, 3> kMisfireWords{{{"fire_once", MisfirePolicy::kFireOnce},
                                                        {"skip", MisfirePolicy::kSkip},
                                                        {"fire_all", MisfirePolicy::kFireAll}}};

inline constexpr Words<RetryBackoff, 2> kBackoffWords{
    {{"fixed", RetryBackoff::kFixed}, {"exponential", RetryBackoff::kExponential}}};

inline constexpr Words<Dispatch, 2> kDispatchWords{
    {{"pull", Dispatch::kPull}, {"push", Dispatch::kPush}}};

// xxl-job's names.
inline constexpr Words<Route, 10> kRouteWords{
    {{"FIRST", Route::kFirst},
     {"LAST", Route::kLast},
     {"ROUND", Route::kRound},
     {"RANDOM", Route::kRandom},
     {"CONSISTENT_HASH", Route::kConsistentHash},
     {"LEAST_FREQUENTLY_USED", Route::kLeastFrequentlyUsed},
     {"LEAST_RECENTLY_USED", Route::kLeastRecentlyUsed},
     {"FAILOVER", Route::kFailover},
     {"BUSYOVER", Route::kBusyover},
     {"SHARDING_BROADCAST", Route::kShardingBroadcast}}};

inline constexpr Words<Block, 3> kBlockWords{{{"SERIAL_EXECUTION", Block::kSerialExecution},
                                              {"DISCARD_LATER", Block::kDiscardLater},
                                              {"COVER_EARLY", Block::kCoverEarly}}};

// The words of a worker's `allow`.
inline constexpr Words<RunKind, 5> kRunWords{{{"handler", RunKind::kHandler},
                                              {"command", RunKind::kCommand},
                                              {"shell", RunKind::kShell},
                                              {"script", RunKind::kScript},
                                              {"http", RunKind::kHttp}}};

// The overlap rule that matches a block strategy, which xxl-job leaves to each executor.
constexpr Overlap overlap_of(Block block) {
  switch (block) {
    case Block::kSerialExecution:
      return Overlap::kQueue;
    case Block::kDiscardLater:
      return Overlap::kSkip;
    case Block::kCoverEarly:
      return Overlap::kCancelRunning;
  }
  return Overlap::kSkip;
}

// The word for a value; none if it has no word.
template <class Enum, std::size_t kCount>
constexpr std::string_view word_of(Enum value, const Words<Enum, kCount>& words) {
  for (const auto& [word, known] : words) {
    if (known == value) return word;
  }
  return {};
}

}  // namespace carillon::wire
