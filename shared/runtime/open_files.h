#pragma once

namespace carillon {

// Allows this process as many open files, and so connections, as the system lets it have: a shell's
// limit of 1024 is meant for programs that use select(). Processes that it starts inherit that.
void allow_all_open_files();

}  // namespace carillon
