#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "shared/wire/xxl/messages.h"

// xxl-job's JSON as values, whichever dialect it is in. What is absent is as null, and both as the
// default; unknown fields are passed over; a number may be written as a string, and the other way
// round. Only what makes no sense at all is refused, with kInvalidArgument and the name of the
// field.
// Thread: any.
namespace carillon::wire::xxl {

// Bytes of Hessian, which xxl-job spoke before 2.2 (by way of xxl-rpc), and nobody does here.
bool is_hessian(std::string_view body);
inline constexpr std::string_view kSpeaksHessian =
    "it speaks Hessian (xxl-job before 2.2), which is not supported: update xxl-job-core";

Result<RunCall> read_run(std::string_view body);
Result<JobCall> read_job(std::string_view body);
Result<LogCall> read_log(std::string_view body);
Result<Registration> read_registration(std::string_view body);
Result<ManagedJob> read_managed_job(std::string_view body);
// Results that came in one request, and what is wrong with the first of the elements that are none.
struct ResultList {
  std::vector<RunResult> results{};
  std::size_t refused = 0;
  std::string why{};
};
// An array, an object with a callbackList, or one result. Of a time nothing is read, and a message
// may be anything; what is no character is U+FFFD.
Result<ResultList> read_results(std::string_view body);

// A reply without a code, one that is no object and one that is no JSON are refused, and quoted; a
// message may be as above.
Result<Reply> read_reply(std::string_view body);
// JSON that was cut off within a text, made whole: that text ends with its last whole line, or
// where it has none with its last letter of ASCII. Anything else stays as it is.
std::string end_cut_text(std::string_view body);
// Of a reply to /log, whose code is 200.
Result<LogPart> read_log_part(std::string_view body);

}  // namespace carillon::wire::xxl
