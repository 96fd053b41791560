#pragma once

#include <string>
#include <string_view>

#include "shared/wire/messages.h"

// Messages to bytes and back. Pure.
//
// Decoding trusts nothing: the frame's size, its depth, every count and every length is limited
// before anything is allocated, and numbers are checked against their range. A field left out
// keeps its default; a field of the wrong type is an error that names it.
//
// Thread: any.
namespace carillon::wire {

std::string encode(const Envelope& envelope);

// kInvalidArgument: not a frame, or not of this version; `correlation_of` may still find whom to
// tell.
Result<Envelope> decode(std::string_view frame);

// The correlation of a frame that decode() refused, or 0.
std::uint64_t correlation_of(std::string_view frame);

// Whether a frame's head says that it is a Submit.
bool is_submit(std::string_view frame);

// A JobSpec as it is stored and handed out: a MessagePack map of the fields that differ from their
// defaults. Without replace_on_exist, which belongs to the request.
std::string encode_spec(const JobSpec& spec);
Result<JobSpec> decode_spec(std::string_view bytes);

// The same without the task id and the group, for where they stand beside it. The spec is as it was
// when this returns.
std::string encode_spec_of_row(JobSpec& spec);

}  // namespace carillon::wire
