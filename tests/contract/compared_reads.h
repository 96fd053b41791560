#pragma once

#include "tests/contract/batch_source.h"
#include "tests/contract/store_twins.h"

namespace carillon::jobtracker {

// Asks every question: what depends on who asks each session that is open, all else somebody. Of
// what there is very much some is drawn, unless `is_thorough`.
void compare_reads(Twins& twins, BatchSource& source, bool is_thorough);

}  // namespace carillon::jobtracker
