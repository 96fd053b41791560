#pragma once

#include <string>

#include "shared/base/time_text.h"
#include "shared/job/zone.h"

// What tests write as text.
namespace carillon {

inline Zone zone_of(const std::string& name) { return Zone::load(name).value(); }
inline WallTime time_of(const std::string& text) { return parse_time(text).value(); }

}  // namespace carillon
