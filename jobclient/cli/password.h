#pragma once

#include <string>

#include "jobclient/cli/context.h"

namespace carillon::cli {

inline constexpr std::size_t kPasswordMin = 8;     // characters
inline constexpr std::size_t kPasswordMax = 1024;  // bytes

// A password from the first line of a file ("-": stdin), or from the terminal, which does not show
// it. Thread: the owner's.
Result<std::string> read_password(Context& context, const std::string& path);

}  // namespace carillon::cli
