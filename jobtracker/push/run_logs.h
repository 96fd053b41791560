#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

#include "jobtracker/state/executor_logs.h"
#include "shared/net/poster.h"

namespace carillon::jobtracker {

// Where the latest calls of executors were, so that what their runs write can be read there. Those
// of older ones are forgotten, and of an earlier process but those that were under way.
//
// Thread: the loop.
class RunLogs final : public ExecutorLogs {
 public:
  // One call, with which a run began.
  struct Place {
    std::int64_t log_id = 0;
    std::int64_t log_time_ms = 0;
    std::string address{};
    std::string token{};
    std::string app_name{};
  };

  explicit RunLogs(std::size_t calls_max = 20'000) : calls_max_(calls_max) {}

  void set_poster(net::Poster* poster) { poster_ = poster; }

  // A run begins; a later call of the same shard takes the place of an earlier one.
  void note(JobId job, std::int32_t attempt, std::int32_t shard, Place place);

  bool read(JobId job, std::int32_t attempt, std::int64_t position,
            std::function<void(Result<ExecutorLogPart>)> on_part) override;

  // Whether it was one of its own.
  bool on_outcome(const net::PostOutcome& outcome);

 private:
  // The calls of a job, in the order in which their logs are read.
  using Key = std::pair<std::int32_t, std::int32_t>;  // attempt, shard
  using Places = std::map<Key, Place>;
  struct Reading {
    JobId job{};
    Key key{};
    std::int64_t line = 0;  // after which
    std::function<void(Result<ExecutorLogPart>)> on_part{};
    std::string address{};
  };

  void ask(JobId job, Places::const_iterator place, std::int64_t line,
           std::function<void(Result<ExecutorLogPart>)> on_part);
  void answer(Reading reading, const net::PostOutcome& outcome);

  const std::size_t calls_max_;
  net::Poster* poster_ = nullptr;
  std::unordered_map<JobId, Places> places_;
  std::deque<std::pair<JobId, Key>> noted_;  // the oldest first
  std::unordered_map<std::uint64_t, Reading> readings_;
  std::uint64_t last_reading_ = 0;
};

}  // namespace carillon::jobtracker
