#pragma once

#include <span>
#include <string_view>

namespace carillon::outbox {

// The files of schema/outbox/ in order, as they were when this was built.
std::span<const std::string_view> migrations();

}  // namespace carillon::outbox
