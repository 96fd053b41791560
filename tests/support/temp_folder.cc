#include "tests/support/temp_folder.h"

#include <cerrno>
#include <cstring>
#include <system_error>

#include <stdlib.h>

#include "carillon/abort.h"

namespace carillon::testing {

TempFolder::TempFolder() {
  auto pattern = (std::filesystem::temp_directory_path() / "carillon-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    abort_with("cannot make a temporary folder", std::strerror(errno));
  }
  path_ = pattern;
}

TempFolder::~TempFolder() {
  // What cannot be removed is left to the system's cleaning.
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace carillon::testing
