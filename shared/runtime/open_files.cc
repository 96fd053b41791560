#include "shared/runtime/open_files.h"

#include <sys/resource.h>

namespace carillon {

void allow_all_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

}  // namespace carillon
