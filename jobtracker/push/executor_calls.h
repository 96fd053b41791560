#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "carillon/ids.h"
#include "carillon/job_spec.h"
#include "shared/net/poster.h"
#include "shared/wire/xxl/messages.h"

// Builds requests to executors and interprets their answers. Pure functions.
namespace carillon::jobtracker {

// The job number for executors: xxl-job's number if there is one. Other definitions use their own
// id above all numbers of xxl-job. A one-shot job uses a number above these, which is unlikely to
// collide.
std::int64_t executor_job(DefinitionId definition, std::string_view task_id, JobId job);

// The log id of a call: greater than `last`, not earlier than `id`, and of the group's partition. A
// millisecond has 64 ids; a burst uses those of later milliseconds.
std::int64_t next_log_id(std::int64_t last, std::int64_t id, GroupId group);
// The time of an id that is as late as the log id after `last`.
WallTime id_time_of_next_log(std::int64_t last);
// The greatest log id of the id's millisecond.
std::int64_t last_log_id_of(std::int64_t id);

// The time that an executor gets with a log id and uses for its log file.
std::int64_t log_time_ms(std::int64_t log_id);

// The part of a call that is the same for each executor and shard.
wire::xxl::RunCall run_call_of(const JobSpec& spec, std::int64_t executor_job);

// A request to "http://HOST:PORT/path/". The trailing slash of the address is optional.
net::Post post_to(const std::string& address, std::string_view path, std::string body,
                  const std::string& token, const std::string& app_name, Duration timeout);

enum class RunAnswer {
  kTaken,      // queued or running there
  kRefused,    // not queued there, and never will be
  kDiscarded,  // discarded by its block strategy
  kOtherPath,  // it expects the other path of /run and /trigger
  kNotSent,    // the request was not sent
  kUnknown,    // unknown whether it received the request
};
struct RunVerdict {
  RunAnswer answer = RunAnswer::kUnknown;
  std::string reason{};
};
RunVerdict verdict_on_run(const net::PostOutcome& outcome, Block block);

// One executor client reports a killed run as a success, with this text.
bool says_it_was_killed(std::string_view message);

// The text of our executor for runs that were lost when it was killed.
bool says_it_is_lost(const wire::xxl::RunResult& result);

// Meaning of an answer to /idleBeat and /beat.
enum class BeatAnswer {
  kYes,    // alive or idle
  kNo,     // unhealthy or busy
  kGone,   // no program listens at its port
  kSilent  // no answer
};
BeatAnswer answer_to_beat(const net::PostOutcome& outcome);

}  // namespace carillon::jobtracker
