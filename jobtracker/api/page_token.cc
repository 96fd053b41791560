#include "jobtracker/api/page_token.h"

#include <charconv>
#include <string_view>

#include "shared/base/crypto.h"
#include "shared/wire/base64.h"

namespace carillon::jobtracker::api {
namespace {

constexpr const char* kTokenName = "page_token";
constexpr std::size_t kListHashLength = 8;

// Of everything that decides about the rows of a list.
std::string hash_of_list(const std::string& list, const Parameters& parameters) {
  std::string all = list;
  for (const auto& [name, value] : parameters.all()) {
    const bool is_of_form = name == kTokenName || name == "page_size" || name == "results";
    if (is_of_form || value.empty()) continue;
    all += '\n' + name + '=' + value;
  }
  return sha256_hex(all).substr(0, kListHashLength);
}

std::string url_safe(std::string base64) {
  for (char& c : base64) c = c == '+' ? '-' : c == '/' ? '_' : c;
  while (!base64.empty() && base64.back() == '=') base64.pop_back();
  return base64;
}

std::string base64_of(std::string url_safe) {
  for (char& c : url_safe) c = c == '-' ? '+' : c == '_' ? '/' : c;
  return url_safe;
}

// Takes a number and the separator after it off the text.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{}) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  if (!text.starts_with('|')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string page_token(const PageStart& start, const std::string& list,
                       const Parameters& parameters) {
  return url_safe(wire::to_base64(hash_of_list(list, parameters) + std::to_string(start.phase) +
                                  '|' + std::to_string(start.skipped) + '|' + start.after));
}

Result<PageStart> page_start(const std::string& list, const Parameters& parameters) {
  const std::string token = parameters.text(kTokenName);
  if (token.empty()) return PageStart{};
  const Error bad{
      ErrorCode::kInvalidArgument,
      std::string{kTokenName} +
          " is not one of this list with these parameters (repeat the parameters of the "
          "first page)"};
  const auto decoded = wire::from_base64(base64_of(token));
  if (!decoded || decoded->size() < kListHashLength) return bad;
  std::string_view text = *decoded;
  if (text.substr(0, kListHashLength) != hash_of_list(list, parameters)) return bad;
  text.remove_prefix(kListHashLength);
  PageStart start;
  if (!take_number(text, start.phase) || start.phase < 0) return bad;
  if (!take_number(text, start.skipped)) return bad;
  start.after = text;
  return start;
}

}  // namespace carillon::jobtracker::api
