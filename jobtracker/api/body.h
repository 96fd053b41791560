#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "carillon/result.h"
#include "carillon/time.h"
#include "jobtracker/api/exchange.h"

namespace carillon::jobtracker::api {

// Reads the fields of a JSON object in the body of a call. Reading is strict: a field that is
// unknown, repeated or of the wrong type is an error that names it.
//
//   Body body = CARILLON_TRY(Body::of(exchange));
//   const std::string name = CARILLON_TRY(body.text("name"));
//   CARILLON_TRY(body.finish());
//
// Thread: any.
class Body {
 public:
  // An empty body counts as {}.
  static Result<Body> of(const Exchange& exchange);

  bool has(const std::string& name);
  // Empty: not given, or null.
  Result<std::string> text(const std::string& name);
  Result<std::string> required_text(const std::string& name);
  Result<std::optional<std::string>> optional_text(const std::string& name);
  Result<bool> flag(const std::string& name, bool fallback = false);
  Result<std::int64_t> number(const std::string& name, std::int64_t fallback, std::int64_t min,
                              std::int64_t max);
  Result<std::vector<std::string>> texts(const std::string& name, std::size_t count_max);
  Result<std::optional<WallTime>> time(const std::string& name);
  // nullptr: not given.
  const nlohmann::ordered_json* value(const std::string& name);

  // Error if the object has a field that was not read.
  Status finish() const;

 private:
  nlohmann::ordered_json object_ = nlohmann::ordered_json::object();
  std::set<std::string> known_;
};

// A JSON value. Errors: no JSON, or a name that is given twice in an object.
Result<nlohmann::ordered_json> parse_json(std::string_view text);

}  // namespace carillon::jobtracker::api
