#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

// Lines of a descriptor, each of bounded size, and whether reading the next one would wait.
// A read that fails counts as the end.
// Thread: the owner's.
namespace carillon::cli {

class LineReader {
 public:
  struct Line {
    std::int64_t number = 0;  // from 1
    std::string text{};       // without its line feed; empty when it is too long
    bool is_too_long = false;
  };

  // Longer lines are skipped as a whole, and answered as such.
  LineReader(int fd, std::size_t line_bytes_max);

  // False: next() would wait for whoever writes.
  bool has_line_now();
  // Empty: the end.
  std::optional<Line> next();

 private:
  bool fill(bool may_wait);
  std::optional<Line> take();
  void drop_if_too_long();

  const int fd_;
  const std::size_t line_bytes_max_;
  std::string buffer_;
  std::size_t start_ = 0;     // of what was not given out yet
  std::size_t searched_ = 0;  // no line feed between start_ and here
  std::int64_t line_number_ = 0;
  bool skipping_ = false;  // within a line that is too long
  bool at_end_ = false;
};

}  // namespace carillon::cli
