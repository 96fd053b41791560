#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"

namespace carillon::jobtracker::api {

// Decodes %XX, and with `plus` also + as a blank. Error: kInvalidArgument for a bad escape, a zero
// byte, or text that is not UTF-8.
Result<std::string> percent_decoded(std::string_view text, bool plus);

std::string percent_encoded(std::string_view text);

// The parameters of a URL, like group=ops&page_size=10. An empty value counts as none. Errors name
// the parameter.
//
// Thread: any.
class Parameters {
 public:
  Parameters() = default;
  // `query`: what follows the question mark.
  static Result<Parameters> parse(std::string_view query);

  // Error for any other parameter.
  Status allow_only(std::initializer_list<std::string_view> names) const;

  // Empty: not given.
  std::string text(std::string_view name) const;
  bool has(std::string_view name) const { return !text(name).empty(); }
  // Separated by comma.
  std::vector<std::string> list(std::string_view name) const;
  // RFC 3339; none: not given.
  Result<std::optional<WallTime>> time(std::string_view name) const;
  Result<std::int64_t> number(std::string_view name, std::int64_t fallback, std::int64_t min,
                              std::int64_t max) const;
  Result<bool> flag(std::string_view name) const;

  const std::map<std::string, std::string, std::less<>>& all() const { return values_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

}  // namespace carillon::jobtracker::api
