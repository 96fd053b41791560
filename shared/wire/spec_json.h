#pragma once

#include <string>
#include <string_view>

#include "shared/wire/messages.h"

// Jobs, answers and rows as the JSON that people and scripts see; docs/guide has the fields.
//
// Reading is strict: a field that is unknown, given twice, contradicts another or has the wrong
// type is refused by its name. Limits and ranges are left to JobSpec::validate().
//
// Thread: any.
namespace carillon::wire {

// A job from one JSON object.
Result<JobSpec> spec_from_json(std::string_view text);

// Which task a text is about that spec_from_json() refuses; empty where that cannot be known.
struct NamedTask {
  std::string task_id{};
  std::string group{};
};
NamedTask task_named_in(std::string_view text);

// The object that spec_from_json() reads back: what differs from the defaults. Times are cut to
// milliseconds.
std::string spec_to_json(const JobSpec& spec);

// {"task_id":"nightly","group":"ops","job_id":"7211","status":"accepted","tz":"Asia/Shanghai"}
std::string answer_to_json(const SubmitAnswer& answer);

// "accepted", "duplicate", "rejected", "stored".
const char* to_string(SubmitStatus status);

// One object, fields in the row's order. Bytes that are not UTF-8 are replaced.
std::string row_to_json(const Row& row);

}  // namespace carillon::wire
