#include "jobclient/cli/line_reader.h"

#include <cerrno>

#include <poll.h>
#include <unistd.h>

namespace carillon::cli {
namespace {

constexpr std::size_t kReadBytes = 256 * 1024;

}  // namespace

LineReader::LineReader(int fd, std::size_t line_bytes_max)
    : fd_(fd), line_bytes_max_(line_bytes_max) {}

// Whether something, the end included, was got without waiting longer than allowed.
bool LineReader::fill(bool may_wait) {
  if (!may_wait) {
    pollfd waiting{.fd = fd_, .events = POLLIN, .revents = 0};
    if (::poll(&waiting, 1, 0) <= 0) return false;
  }
  buffer_.erase(0, start_);
  searched_ -= start_;
  start_ = 0;
  const std::size_t had = buffer_.size();
  buffer_.resize(had + kReadBytes);
  ssize_t got = 0;
  do {
    got = ::read(fd_, buffer_.data() + had, kReadBytes);
  } while (got < 0 && errno == EINTR);
  buffer_.resize(had + static_cast<std::size_t>(got > 0 ? got : 0));
  if (got <= 0) at_end_ = true;
  return true;
}

// The next line of what was read already.
std::optional<LineReader::Line> LineReader::take() {
  const std::size_t feed = buffer_.find('\n', searched_);
  const bool is_last =
      feed == std::string::npos && at_end_ && (start_ < buffer_.size() || skipping_);
  if (feed == std::string::npos && !is_last) {
    drop_if_too_long();
    return std::nullopt;
  }
  const std::size_t end = is_last ? buffer_.size() : feed;
  Line line{.number = ++line_number_};
  line.is_too_long = skipping_ || end - start_ > line_bytes_max_;
  if (!line.is_too_long) line.text = buffer_.substr(start_, end - start_);
  skipping_ = false;
  start_ = is_last ? end : end + 1;
  searched_ = start_;
  return line;
}

// Requires: no line feed was read.
void LineReader::drop_if_too_long() {
  searched_ = buffer_.size();
  if (buffer_.size() - start_ <= line_bytes_max_) return;
  skipping_ = true;
  start_ = searched_;
}

bool LineReader::has_line_now() {
  while (!at_end_ && buffer_.find('\n', searched_) == std::string::npos) {
    drop_if_too_long();
    if (!fill(false)) return false;
  }
  return true;
}

std::optional<LineReader::Line> LineReader::next() {
  while (true) {
    if (auto line = take()) return line;
    if (at_end_) return std::nullopt;
    fill(true);
  }
}

}  // namespace carillon::cli
