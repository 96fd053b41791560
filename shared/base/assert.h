#pragma once

#include "carillon/abort.h"

// Active in every build. For bugs of Carillon only: the store has the true state, so stopping is
// safe and continuing is not. `why` says why the condition holds.
#define CARILLON_ASSERT(condition, why)                             \
  do {                                                              \
    if (!(condition)) [[unlikely]] {                                \
      ::carillon::abort_with("assertion failed: " #condition, why); \
    }                                                               \
  } while (false)
