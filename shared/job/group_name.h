#pragma once

#include <string>
#include <string_view>

#include "carillon/result.h"

namespace carillon {

// Checks the name of a node group or client group. `field`: its name in the error.
Status check_group_name(const std::string& field, std::string_view name);

}  // namespace carillon
