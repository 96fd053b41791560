#pragma once

namespace carillon {

// Allows this process as many open files, and so connections and pipes, as the system lets it have:
// a shell's limit of 1024 is meant for programs that use select(). Once, before any thread starts.
void allow_all_open_files();

// Of a child that is about to become another program: the limit is what it was before that.
// Nothing but a system call.
void restore_open_files();

}  // namespace carillon
