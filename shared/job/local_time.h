#pragma once

#include <string>

#include "carillon/time.h"
#include "shared/job/zone.h"

// What the clocks of a zone show at an instant, with their offset.
namespace carillon {

// RFC 3339: "2026-11-21T03:00:00+01:00".
std::string local_text(WallTime time, const Zone& zone);

// "Sat 2026-11-21 03:00:00 +01:00".
std::string local_text_for_people(WallTime time, const Zone& zone);

}  // namespace carillon
