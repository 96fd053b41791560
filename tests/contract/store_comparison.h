#pragma once

#include <cstdint>

#include "tests/contract/store_contract.h"

namespace carillon::jobtracker {

// How many work on a store.
enum class Sharing {
  kOneAtATime,  // each session fences those before it, which go on for a while
  kSeveral,     // up to four in turns, which divide the partitions among themselves
};

// Gives databases in SQL and in memory the same batches, drawn from a seed, until so many
// operations were committed. Sessions begin, end, die, are fenced and go on as if they were not;
// commits are cut off; batches are invalid; groups are made and split. Every outcome must be the
// same; from time to time, after each crash and at the end whatever is stored; and what every read
// answers, to each session. Each alternative of Operation must have been done, each of Read
// answered with something, and each Event have come. Prints how often.
void compare_stores(const MakeStoreDatabase& sql, Sharing sharing, std::uint64_t seed,
                    std::int64_t operations);

// As many, unless the environment's CARILLON_COMPARED_OPERATIONS says otherwise, so that a person
// can compare more.
std::int64_t operations_to_compare(std::int64_t otherwise);

}  // namespace carillon::jobtracker
