#pragma once

#include <string_view>

#include "carillon/result.h"
#include "shared/base/environment.h"

namespace carillon {

// Tells the service manager what this process is up to: "READY=1", "STOPPING=1",
// "STATUS=draining 3 jobs", several by line feeds. Does nothing where no manager asked for it
// (NOTIFY_SOCKET is not set).
// Thread: any.
Status sd_notify(const Environment& environment, std::string_view state);

}  // namespace carillon
