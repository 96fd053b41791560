#include "jobtracker/api/body.h"

#include <utility>

#include "shared/base/nearest_word.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker::api {
namespace {

using BodyJson = nlohmann::ordered_json;

constexpr int kDepthMax = 32;

Error wrong_body(const std::string& why) { return {ErrorCode::kInvalidArgument, why}; }

Error wrong_field(const std::string& name, const BodyJson& value, const std::string& wanted) {
  return wrong_body(name + " is " + value.type_name() + ", must be " + wanted);
}

}  // namespace

Result<BodyJson> parse_json(std::string_view text) {
  if (!is_utf8(text)) return wrong_body("the body is not UTF-8");
  std::vector<std::set<std::string>> names;
  std::string repeated;
  bool is_too_deep = false;
  const auto note = [&](int depth, BodyJson::parse_event_t event, BodyJson& value) {
    if (depth > kDepthMax) is_too_deep = true;
    if (event == BodyJson::parse_event_t::object_start) names.emplace_back();
    if (event == BodyJson::parse_event_t::object_end && !names.empty()) names.pop_back();
    if (event == BodyJson::parse_event_t::key && !names.empty()) {
      const std::string& name = value.get_ref<const std::string&>();
      if (!names.back().insert(name).second && repeated.empty()) repeated = name;
    }
    return !is_too_deep;
  };
  BodyJson json = BodyJson::parse(text, note, false);
  if (is_too_deep)
    return wrong_body("the body is nested more than " + std::to_string(kDepthMax) + " levels deep");
  if (json.is_discarded()) return wrong_body("the body is not JSON");
  if (!repeated.empty()) return wrong_body(repeated + " is given twice (give it once)");
  return json;
}

Result<Body> Body::of(const Exchange& exchange) {
  Body body;
  if (exchange.call.body.empty()) return body;
  body.object_ = CARILLON_TRY(parse_json(exchange.call.body));
  if (!body.object_.is_object()) return wrong_body("the body must be a JSON object");
  return body;
}

const BodyJson* Body::value(const std::string& name) {
  known_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

bool Body::has(const std::string& name) { return value(name) != nullptr; }

Result<std::optional<std::string>> Body::optional_text(const std::string& name) {
  const BodyJson* const given = value(name);
  if (given == nullptr) return std::optional<std::string>{};
  if (!given->is_string()) return wrong_field(name, *given, "text");
  return std::optional{given->get<std::string>()};
}

Result<std::string> Body::text(const std::string& name) {
  return CARILLON_TRY(optional_text(name)).value_or(std::string{});
}

Result<std::string> Body::required_text(const std::string& name) {
  std::string given = CARILLON_TRY(text(name));
  if (given.empty()) return wrong_body(name + " is empty or missing, it is required");
  return given;
}

Result<bool> Body::flag(const std::string& name, bool fallback) {
  const BodyJson* const given = value(name);
  if (given == nullptr) return fallback;
  if (!given->is_boolean()) return wrong_field(name, *given, "true or false");
  return given->get<bool>();
}

Result<std::int64_t> Body::number(const std::string& name, std::int64_t fallback, std::int64_t min,
                                  std::int64_t max) {
  const BodyJson* const given = value(name);
  if (given == nullptr) return fallback;
  if (!given->is_number_integer()) return wrong_field(name, *given, "a whole number");
  const auto number = given->get<std::int64_t>();
  const bool is_beyond = given->is_number_unsigned() && number < 0;
  if (!is_beyond && number >= min && number <= max) return number;
  return wrong_body(name + " is " + given->dump() + ", must be " + std::to_string(min) + " to " +
                    std::to_string(max));
}

Result<std::vector<std::string>> Body::texts(const std::string& name, std::size_t count_max) {
  std::vector<std::string> list;
  const BodyJson* const given = value(name);
  if (given == nullptr) return list;
  if (!given->is_array()) return wrong_field(name, *given, "a list of texts");
  if (given->size() > count_max) {
    return wrong_body(name + " has " + std::to_string(given->size()) + " elements, at most " +
                      std::to_string(count_max) + " are allowed");
  }
  for (const BodyJson& element : *given) {
    if (!element.is_string()) return wrong_field(name, element, "a list of texts");
    list.push_back(element.get<std::string>());
  }
  return list;
}

Result<std::optional<WallTime>> Body::time(const std::string& name) {
  const std::string given = CARILLON_TRY(text(name));
  if (given.empty()) return std::optional<WallTime>{};
  const auto parsed = parse_time(given);
  if (!parsed.ok()) return parsed.error().with_context(name);
  return std::optional{parsed.value()};
}

Status Body::finish() const {
  for (const auto& [name, value] : object_.items()) {
    if (known_.contains(name)) continue;
    return wrong_body("unknown field '" + name + "'" +
                      did_you_mean(name, {known_.begin(), known_.end()}));
  }
  return {};
}

}  // namespace carillon::jobtracker::api
