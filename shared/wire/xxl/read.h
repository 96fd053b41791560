#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "shared/wire/xxl/messages.h"

// Parses xxl-job's JSON in all dialects. A missing field equals null, and both mean the default;
// unknown fields are skipped; a number may be written as a string, and vice versa. Other errors are
// kInvalidArgument with the name of the field. Thread: any.
namespace carillon::wire::xxl {

// Whether the bytes are Hessian, which xxl-job used before 2.2 (through xxl-rpc) and Carillon does
// not support.
bool is_hessian(std::string_view body);
inline constexpr std::string_view kSpeaksHessian =
    "it speaks Hessian (xxl-job before 2.2), which is not supported: update xxl-job-core";

Result<RunCall> read_run(std::string_view body);
Result<JobCall> read_job(std::string_view body);
Result<LogCall> read_log(std::string_view body);
Result<Registration> read_registration(std::string_view body);
Result<ManagedJob> read_managed_job(std::string_view body);
// The results of one request, and the error of the first invalid element.
struct ResultList {
  std::vector<RunResult> results{};
  std::size_t refused = 0;
  std::string why{};
};
inline constexpr std::size_t kResultsMax = 100'000;  // more than real executors fit into a body
// Parses an array, an object with a callbackList, or one result. Times are ignored. A message may
// be anything; invalid UTF-8 becomes U+FFFD. Error: more than kResultsMax.
Result<ResultList> read_results(std::string_view body);

// Errors, with a quotation: a reply without a code, or one that is not a JSON object. A message may
// be anything.
Result<Reply> read_reply(std::string_view body);
// Completes JSON that was cut off within a text: the text ends with its last complete line, or
// without one with its last ASCII character. Other input is unchanged.
std::string end_cut_text(std::string_view body);
// From a reply to /log with code 200.
Result<LogPart> read_log_part(std::string_view body);

}  // namespace carillon::wire::xxl
