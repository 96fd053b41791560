#pragma once

#include <string>
#include <string_view>

#include "shared/wire/messages.h"

// Encodes and decodes messages. Pure.
//
// Decoding does not trust its input: frame size, depth, counts and lengths are limited before any
// allocation, and numbers are checked against their range. A missing field keeps its default; a
// field of the wrong type is an error that names it.
//
// Thread: any.
namespace carillon::wire {

std::string encode(const Envelope& envelope);

// Error: kInvalidArgument for invalid frames or other versions; `correlation_of` may still find the
// request to answer.
Result<Envelope> decode(std::string_view frame);

// The correlation of a frame that decode() rejected, or 0.
std::uint64_t correlation_of(std::string_view frame);

// Whether a frame's header says that it is a Submit.
bool is_submit(std::string_view frame);

// A JobSpec as it is stored and handed out: a MessagePack map of the fields that differ from their
// defaults. Without replace_on_exist, which belongs to the request.
std::string encode_spec(const JobSpec& spec);
Result<JobSpec> decode_spec(std::string_view bytes);

// The same without the task id and the group, for rows with their own columns for them. The spec is
// unchanged when this returns.
std::string encode_spec_of_row(JobSpec& spec);

}  // namespace carillon::wire
