#include "shared/runtime/open_files.h"

#include <sys/resource.h>

namespace carillon {
namespace {

rlimit before{};  // zero before the call: the original limit

}  // namespace

void allow_all_open_files() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  const rlimit all{.rlim_cur = files.rlim_max, .rlim_max = files.rlim_max};
  if (::setrlimit(RLIMIT_NOFILE, &all) == 0) before = files;
}

void restore_open_files() {
  if (before.rlim_max != 0) ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace carillon
