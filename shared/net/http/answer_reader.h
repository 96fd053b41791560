#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "carillon/result.h"

namespace carillon::net {

// Reads one HTTP answer from bytes as they come: with a length, in chunks, or up to the end of the
// connection. Lines of the head may end without a carriage return, as those of some small servers
// do; interim answers (1xx) are passed over.
//
// Thread: the owner's.
class AnswerReader {
 public:
  // `cuts`: of a larger body it reads the first `body_max` bytes, and that is no error.
  explicit AnswerReader(std::size_t body_max, bool cuts = false);

  // An error is final: this is no HTTP answer, or it is too large.
  Status take(std::string_view bytes);
  // The connection has ended. An error: in the middle of the answer.
  Status end();

  bool is_begun() const { return is_begun_; }
  bool is_done() const;

  // Requires: is_done().
  int status() const;
  std::string take_body();
  bool is_cut() const { return is_cut_; }
  // Whether another request may follow on the connection.
  bool keeps_alive() const;
  // For how many seconds the server says that it keeps an idle connection.
  std::optional<int> keep_alive_seconds() const;

 private:
  using Parser = boost::beast::http::response_parser<boost::beast::http::string_body>;

  void begin();
  Status take_head(std::string_view bytes);
  Status feed(std::string_view bytes);
  Error refusal(const boost::beast::error_code& failure) const;

  const std::size_t body_max_;
  const bool cuts_;
  std::optional<Parser> parser_;
  std::string head_{};  // until it is whole
  std::string rest_{};  // of the body, what the parser waits to see more of
  bool is_begun_ = false;
  bool is_cut_ = false;
  bool has_surplus_ = false;
};

}  // namespace carillon::net
