#pragma once

#include <filesystem>
#include <string>

namespace carillon::testing {

// An empty folder of its own, removed with all that is in it. Stops the process if it cannot be
// made.
// Thread: any.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  // The path of `name` in the folder.
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace carillon::testing
