#pragma once

// Keeps what a server knows from other users and from the programs it runs.
namespace carillon {

// Files and folders that this process creates are for its user only (umask 077). It leaves no core
// files, and no other process of the user can read its memory, its environment or its file
// descriptors (root can). Call once, before any thread starts.
void make_process_private();

// In a child before exec: restores the umask and the limit of core files. Uses only system calls.
void restore_umask_and_core_files();

}  // namespace carillon
