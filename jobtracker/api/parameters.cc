#include "jobtracker/api/parameters.h"

#include <algorithm>
#include <charconv>

#include "shared/base/joined.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker::api {
namespace {

Error bad_parameter(const std::string& why) { return {ErrorCode::kInvalidArgument, why}; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

Result<std::string> percent_decoded(std::string_view text, bool plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus) {
      decoded += ' ';
    } else if (text[i] != '%') {
      decoded += text[i];
    } else {
      const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
      const int low = i + 2 < text.size() ? hex_digit(text[i + 2]) : -1;
      if (high < 0 || low < 0)
        return bad_parameter("the URL has a % without two hexadecimal digits");
      decoded += static_cast<char>(high * 16 + low);
      i += 2;
    }
  }
  if (!is_utf8(decoded) || decoded.find('\0') != std::string::npos)
    return bad_parameter("the URL has text that is not UTF-8, or a zero byte");
  return decoded;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                          (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == '.' || c == '~';
    if (is_plain) {
      encoded += c;
    } else {
      encoded += '%';
      encoded += kDigits[byte >> 4U];
      encoded += kDigits[byte & 15U];
    }
  }
  return encoded;
}

Result<Parameters> Parameters::parse(std::string_view query) {
  Parameters parameters;
  while (!query.empty()) {
    const std::string_view one = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), one.size() + 1));
    if (one.empty()) continue;
    const auto equals = one.find('=');
    std::string name = CARILLON_TRY(percent_decoded(one.substr(0, equals), true));
    std::string value;
    if (equals != std::string_view::npos)
      value = CARILLON_TRY(percent_decoded(one.substr(equals + 1), true));
    if (!parameters.values_.emplace(name, std::move(value)).second)
      return bad_parameter(name + " is given twice (give it once)");
  }
  return parameters;
}

Status Parameters::allow_only(std::initializer_list<std::string_view> names) const {
  for (const auto& [name, value] : values_) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    std::vector<std::string> known(names.begin(), names.end());
    return bad_parameter("unknown field '" + name + "' in the URL" +
                         (known.empty() ? std::string{" (it takes no parameters)"}
                                        : " (known: " + joined(known, ", ") + ")"));
  }
  return {};
}

std::string Parameters::text(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string{} : found->second;
}

std::vector<std::string> Parameters::list(std::string_view name) const {
  std::vector<std::string> parts;
  const std::string all = text(name);
  for (std::size_t at = 0; at < all.size();) {
    const std::size_t comma = std::min(all.find(',', at), all.size());
    if (comma > at) parts.push_back(all.substr(at, comma - at));
    at = comma + 1;
  }
  return parts;
}

Result<std::optional<WallTime>> Parameters::time(std::string_view name) const {
  const std::string given = text(name);
  if (given.empty()) return std::optional<WallTime>{};
  const auto parsed = parse_time(given);
  if (!parsed.ok()) return parsed.error().with_context(std::string{name});
  return std::optional{parsed.value()};
}

Result<std::int64_t> Parameters::number(std::string_view name, std::int64_t fallback,
                                        std::int64_t min, std::int64_t max) const {
  const std::string given = text(name);
  if (given.empty()) return fallback;
  std::int64_t number = 0;
  const char* const end = given.data() + given.size();
  const auto [at, failed] = std::from_chars(given.data(), end, number);
  if (failed == std::errc{} && at == end && number >= min && number <= max) return number;
  return bad_parameter(std::string{name} + " is '" + given + "', must be " + std::to_string(min) +
                       " to " + std::to_string(max));
}

Result<bool> Parameters::flag(std::string_view name) const {
  const std::string given = text(name);
  if (given.empty() || given == "false") return false;
  if (given == "true") return true;
  return bad_parameter(std::string{name} + " is '" + given + "', must be true or false");
}

}  // namespace carillon::jobtracker::api
