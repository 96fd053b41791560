#pragma once

#include <string>
#include <string_view>

#include "shared/wire/messages.h"

// Jobs, answers and rows as JSON for people and scripts; docs/guide has the fields.
//
// Reading is strict: a field that is unknown, repeated, contradictory or of the wrong type is an
// error that names it. JobSpec::validate() checks limits and ranges.
//
// Thread: any.
namespace carillon::wire {

// A job from one JSON object.
Result<JobSpec> spec_from_json(std::string_view text);

// The task of a text that spec_from_json() rejects; empty if it is unknown.
struct NamedTask {
  std::string task_id{};
  std::string group{};
};
NamedTask task_named_in(std::string_view text);

// The object that spec_from_json() accepts: fields that differ from their defaults. Times are
// truncated to milliseconds.
std::string spec_to_json(const JobSpec& spec);

// {"task_id":"nightly","group":"ops","job_id":"7211","status":"accepted","tz":"Asia/Shanghai"}
std::string answer_to_json(const SubmitAnswer& answer);

// "accepted", "duplicate", "rejected", "stored".
const char* to_string(SubmitStatus status);

// One object, fields in the row's order. Invalid UTF-8 is replaced.
std::string row_to_json(const Row& row);

}  // namespace carillon::wire
