#pragma once

#include <optional>

// The life of a job: which events may meet it in which state, and what it becomes. Everything else
// (SQL, documentation, pages) follows this table.
namespace carillon {

enum class JobState : int {
  kDelayed,    // one-shot, due later than the pre-generation horizon
  kSuspended,  // one-shot, held until it is resumed
  kWaiting,    // in its group's executable table: due, or due soon
  kExecuting,  // claimed for a task tracker
  kEnded,      // has its final row in the log
};

enum class JobEvent : int {
  kPromote,  // its time has come near
  kSuspend,
  kResume,
  kClaim,
  kGiveBack,  // claimed, but never started
  kSucceed,
  kFail,        // for good, or with no retries left
  kRetry,       // failed, with retries left
  kLater,       // asked to be run again later
  kLose,        // its worker died
  kQuarantine,  // its worker died, as those of the runs before: it is held until it is resumed
  kCancel,
  kExpire,  // its start deadline passed
  kMiss,    // it was due while no job tracker ran, and its policy is not to run it then
  kSkip,    // its definition's previous run had not ended
};

constexpr std::optional<JobState> next(JobState state, JobEvent event) {
  switch (state) {
    case JobState::kDelayed:
      switch (event) {
        case JobEvent::kPromote:
          return JobState::kWaiting;
        case JobEvent::kSuspend:
          return JobState::kSuspended;
        case JobEvent::kCancel:
          return JobState::kEnded;
        default:
          return std::nullopt;
      }
    case JobState::kSuspended:
      switch (event) {
        case JobEvent::kResume:
          return JobState::kWaiting;
        case JobEvent::kCancel:
          return JobState::kEnded;
        default:
          return std::nullopt;
      }
    case JobState::kWaiting:
      switch (event) {
        case JobEvent::kClaim:
          return JobState::kExecuting;
        case JobEvent::kSuspend:
          return JobState::kSuspended;
        case JobEvent::kCancel:
        case JobEvent::kExpire:
        case JobEvent::kMiss:
        case JobEvent::kSkip:
          return JobState::kEnded;
        default:
          return std::nullopt;
      }
    case JobState::kExecuting:
      switch (event) {
        case JobEvent::kGiveBack:
        case JobEvent::kRetry:
        case JobEvent::kLater:
        case JobEvent::kLose:
          return JobState::kWaiting;
        case JobEvent::kQuarantine:
          return JobState::kSuspended;
        case JobEvent::kSucceed:
        case JobEvent::kFail:
        case JobEvent::kCancel:
          return JobState::kEnded;
        default:
          return std::nullopt;
      }
    case JobState::kEnded:
      return std::nullopt;
  }
  return std::nullopt;
}

// The sentences that matter.
static_assert(!next(JobState::kEnded, JobEvent::kClaim), "an ended job never runs again");
static_assert(!next(JobState::kSuspended, JobEvent::kClaim), "a suspended job never fires");
static_assert(!next(JobState::kExecuting, JobEvent::kClaim),
              "an executing job is not handed out twice");
static_assert(next(JobState::kExecuting, JobEvent::kLose) == JobState::kWaiting,
              "a lost run runs again");
static_assert(next(JobState::kExecuting, JobEvent::kQuarantine) == JobState::kSuspended,
              "a job in quarantine does not fire and is not lost");

}  // namespace carillon
