#include "shared/base/host_name.h"

#include <unistd.h>

namespace carillon {

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

std::string process_name() { return host_name() + "-" + std::to_string(::getpid()); }

}  // namespace carillon
