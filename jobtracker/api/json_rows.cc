#include "jobtracker/api/json_rows.h"

#include <algorithm>
#include <type_traits>

#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

Json list_in(std::string_view text) {
  Json list = Json::array();
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    if (!one.empty()) list.push_back(std::string{one});
  }
  return list;
}

// "zone=a,disk=ssd"; a text without an equals sign has the value true.
Json labels_in(std::string_view text) {
  Json labels = Json::object();
  for (const Json& one : list_in(text)) {
    const std::string& label = one.get_ref<const std::string&>();
    const auto equals = label.find('=');
    labels[label.substr(0, equals)] =
        equals == std::string::npos ? std::string{"true"} : label.substr(equals + 1);
  }
  return labels;
}

}  // namespace

const wire::Field* field_of(const wire::Row& row, std::string_view name) {
  const auto found =
      std::find_if(row.begin(), row.end(), [&](const auto& one) { return one.first == name; });
  return found == row.end() ? nullptr : &found->second;
}

std::string text_in(const wire::Row& row, std::string_view name) {
  const auto* field = field_of(row, name);
  const auto* text = field == nullptr ? nullptr : std::get_if<std::string>(field);
  return text == nullptr ? std::string{} : *text;
}

std::int64_t number_in(const wire::Row& row, std::string_view name) {
  const auto* field = field_of(row, name);
  const auto* number = field == nullptr ? nullptr : std::get_if<std::int64_t>(field);
  return number == nullptr ? 0 : *number;
}

bool flag_in(const wire::Row& row, std::string_view name) {
  const auto* field = field_of(row, name);
  const auto* flag = field == nullptr ? nullptr : std::get_if<bool>(field);
  return flag != nullptr && *flag;
}

Json json_of(const wire::Field& field) {
  return std::visit(
      [](const auto& held) -> Json {
        if constexpr (std::is_same_v<std::decay_t<decltype(held)>, std::monostate>) {
          return nullptr;
        } else {
          return held;
        }
      },
      field);
}

Json item_of(const wire::Row& row) {
  Json item = Json::object();
  for (const auto& [name, field] : row) {
    const auto* text = std::get_if<std::string>(&field);
    if (text == nullptr) {
      item[name] = json_of(field);
    } else if (name == "tags") {
      item[name] = list_in(*text);
    } else if (name == "labels") {
      item[name] = labels_in(*text);
    } else {
      item[name] = *text;
    }
  }
  return item;
}

Json json_of_time(WallTime time) { return time == WallTime{} ? Json{} : Json(format_time(time)); }

}  // namespace carillon::jobtracker::api
