#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"

// What somebody is told: of jobs that have failed for good, and of node groups that are not as they
// should be.
namespace carillon::wire {

// A job, as it failed last.
struct AlarmLine {
  std::string task_id{};
  std::string description{};
  std::string owner{};
  std::int64_t failures = 1;  // so often
  JobId job_id{};
  std::int32_t attempt = 0;
  std::string state{};
  WallTime trigger_time{};
  WallTime started_at{};  // epoch: not known
  WallTime ended_at{};
  std::string node{};
  std::optional<std::int32_t> exit_code{};
  std::string message{};
};

// A state of the node group that began, or that is over.
struct AlarmCondition {
  std::string condition{};  // one word
  bool is_over = false;
  WallTime since{};    // when it began
  WallTime at{};       // when this was seen
  std::string text{};  // for people, in one line
};

// Of one node group.
struct AlarmMessage {
  std::int64_t id = 0;  // the same whenever it is sent again
  std::string group{};
  std::vector<AlarmCondition> conditions{};
  std::vector<AlarmLine> jobs{};
  std::int64_t others = 0;  // failures of jobs beyond those
};

std::int64_t failures_of(const AlarmMessage& message);

// One line: "[carillon] ops: 12 failures of nightly and 2 other jobs", "[carillon] ops: backlog:
// 12000 due jobs (limit 10000 jobs)"; with both, the failures come last.
std::string alarm_subject(const AlarmMessage& message);
// Plain text for people.
std::string alarm_text(const AlarmMessage& message);
// docs/guide/alarms.md describes the fields.
std::string alarm_json(const AlarmMessage& message);

}  // namespace carillon::wire
