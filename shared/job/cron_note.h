#pragma once

#include <string>

#include "carillon/time.h"
#include "shared/job/cron.h"
#include "shared/job/zone.h"

// Thread: any.
namespace carillon {

// A note on a fire on a day with a clock change of the zone:
//   "clocks go forward 1 h at 02:00"                          another fire of such a day
//   "first 02:30 of two, clocks go back 1 h at 03:00"         and "second 02:30 of two, ..."
//   "replaces a time skipped from 02:00 to 03:00"             a fire at the end of a gap
// Empty on other days.
std::string dst_note(WallTime fire, const Zone& zone, const Cron& cron);

}  // namespace carillon
