#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"

// Alarm messages: about jobs that failed for good, and about node groups in a bad state.
namespace carillon::wire {

// A job with its last failure.
struct AlarmLine {
  std::string task_id{};
  std::string description{};
  std::string owner{};
  std::int64_t failures = 1;  // number of failures
  JobId job_id{};
  std::int32_t attempt = 0;
  std::string state{};
  WallTime trigger_time{};
  WallTime started_at{};  // epoch: unknown
  WallTime ended_at{};
  std::string node{};
  std::optional<std::int32_t> exit_code{};
  std::string message{};
};

// A bad state of the node group that started or ended.
struct AlarmCondition {
  std::string condition{};  // one word
  bool is_over = false;
  WallTime since{};    // when it started
  WallTime at{};       // when it was observed
  std::string text{};  // text for people, in one line
};

// A message about one node group.
struct AlarmMessage {
  std::int64_t id = 0;  // the same for each resend
  std::string group{};
  std::vector<AlarmCondition> conditions{};
  std::vector<AlarmLine> jobs{};
  std::int64_t others = 0;  // failures of other jobs
};

std::int64_t failures_of(const AlarmMessage& message);

// One line: "[carillon] ops: 12 failures of nightly and 2 other jobs", "[carillon] ops: backlog:
// 12000 due jobs (limit 10000 jobs)"; with both, failures come last.
std::string alarm_subject(const AlarmMessage& message);
// Plain text for people.
std::string alarm_text(const AlarmMessage& message);
// docs/guide/alarms.md describes the fields.
std::string alarm_json(const AlarmMessage& message);

}  // namespace carillon::wire
