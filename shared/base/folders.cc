#include "shared/base/folders.h"

#include <array>

#include <pwd.h>
#include <unistd.h>

namespace carillon {
namespace {

std::string home_folder(const Environment& environment) {
  if (const auto home = environment.get("HOME")) return *home;
  passwd entry{};
  passwd* found = nullptr;
  std::array<char, 4096> buffer{};
  if (getpwuid_r(getuid(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr ||
      found->pw_dir == nullptr) {
    return {};
  }
  return found->pw_dir;
}

}  // namespace

Result<std::string> state_folder(const Environment& environment, const std::string& program) {
  if (const auto state = environment.get("XDG_STATE_HOME")) return *state + "/carillon/" + program;
  const std::string home = home_folder(environment);
  if (home.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "this user has no home folder (give a folder with --data)"};
  }
  return home + "/.local/state/carillon/" + program;
}

std::string runtime_folder(const Environment& environment) {
  if (const auto runtime = environment.get("XDG_RUNTIME_DIR")) return *runtime + "/carillon";
  return "/tmp/carillon-" + std::to_string(getuid());
}

}  // namespace carillon
