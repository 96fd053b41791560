#pragma once

#include <cstdint>
#include <string>

#include "carillon/ids.h"
#include "carillon/time.h"

// The rows of the tables of the push side, as values; docs/reference/tables.md describes each
// column.
namespace carillon::jobtracker {

// A node group whose jobs xxl-job executors run.
struct ExecutorGroup {
  GroupId group{};
  std::string token{};  // sent with every call; empty: none

  bool operator==(const ExecutorGroup&) const = default;
};

// One of its executors.
struct ExecutorRow {
  GroupId group{};
  std::string address{};     // as it was given, never rewritten
  bool is_manual = false;    // listed by hand: it need not register, and does not expire
  bool has_trigger = false;  // takes calls at /trigger, as it did not know /run
  WallTime registered_at{};  // last; epoch: never
  bool is_honest = false;    // has called itself busy, so that its word counts when it says idle
  std::int32_t place = 0;    // in the list, where it is listed

  bool operator==(const ExecutorRow&) const = default;
};

// Of a run that its executor discarded; results bring no such code.
inline constexpr std::int32_t kDiscardedCode = -1;

// One call of an executor: the run of an attempt, or of one shard of it.
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
  // Its executor took it, and has never called itself busy: its word that it is idle is not enough.
  bool is_taken = false;

  bool operator==(const PushRun&) const = default;
};

// What a route remembers of a definition's runs.
struct RouteRow {
  DefinitionId definition{};
  GroupId group{};
  std::string memory{};  // empty: nothing

  bool operator==(const RouteRow&) const = default;
};

// A result that an executor has told another job tracker than the one that waits for it.
struct ExecutorResult {
  std::int64_t id = 0;  // time-ordered
  std::int64_t log_id = 0;
  std::int32_t code = 0;
  std::string message{};

  bool operator==(const ExecutorResult&) const = default;
};

}  // namespace carillon::jobtracker
