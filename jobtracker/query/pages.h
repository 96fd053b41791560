#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "shared/wire/messages.h"

// What all questions of people have in common: answers come in pages, or are refused.
namespace carillon::jobtracker {

// A page stays below a frame's size, whatever is in its rows.
inline constexpr std::int64_t kPageMax = 400;
std::int64_t page_of(const wire::Query& message);

// Where a page goes on: numbers with a colon between. No numbers: none, or nothing of ours.
std::vector<std::int64_t> numbers(const std::string& text);
std::string key_text(std::initializer_list<std::int64_t> parts);

bool is_of_task(const wire::Query& message, const std::string& task_id);
wire::ErrorReply error_reply(const Error& error);

}  // namespace carillon::jobtracker
