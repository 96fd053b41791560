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

// Parses one HTTP response from bytes as they arrive: with a length, in chunks, or up to the end of
// the connection. Header lines may end without a carriage return, as some small servers send them.
// Interim responses (1xx) are skipped.
//
// Thread: the owner's.
class AnswerReader {
 public:
  // `cuts`: reads only the first `body_max` bytes of a larger body, without an error.
  explicit AnswerReader(std::size_t body_max, bool cuts = false);

  // An error is final: it is not an HTTP response, or its head, a chunk extension, the trailer or
  // the body is too large.
  Status take(std::string_view bytes);
  // The connection was closed. Error: in the middle of the response.
  Status end();

  bool is_begun() const { return is_begun_; }
  bool is_done() const;

  // Requires: is_done().
  int status() const;
  std::string take_body();
  bool is_cut() const { return is_cut_; }
  // Whether the connection can be used for another request.
  bool keeps_alive() const;
  // How many seconds the server keeps an idle connection, if it says so.
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
  std::string head_{};  // until it is complete
  std::string rest_{};  // of the body, bytes that the parser needs again
  bool is_begun_ = false;
  bool is_cut_ = false;
  bool has_surplus_ = false;
};

}  // namespace carillon::net
