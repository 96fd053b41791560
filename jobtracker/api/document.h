#pragma once

#include <string_view>

namespace carillon::jobtracker::api {

// The API in OpenAPI 3.1: the file openapi.json.
std::string_view openapi_document();

}  // namespace carillon::jobtracker::api
