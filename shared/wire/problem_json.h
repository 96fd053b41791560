#pragma once

#include <optional>
#include <string_view>

#include "carillon/result.h"

namespace carillon::wire {

// An error of the HTTP API (application/problem+json): its code and detail. Without a known code,
// it is kUnavailable. None: the text has no detail. Thread: any.
std::optional<Error> problem_from_json(std::string_view text);

}  // namespace carillon::wire
