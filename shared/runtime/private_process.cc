#include "shared/runtime/private_process.h"

#include <optional>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

namespace carillon {
namespace {

// As they were before the call; none: it was not made, or failed.
std::optional<mode_t> mask_before;
std::optional<rlimit> core_before;

}  // namespace

void make_process_private() {
  mask_before = ::umask(S_IRWXG | S_IRWXO);
  rlimit core{};
  if (::getrlimit(RLIMIT_CORE, &core) == 0) {
    // The hard limit stays, so that a child can have its own limit back.
    const rlimit none{.rlim_cur = 0, .rlim_max = core.rlim_max};
    if (::setrlimit(RLIMIT_CORE, &none) == 0) core_before = core;
  }
  ::prctl(PR_SET_DUMPABLE, 0);
}

void restore_umask_and_core_files() {
  if (mask_before) ::umask(*mask_before);
  if (core_before) ::setrlimit(RLIMIT_CORE, &*core_before);
}

}  // namespace carillon
