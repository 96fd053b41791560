#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "jobtracker/store/memory_tables.h"
#include "shared/wire/xxl/messages.h"
#include "tests/sim/ledger.h"

namespace carillon::sim {

// The job trackers' --executor-silence.
inline constexpr Duration kExecutorSilence = std::chrono::seconds{20};

// What executors were told to run and really ran, and whether the job tracker may end it so: a call
// is on disk before it is made, made once, and not with what was called off or is too late; a run
// is lost only when its executor, asked, did not know of it, or was silent for long; what is
// answered 200 is stored; and whatever has ended is stored as it was.
//
// Thread: the simulation's.
class PushedRuns {
 public:
  PushedRuns(const Timeline& timeline, const jobtracker::MemoryTables& tables, RunBook& runs,
             Broken broken)
      : timeline_(timeline), tables_(tables), runs_(runs), broken_(std::move(broken)) {}

  // What was called off by then is known to its job tracker a while later.
  void committed(const Commit& commit);
  // Who calls: whether it may, and the time that it goes by, if that was not set lately.
  struct Caller {
    bool may_call = false;
    std::optional<WallTime> now{};
  };
  // It leaves a job tracker.
  void is_called(const std::string& address, const wire::xxl::RunCall& call, const Caller& by);
  // An executor takes it. False: nobody knows what it is of.
  bool begins(const std::string& app, const std::string& address, const wire::xxl::RunCall& call);
  void is_refused(std::int64_t log_id);
  // None: it died with its executor.
  void ended(std::int64_t log_id, std::optional<wire::RunOutcome> outcome);
  // An executor says of a job that none of its runs is there.
  void says_idle(const std::string& address, std::int64_t job);
  // An executor's answer has reached a job tracker.
  void has_answered(const std::string& address) { answered_[address] = timeline_.now(); }
  // Its result is answered 200.
  void was_taken(std::int64_t log_id) const;
  bool knows(std::int64_t log_id) const { return calls_.contains(log_id); }
  // As the store has it.
  bool has_ended(std::int64_t log_id) const;

  void check_end(const Commit& commit, const Ledger::Job& job, const jobtracker::LogEntry& log,
                 bool is_void) const;
  // It is lost, or, without a row in the log, given back.
  // `is_quiet`: nothing has happened for long that it could be lost by.
  void check_lost(const wire::AttemptId& id, const std::optional<jobtracker::LogEntry>& log,
                  bool is_quiet) const;
  // So long after its end, and with nothing wrong since, it does not execute any more.
  void check_executing(const wire::AttemptId& id, const Ledger::Job& job) const;

  std::int64_t count() const { return count_; }

 private:
  struct Call {
    wire::AttemptId id{};
    GroupId group{};
    std::string address{};
    std::int64_t job = 0;  // as executors know it
    Duration timeout{};
    SteadyTime called{};
    bool has_begun = false;
    bool was_refused = false;
    bool was_denied = false;
    std::optional<SteadyTime> ended{};
  };

  Duration start_deadline(const jobtracker::WaitingJob& job) const;
  static bool is_over(const Call& call, std::chrono::nanoseconds ran);
  bool was_silent(const std::string& address) const;
  const Call* last_of(const wire::AttemptId& id) const;
  void check_wanted(const wire::AttemptId& id, std::optional<WallTime> now) const;

  const Timeline& timeline_;
  const jobtracker::MemoryTables& tables_;
  RunBook& runs_;
  Broken broken_;
  std::map<std::int64_t, Call> calls_;  // by log id
  std::map<wire::AttemptId, std::int64_t> last_;
  std::deque<std::pair<SteadyTime, std::int64_t>> order_;
  std::map<std::string, SteadyTime> answered_;     // when an executor did last, by address
  std::map<DefinitionId, SteadyTime> called_off_;  // whose fires were, last
  std::int64_t count_ = 0;
};

}  // namespace carillon::sim
