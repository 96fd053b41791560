#pragma once

#include <string_view>

#include "carillon/result.h"
#include "shared/base/environment.h"

namespace carillon {

// Reports state to the service manager: "READY=1", "STOPPING=1", "STATUS=draining 3 jobs", several
// separated by line feeds. No effect without a manager (NOTIFY_SOCKET is not set). Thread: any.
Status sd_notify(const Environment& environment, std::string_view state);

// Whether a service manager has started this process.
bool is_managed(const Environment& environment);

}  // namespace carillon
