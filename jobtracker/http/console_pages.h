#pragma once

#include <optional>
#include <string_view>

#include "shared/net/http/http_server.h"

// The files of the web console, which are part of the program.
//
// Thread: any.
namespace carillon::jobtracker {

bool is_console_target(std::string_view target);
// What is answered to a request for one of its files by the head. Nothing: console_page() answers.
std::optional<net::HttpResponse> check_console_head(const net::HttpCall& head);
// Requires: is_console_target(call.target).
net::HttpResponse console_page(const net::HttpCall& call);

}  // namespace carillon::jobtracker
