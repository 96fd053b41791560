#pragma once

#include <fstream>
#include <string>

#include <sys/types.h>

namespace carillon::tasktracker {

// Whether that process runs; a zombie that nobody has waited for does not.
inline bool is_alive(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string line;
  if (!std::getline(file, line)) return false;
  // "PID (NAME) STATE ...", and a name may hold anything.
  const std::size_t end = line.rfind(')');
  return end != std::string::npos && end + 2 < line.size() && line[end + 2] != 'Z' &&
         line[end + 2] != 'X';
}

}  // namespace carillon::tasktracker
