#pragma once

#include <optional>
#include <string>
#include <string_view>

// Thread: any.
namespace carillon::wire {

// With padding, on one line.
std::string to_base64(std::string_view bytes);

// Nothing where it is not base64. Padding is whole or left out; white space may not stand inside.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace carillon::wire
