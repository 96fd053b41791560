#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "carillon/time.h"
#include "shared/wire/messages.h"

// Rows of the job tracker as JSON of the API: tags and labels as lists and objects, 64-bit ids as
// text.
//
// Thread: any.
namespace carillon::jobtracker::api {

using Json = nlohmann::ordered_json;

// nullptr: the row does not have it.
const wire::Field* field_of(const wire::Row& row, std::string_view name);
// Empty: the row does not have it, or it is no text.
std::string text_in(const wire::Row& row, std::string_view name);
std::int64_t number_in(const wire::Row& row, std::string_view name);
bool flag_in(const wire::Row& row, std::string_view name);

Json json_of(const wire::Field& field);
Json item_of(const wire::Row& row);

// RFC 3339 in UTC with milliseconds; null for the epoch.
Json json_of_time(WallTime time);

}  // namespace carillon::jobtracker::api
