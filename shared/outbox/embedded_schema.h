#pragma once

#include <string_view>

namespace carillon::outbox {

// schema/outbox/0001_initial.sql, as it was when this was built.
std::string_view initial_schema();

}  // namespace carillon::outbox
