#pragma once

#include <optional>
#include <string>
#include <string_view>

// Thread: any.
namespace carillon::wire {

// With padding, on one line.
std::string to_base64(std::string_view bytes);

// None: not base64. Padding is complete or missing; white space is not allowed.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace carillon::wire
