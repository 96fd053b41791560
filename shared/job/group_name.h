#pragma once

#include <string>
#include <string_view>

#include "carillon/result.h"

namespace carillon {

// Whether a node group or a client group can be called so. `field` is how the error names it.
Status check_group_name(const std::string& field, std::string_view name);

}  // namespace carillon
