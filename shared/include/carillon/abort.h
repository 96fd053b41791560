#pragma once

namespace carillon {

// Says "carillon: bug: what: detail" on stderr and stops the process with SIGABRT.
// For our own bugs only, never for input, peers, configuration or the database.
[[noreturn]] void abort_with(const char* what, const char* detail);

}  // namespace carillon
