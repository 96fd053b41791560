#pragma once

#include <span>
#include <string_view>

namespace carillon::outbox {

// The files of schema/outbox/ in order, compiled into the program.
std::span<const std::string_view> migrations();

}  // namespace carillon::outbox
