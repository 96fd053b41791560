#pragma once

#include "carillon/abort.h"

// On in every build. For our own bugs only: the truth is in the store, so stopping is safe and
// going on is not. `why` says why the condition holds.
#define CARILLON_ASSERT(condition, why)                             \
  do {                                                              \
    if (!(condition)) [[unlikely]] {                                \
      ::carillon::abort_with("assertion failed: " #condition, why); \
    }                                                               \
  } while (false)
