#pragma once

#include <cstdint>

#include "tests/contract/store_contract.h"

namespace carillon::jobtracker {

// Gives the stores of both databases the same batches, drawn from a seed, until so many operations
// were committed. Now and then a commit is cut off, with its answer or before it is done, a session
// ends and another takes its place, a batch is none that may be taken, and a group is split. Every
// outcome must be the same, and from time to time and at the end what every read answers. Each
// alternative of Operation must have been done, and each of Read asked. Both databases must be
// empty.
void compare_stores(StoreTestDatabase& reference, StoreTestDatabase& database, std::uint64_t seed,
                    int operations);

// As many, unless the environment's CARILLON_COMPARED_OPERATIONS says otherwise, so that a person
// can compare more.
int operations_to_compare(int otherwise);

}  // namespace carillon::jobtracker
