#pragma once

#include <cstdint>

#include "jobtracker/store/store.h"

namespace carillon::jobtracker {

// Gives both stores the same batches, drawn from a seed, until so many operations were committed;
// every outcome must be the same, and so must every row at the end. `reference` must be empty and
// without groups, and so must `store`; both have just been opened.
void compare_stores(Store& reference, Store& store, std::uint64_t seed, int operations);

}  // namespace carillon::jobtracker
