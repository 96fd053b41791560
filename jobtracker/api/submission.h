#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/job_client.h"
#include "jobtracker/api/api.h"
#include "jobtracker/api/json_rows.h"

namespace carillon::jobtracker::api {

// Jobs that are to be submitted, some of which may be invalid.
struct Submission {
  struct One {
    std::optional<JobSpec> spec{};  // none: it cannot be read
    SubmitAnswer answer{};          // of one that is not sent
  };
  std::vector<One> jobs{};
  bool is_single = false;  // the body is one spec, and not a list
  bool suspended = false;
};

// The body of POST /jobs.
Result<Submission> read_submission(const std::string& body);
// A job as JSON text. `zone`: of cron jobs that name none.
Result<JobSpec> read_job(std::string_view text, const std::string& zone, WallTime now);
// Error for a spec as it was shown, with a secret hidden.
Status check_no_mask(const JobSpec& spec);

using OnSubmitted = std::function<void(Result<std::vector<SubmitAnswer>>)>;
// Sends what is valid. `then` gets an answer for each job, in order. With a key, the jobs are one
// numbered request; errors about the key are answered to the call.
void submit(Api& api, const ExchangePtr& exchange, Submission submission, OnSubmitted then);

Json json_of_answer(const SubmitAnswer& answer);
// The answer to a call that submits one job: the job's, or a problem if it was rejected.
void send_answer(const ExchangePtr& exchange, const Result<std::vector<SubmitAnswer>>& answers);

}  // namespace carillon::jobtracker::api
