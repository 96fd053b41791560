#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "carillon/result.h"
#include "shared/base/environment.h"
#include "shared/base/mutex.h"
#include "tasktracker/run/run_as.h"

namespace carillon::tasktracker {

// How to run scripts of one language.
struct Interpreter {
  std::vector<std::string> command{};  // the program, searched in PATH, and its arguments
  std::string extension{};             // ".py"; some interpreters require it
};

// The interpreter of a language: sh bash python python2 node php perl ruby lua powershell, and
// other common names of them. Errors: kNotFound if it is not installed. kInvalidArgument for an
// unknown language. Thread: any.
Result<Interpreter> find_interpreter(std::string_view language, const Environment& environment);

// A file with a script's source during its run, readable only for this user. A file and not a
// descriptor, because some interpreters require a name with the right extension.
class ScriptFile {
 public:
  ScriptFile() = default;
  explicit ScriptFile(std::string path) : path_(std::move(path)) {}
  ScriptFile(ScriptFile&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScriptFile& operator=(ScriptFile&& other) noexcept {
    std::swap(path_, other.path_);
    return *this;
  }
  ~ScriptFile();

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// A worker's folder for scripts, inside another folder: created for the first script, deleted at
// the end. A killed worker leaves it. Thread: any.
class ScriptFolder {
 public:
  // In `data`. Where that is empty, or is closed to the user that reads the scripts: in TMPDIR.
  explicit ScriptFolder(const std::string& data, const Environment& environment = {},
                        const std::optional<RunAs>& run_as = {});
  ~ScriptFolder();
  ScriptFolder(const ScriptFolder&) = delete;
  ScriptFolder& operator=(const ScriptFolder&) = delete;

  Result<ScriptFile> write(std::string_view source, const std::string& extension);

 private:
  Status make();

  const std::string parent_;
  const std::optional<uid_t> reader_;  // owns the folder and the scripts; none: this user
  Mutex mutex_;                        // the first two scripts may start concurrently
  std::string path_ CARILLON_GUARDED_BY(mutex_){};
};

}  // namespace carillon::tasktracker
