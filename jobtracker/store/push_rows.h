#pragma once

#include <cstdint>
#include <string>

#include "carillon/ids.h"
#include "carillon/time.h"

// The rows of the push tables, as values; docs/reference/tables.md describes the columns.
namespace carillon::jobtracker {

// A node group whose jobs xxl-job executors run.
struct ExecutorGroup {
  GroupId group{};
  std::string token{};  // sent with each call; empty: none

  bool operator==(const ExecutorGroup&) const = default;
};

// One of its executors.
struct ExecutorRow {
  GroupId group{};
  std::string address{};            // as given, never rewritten
  bool is_manual = false;           // listed by hand: need not register, does not expire
  bool has_trigger = false;         // accepts calls at /trigger, because it did not know /run
  WallTime registered_at{};         // last registration; epoch: never
  bool reports_busy_state = false;  // has reported itself as busy, so its idle reports are reliable
  std::int32_t place = 0;           // position in the list

  bool operator==(const ExecutorRow&) const = default;
};

// The code of a run that its executor discarded; results never have it.
inline constexpr std::int32_t kDiscardedCode = -1;

// One call of an executor: the run of an attempt or of one shard.
struct PushRun {
  std::int64_t log_id = 0;  // its lowest bits are the group's partition
  GroupId group{};
  JobId job{};
  std::int32_t attempt = 0;
  std::int32_t shard = 0;
  std::int32_t shards = 1;
  std::string address{};
  std::int32_t failures = 0;  // of this shard, before this call
  WallTime called_at{};       // or planned: it may have waited for a connection
  std::int32_t code = 0;      // of its result, or kDiscardedCode; 0: none yet
  std::string message{};
  // Its executor accepted it and has never reported itself as busy: its idle report alone proves
  // nothing.
  bool is_taken = false;

  bool operator==(const PushRun&) const = default;
};

// The memory of a route for a definition's runs.
struct RouteRow {
  DefinitionId definition{};
  GroupId group{};
  std::string memory{};  // empty: nothing

  bool operator==(const RouteRow&) const = default;
};

// A result that an executor reported to a job tracker that does not own the run.
struct ExecutorResult {
  std::int64_t id = 0;  // time-ordered
  std::int64_t log_id = 0;
  std::int32_t code = 0;
  std::string message{};

  bool operator==(const ExecutorResult&) const = default;
};

}  // namespace carillon::jobtracker
