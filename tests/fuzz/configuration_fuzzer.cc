#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <sys/mman.h>
#include <unistd.h>

#include "shared/base/assert.h"
#include "shared/base/configuration_file.h"

namespace carillon {
namespace {

// A file in memory that has these bytes.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(::memfd_create("configuration", MFD_CLOEXEC)) {
    CARILLON_ASSERT(descriptor_ >= 0, "memory is a file system, too");
  }
  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }
  void write(std::string_view text) const {
    const bool is_written =
        ::ftruncate(descriptor_, 0) == 0 &&
        ::pwrite(descriptor_, text.data(), text.size(), 0) == static_cast<ssize_t>(text.size());
    CARILLON_ASSERT(is_written, "a short text finds room");
  }

 private:
  const int descriptor_;
};

}  // namespace
}  // namespace carillon

// Feeds any bytes to the reader of configuration files. What it takes has a line of the file, what
// it refuses is said with the file's name. NOLINTNEXTLINE(readability-identifier-naming): the name
// that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon;  // NOLINT(google-build-using-namespace): one function
  static const MemoryFile file;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  file.write(text);
  const auto values = read_configuration_file(file.path(), "jobtracker");
  if (!values.ok()) {
    CARILLON_ASSERT(values.error().code == ErrorCode::kInvalidArgument, "a person must mend it");
    CARILLON_ASSERT(values.error().message.starts_with("configuration: " + file.path() + ":"),
                    "an error names the file");
    return 0;
  }
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const auto& [key, value] : values.value()) {
    CARILLON_ASSERT(value.line >= 1 && value.line <= lines, "every key has its line");
    CARILLON_ASSERT(value.is_list || value.texts.size() == 1, "what is no list is one value");
    for (const std::string& one : value.texts) {
      CARILLON_ASSERT(one.size() <= 2 * size + 20, "no value is larger than the file");
    }
  }
  return 0;
}
