#include "shared/wire/problem_json.h"

#include <array>
#include <string>

#include <nlohmann/json.hpp>

namespace carillon::wire {
namespace {

std::string text_at(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

ErrorCode code_of(const std::string& name) {
  constexpr std::array kCodes{ErrorCode::kInvalidArgument, ErrorCode::kNotFound,
                              ErrorCode::kConflict,        ErrorCode::kUnavailable,
                              ErrorCode::kTimeout,         ErrorCode::kLimit,
                              ErrorCode::kCorrupt,         ErrorCode::kDenied};
  for (const ErrorCode code : kCodes) {
    if (name == to_string(code)) return code;
  }
  return name == "unauthenticated" ? ErrorCode::kDenied : ErrorCode::kUnavailable;
}

}  // namespace

std::optional<Error> problem_from_json(std::string_view text) {
  const auto object = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  const std::string detail = text_at(object, "detail");
  if (detail.empty()) return std::nullopt;
  return Error{code_of(text_at(object, "code")), detail};
}

}  // namespace carillon::wire
