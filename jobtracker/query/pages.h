#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "shared/wire/messages.h"

// Common parts of all queries: answers in pages, and errors.
namespace carillon::jobtracker {

// Most rows of a page; keeps it below a frame's size whatever the rows contain.
inline constexpr std::int64_t kPageMax = 400;
std::int64_t page_of(const wire::Query& message);

// Parses a page token: numbers separated by colons. Empty for no token or an invalid one.
std::vector<std::int64_t> numbers(const std::string& text);
std::string key_text(std::initializer_list<std::int64_t> parts);

bool is_of_task(const wire::Query& message, const std::string& task_id);
wire::ErrorReply error_reply(const Error& error);

}  // namespace carillon::jobtracker
