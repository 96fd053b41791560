#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/ids.h"
#include "carillon/job_spec.h"
#include "shared/net/poster.h"
#include "shared/wire/xxl/messages.h"

// What is said to executors, and what their answers mean. Pure functions.
namespace carillon::jobtracker {

// The number by which executors know a job: that of xxl-job; of another definition, its own above
// all that xxl-job gives; of a one-shot job, one above those that hardly another job has.
std::int64_t executor_job(DefinitionId definition, std::string_view task_id, JobId job);

// The log id of a call: greater than `last`, as late as `id`, and of the group's partition. Of each
// millisecond there are 64; a burst takes some of those to come.
std::int64_t next_log_id(std::int64_t last, std::int64_t id, GroupId group);
// An id of that time is as late as the log id that follows `last`.
WallTime id_time_of_next_log(std::int64_t last);
// No log id of the id's millisecond is greater.
std::int64_t last_log_id_of(std::int64_t id);

// The time that an executor is told with a log id, and files its log under.
std::int64_t log_time_ms(std::int64_t log_id);

// All of a call that is the same for each executor and shard.
wire::xxl::RunCall run_call_of(const JobSpec& spec, std::int64_t executor_job);

// To "http://HOST:PORT/path/" or without the last stroke, which are the same.
net::Post post_to(const std::string& address, std::string_view path, std::string body,
                  const std::string& token, const std::string& app_name, Duration timeout);

enum class RunAnswer {
  kTaken,      // it is queued there, or runs
  kRefused,    // it is not, and never will
  kDiscarded,  // likewise, as its block strategy wants it
  kOtherPath,  // it takes such calls at /trigger instead of /run, or the other way round
  kNotSent,    // it does not know of it
  kUnknown,    // it may know of it
};
struct RunVerdict {
  RunAnswer answer = RunAnswer::kUnknown;
  std::string reason{};
};
RunVerdict verdict_on_run(const net::PostOutcome& outcome, Block block);

// One client reports a run that it was told to kill as a success, in words of its own.
bool says_it_was_killed(std::string_view message);

// The next executor of ours says so, at the address of one that was killed.
bool says_it_is_lost(const wire::xxl::RunResult& result);

// Of /idleBeat and /beat: what the executor says, if it says something.
enum class BeatAnswer {
  kYes,    // it is there; or idle
  kNo,     // it is not well; or busy
  kGone,   // nobody listens at its port
  kSilent  // who knows
};
BeatAnswer answer_to_beat(const net::PostOutcome& outcome);

}  // namespace carillon::jobtracker
