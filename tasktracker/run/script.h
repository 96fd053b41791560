#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/result.h"
#include "shared/base/environment.h"
#include "shared/base/mutex.h"

namespace carillon::tasktracker {

// How scripts of one language are run.
struct Interpreter {
  std::vector<std::string> command{};  // the program, found in PATH, and its arguments
  std::string extension{};             // ".py"; some interpreters insist on it
};

// The interpreter for a language: sh bash python python2 node php perl ruby lua powershell, and
// common other names of them. kNotFound: not installed here. kInvalidArgument: no such language.
// Thread: any.
Result<Interpreter> find_interpreter(std::string_view language, const Environment& environment);

// A file that holds a script's source while it runs, readable for this user only. A file and not a
// descriptor, because some interpreters want a name with the right ending.
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

// Where a worker keeps scripts: a folder of its own below another, made when the first is written,
// removed at the end. A worker that is killed leaves it behind.
// Thread: any.
class ScriptFolder {
 public:
  explicit ScriptFolder(std::string parent) : parent_(std::move(parent)) {}
  ~ScriptFolder();
  ScriptFolder(const ScriptFolder&) = delete;
  ScriptFolder& operator=(const ScriptFolder&) = delete;

  Result<ScriptFile> write(std::string_view source, const std::string& extension);

 private:
  Status make();

  const std::string parent_;
  Mutex mutex_;  // the first two scripts may come at the same time
  std::string path_ CARILLON_GUARDED_BY(mutex_){};
};

}  // namespace carillon::tasktracker
