#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "shared/net/http/http_server.h"

// The parts of a request. Thread: any.
namespace carillon::jobtracker::web {

// "/metrics" of "/metrics?x=1".
std::string_view target_path(std::string_view target);
// The first parameter of the query with this name, decoded. None: it is missing or badly encoded.
std::optional<std::string> query_value(std::string_view target, std::string_view name);

// The value of a cookie; empty: it was not sent.
std::string cookie_of(const net::HttpCall& call, std::string_view name);
// The header with this name in lower case; empty: it was not sent.
std::string header_of(const net::HttpCall& call, const std::string& name);

// Whether the request has an access token of its own. Other kinds of Authorization do not count:
// a browser may send those on behalf of a page of another site.
bool has_bearer_token(const net::HttpCall& call);

}  // namespace carillon::jobtracker::web
