#include "tasktracker/run/script.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "shared/job/run_words.h"
#include "tasktracker/run/python_version.h"

namespace carillon::tasktracker {
namespace {

struct Language {
  std::string_view name{};                     // as returned by script_language()
  std::array<std::string_view, 4> programs{};  // the first existing one is used
  std::array<std::string_view, 3> arguments{};
  std::string_view extension{};
};

constexpr Language kLanguages[] = {
    {"sh", {"sh"}, {}, ".sh"},
    {"bash", {"bash"}, {}, ".sh"},
    {"python", {"python3", "python"}, {}, ".py"},
    {"python2", {"python2", "python2.7", "python"}, {}, ".py"},
    {"node", {"node", "nodejs"}, {}, ".js"},
    {"php", {"php"}, {}, ".php"},
    {"perl", {"perl"}, {}, ".pl"},
    {"ruby", {"ruby"}, {}, ".rb"},
    {"lua", {"lua", "lua5.4", "lua5.3", "lua5.1"}, {}, ".lua"},
    {"powershell", {"pwsh", "powershell"}, {"-NoProfile", "-File"}, ".ps1"},
};
static_assert(std::size(kLanguages) == kScriptLanguages.size(), "each language can be run");

const Language* find_language(std::string_view name) {
  for (const Language& language : kLanguages) {
    if (language.name == script_language(name)) return &language;
  }
  return nullptr;
}

// The path of a program in the search path, or none.
std::optional<std::string> find_program(std::string_view program, std::string_view search_path) {
  while (true) {
    const std::size_t colon = search_path.find(':');
    std::string candidate{search_path.substr(0, colon)};
    if (!candidate.empty()) {
      candidate += '/';
      candidate += program;
      struct stat info {};
      if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
          ::access(candidate.c_str(), X_OK) == 0) {
        return candidate;
      }
    }
    if (colon == std::string_view::npos) return std::nullopt;
    search_path.remove_prefix(colon + 1);
  }
}

Error error_of_system(const std::string& what) {
  return {ErrorCode::kUnavailable, what + ": " + std::strerror(errno)};
}

}  // namespace

Result<Interpreter> find_interpreter(std::string_view name, const Environment& environment) {
  const Language* language = find_language(name);
  if (language == nullptr) {
    std::string known;
    for (const Language& each : kLanguages) {
      known += known.empty() ? "" : " ";
      known += each.name;
    }
    return Error{ErrorCode::kInvalidArgument, "scripts in '" + std::string{name} +
                                                  "' are not supported (supported: " + known +
                                                  "; run another interpreter as a command)"};
  }
  const std::string path = environment.get("PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  std::string missing;
  std::string unfit;
  for (const std::string_view program : language->programs) {
    if (program.empty()) break;
    if (std::optional<std::string> found = find_program(program, path)) {
      const bool may_be_python3 = language->name == "python2" && program == "python";
      if (may_be_python3 && !is_python2(*found, environment)) {
        unfit = ", and " + *found + " is not Python 2";
        continue;
      }
      Interpreter interpreter{.command = {std::move(*found)},
                              .extension = std::string{language->extension}};
      for (const std::string_view argument : language->arguments) {
        if (!argument.empty()) interpreter.command.emplace_back(argument);
      }
      return interpreter;
    }
    missing += missing.empty() ? "" : ", ";
    missing += program;
  }
  return Error{ErrorCode::kNotFound,
               "no interpreter for " + std::string{language->name} + " on this worker: " + missing +
                   " not found in PATH" + unfit +
                   " (install it, or give the job to a group with this interpreter)"};
}

ScriptFile::~ScriptFile() {
  if (!path_.empty()) ::unlink(path_.c_str());
}

ScriptFolder::ScriptFolder(const std::string& data, const Environment& environment,
                           const std::optional<RunAs>& run_as)
    : parent_(data.empty() || run_as ? environment.get("TMPDIR").value_or("/tmp") : data),
      reader_(run_as ? std::optional{run_as->uid} : std::nullopt) {}

ScriptFolder::~ScriptFolder() {
  if (!path_.empty()) ::rmdir(path_.c_str());
}

Status ScriptFolder::make() {
  std::error_code failed;
  std::filesystem::create_directories(parent_, failed);
  std::string path = parent_ + "/carillon-scripts-XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) {
    return error_of_system("cannot create a folder for scripts in " + parent_);
  }
  path_ = std::move(path);
  if (reader_ && ::chown(path_.c_str(), *reader_, static_cast<gid_t>(-1)) != 0) {
    return error_of_system("cannot give the folder " + path_ + " to the user of --run-as");
  }
  return {};
}

Result<ScriptFile> ScriptFolder::write(std::string_view source, const std::string& extension) {
  std::string path;
  {
    const MutexLock lock(mutex_);
    // A cleaner of temporary files may have deleted an idle worker's folder.
    if (path_.empty() || ::access(path_.c_str(), W_OK) != 0) CARILLON_TRY(make());
    path = path_ + "/script-XXXXXX" + extension;
  }
  const int fd = ::mkostemps(path.data(), static_cast<int>(extension.size()), O_CLOEXEC);
  if (fd < 0) return error_of_system("cannot write the script to " + path);
  ScriptFile file{path};
  if (reader_ && ::fchown(fd, *reader_, static_cast<gid_t>(-1)) != 0) {
    const Error error = error_of_system("cannot give the script to the user of --run-as");
    ::close(fd);
    return error;
  }
  while (!source.empty()) {
    const ssize_t written = ::write(fd, source.data(), source.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const Error error = error_of_system("cannot write the script to " + path);
      ::close(fd);
      return error;
    }
    source.remove_prefix(static_cast<std::size_t>(written));
  }
  ::close(fd);
  return file;
}

}  // namespace carillon::tasktracker
