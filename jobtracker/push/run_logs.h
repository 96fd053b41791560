#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "jobtracker/state/executor_logs.h"
#include "shared/base/sizes.h"
#include "shared/net/poster.h"

namespace carillon::jobtracker {

// Remembers at which executors the latest runs were called, so that their logs can be read there.
// Older calls are dropped; after a restart only runs in progress are known. The history has the
// executors of all runs.
//
// Thread: the loop.
class RunLogs final : public ExecutorLogs {
 public:
  // One call that started a run.
  struct Place {
    std::int64_t log_id = 0;
    GroupId group{};
    std::string address{};
  };
  // Data for calling an executor.
  struct Caller {
    std::string token{};
    std::string app_name{};
  };

  // `caller`: none for an executor that is not in service; it is not called.
  explicit RunLogs(std::function<std::optional<Caller>(const Place&)> caller,
                   std::size_t calls_max = 20'000)
      : caller_(std::move(caller)), calls_max_(calls_max) {}

  void set_poster(net::Poster* poster) { poster_ = poster; }

  // A run starts. A later call of the same shard replaces an earlier one.
  void note(JobId job, std::int32_t attempt, std::int32_t shard, Place place);

  bool read(JobId job, std::int32_t attempt, std::int64_t position,
            std::function<void(Result<ExecutorLogPart>)> on_part) override;
  bool recall(JobId job, const std::vector<LogEntry>& history) override;

  // Returns whether the request was its own.
  bool on_outcome(const net::PostOutcome& outcome);
  Sizes sizes() const {
    return {{"places", places_.size()}, {"noted", noted_.size()}, {"readings", readings_.size()}};
  }

 private:
  // The calls of a job, in the order in which their logs are read.
  using Key = std::pair<std::int32_t, std::int32_t>;  // attempt, shard
  using Places = std::map<Key, Place>;
  struct Reading {
    JobId job{};
    Key key{};
    std::int64_t line = 0;  // the last line that was read
    std::function<void(Result<ExecutorLogPart>)> on_part{};
    std::string address{};
  };

  void ask(JobId job, Places::const_iterator place, std::int64_t line,
           std::function<void(Result<ExecutorLogPart>)> on_part);
  void answer(Reading reading, const net::PostOutcome& outcome);
  void pass_over(const Reading& reading, const Error& why);

  const std::function<std::optional<Caller>(const Place&)> caller_;
  const std::size_t calls_max_;
  net::Poster* poster_ = nullptr;
  std::unordered_map<JobId, Places> places_;
  std::deque<std::pair<JobId, Key>> noted_;  // oldest first
  std::unordered_map<std::uint64_t, Reading> readings_;
  std::uint64_t last_reading_ = 0;
};

}  // namespace carillon::jobtracker
