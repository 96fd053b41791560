#pragma once

#include <optional>

#include "shared/net/http/http_server.h"

// The files of the web console, which are part of the program.
//
// Thread: any.
namespace carillon::jobtracker {

// Whether a browser asks for one of its files. Programs get another page at "/".
bool is_for_console(const net::HttpCall& head);
// What is answered to a request for one of its files by the head. Nothing: console_page() answers.
std::optional<net::HttpResponse> check_console_head(const net::HttpCall& head);
// Requires: is_for_console(call).
net::HttpResponse console_page(const net::HttpCall& call);

}  // namespace carillon::jobtracker
