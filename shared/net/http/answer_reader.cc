#include "shared/net/http/answer_reader.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>

#include "shared/base/utf8.h"

namespace carillon::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::size_t kHeadBytesMax = 16 * 1024;
// A chunk extension or the trailer: the parser needs each as a whole, and throws an exception for a
// line above 64 KiB.
constexpr std::size_t kRestBytesMax = 32 * 1024;

Error no_answer(const std::string& why) { return {ErrorCode::kUnavailable, why}; }

// The end of the empty line after a header; npos: not received yet.
std::size_t end_of_head(std::string_view text) {
  for (std::size_t line = text.find('\n'); line != std::string_view::npos;
       line = text.find('\n', line + 1)) {
    const std::string_view next = text.substr(line + 1);
    if (next.starts_with('\n')) return line + 2;
    if (next.starts_with("\r\n")) return line + 3;
  }
  return std::string_view::npos;
}

bool is_length_above(std::string_view line, std::size_t most) {
  constexpr std::string_view kName = "content-length:";
  if (lower_ascii(line.substr(0, kName.size())) != kName) return false;
  line.remove_prefix(std::min(line.find_first_of("0123456789"), line.size()));
  std::size_t length = 0;
  const auto parsed = std::from_chars(line.data(), line.data() + line.size(), length);
  return parsed.ec == std::errc::result_out_of_range || length > most;
}

// Ends each line with CR LF, and adds the space after the status, which some servers omit. Removes
// a length above `length_max`: the body then ends with the connection.
std::string normalized(std::string_view head, std::size_t length_max) {
  constexpr std::size_t kStatusLineMin = std::string_view{"HTTP/1.1 200"}.size();
  std::string lines;
  lines.reserve(head.size() + 16);
  while (!head.empty()) {
    std::string_view line = head.substr(0, head.find('\n'));
    head.remove_prefix(line.size() + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (is_length_above(line, length_max)) continue;
    const bool is_bare_status = lines.empty() && line.size() == kStatusLineMin;
    lines += line;
    if (is_bare_status) lines += ' ';
    lines += "\r\n";
  }
  return lines;
}

}  // namespace

AnswerReader::AnswerReader(std::size_t body_max, bool cuts) : body_max_(body_max), cuts_(cuts) {
  begin();
}

void AnswerReader::begin() {
  parser_.emplace();
  parser_->eager(true);
  parser_->header_limit(2 * kHeadBytesMax);  // The header is measured here, as received.
  parser_->body_limit(cuts_ ? std::numeric_limits<std::uint64_t>::max() : body_max_);
  head_.clear();
}

Status AnswerReader::take(std::string_view bytes) {
  if (bytes.empty()) return {};
  is_begun_ = true;
  if (is_done()) {
    has_surplus_ = true;
    return {};
  }
  return parser_->is_header_done() ? feed(bytes) : take_head(bytes);
}

Status AnswerReader::take_head(std::string_view bytes) {
  head_ += bytes;
  const std::size_t end = end_of_head(head_);
  if (std::min(end, head_.size()) > kHeadBytesMax)
    return no_answer("the header of the response is larger than " + std::to_string(kHeadBytesMax) +
                     " bytes");
  if (end == std::string::npos) return {};
  const std::string lines =
      normalized(std::string_view{head_}.substr(0, end), cuts_ ? body_max_ : std::string::npos);
  const std::string rest = head_.substr(end);
  CARILLON_TRY(feed(lines));
  if (!parser_->is_header_done()) return no_answer("the response is not HTTP: it has no status");
  const unsigned status = parser_->get().result_int();
  if (status >= 100 && status < 200) begin();
  return take(rest);
}

Status AnswerReader::feed(std::string_view bytes) {
  rest_ += bytes;
  std::size_t used = 0;
  while (used < rest_.size() && !parser_->is_done()) {
    const std::size_t given = std::min(rest_.size() - used, kRestBytesMax);
    beast::error_code failure;
    const std::size_t taken =
        parser_->put(boost::asio::buffer(rest_.data() + used, given), failure);
    used += taken;
    if (failure && failure != http::error::need_more) return refusal(failure);
    if (taken > 0 && given == kRestBytesMax) continue;
    if (given == kRestBytesMax)
      return no_answer("a chunk extension or the trailer of the response is larger than " +
                       std::to_string(kRestBytesMax) + " bytes");
    if (failure || taken == 0) break;
  }
  rest_.erase(0, used);
  is_cut_ = cuts_ && parser_->get().body().size() > body_max_;
  has_surplus_ = parser_->is_done() && !rest_.empty();
  return {};
}

Status AnswerReader::end() {
  if (is_done()) return {};
  if (!is_begun_) return no_answer("the connection was closed before the response");
  beast::error_code failure;
  if (parser_->is_header_done()) parser_->put_eof(failure);
  if (failure || !is_done())
    return no_answer("the connection was closed in the middle of the response");
  return {};
}

Error AnswerReader::refusal(const beast::error_code& failure) const {
  if (failure == http::error::body_limit)
    return no_answer("the response is larger than " + std::to_string(body_max_) + " bytes");
  return no_answer("the response is not HTTP: " + failure.message());
}

bool AnswerReader::is_done() const { return is_cut_ || parser_->is_done(); }

int AnswerReader::status() const { return static_cast<int>(parser_->get().result_int()); }

std::string AnswerReader::take_body() {
  std::string body = std::move(parser_->get().body());
  if (is_cut_) body.resize(body_max_);
  return body;
}

bool AnswerReader::keeps_alive() const {
  return !is_cut_ && parser_->keep_alive() && !has_surplus_;
}

std::optional<int> AnswerReader::keep_alive_seconds() const {
  constexpr std::string_view kName = "timeout=";
  const auto value = parser_->get()[http::field::keep_alive];
  const std::size_t found = value.find(beast::string_view{kName.data(), kName.size()});
  if (found == beast::string_view::npos) return std::nullopt;
  int seconds = 0;
  const char* const begin = value.data() + found + kName.size();
  const auto parsed = std::from_chars(begin, value.data() + value.size(), seconds);
  if (parsed.ec != std::errc{}) return std::nullopt;
  return seconds;
}

}  // namespace carillon::net
