#pragma once

namespace carillon {

// Raises this process's limit of open files (and so of connections and pipes) to the system's
// maximum: a shell's limit of 1024 is meant for programs that use select(). Call once, before any
// thread starts.
void allow_all_open_files();

// In a child before exec: restores the original limit. Uses only a system call.
void restore_open_files();

}  // namespace carillon
