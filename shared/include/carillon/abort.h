#pragma once

namespace carillon {

// Writes "carillon: bug: what: detail" to stderr and stops the process with SIGABRT. Only for bugs
// of Carillon, never for errors of input, peers, configuration or the database.
[[noreturn]] void abort_with(const char* what, const char* detail);

}  // namespace carillon
