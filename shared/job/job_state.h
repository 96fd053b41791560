#pragma once

#include <optional>

// The state machine of a job: the allowed events in each state, and the next state. SQL,
// documentation and pages follow this table.
namespace carillon {

enum class JobState : int {
  kDelayed,    // one-shot, due after the pre-generation horizon
  kSuspended,  // one-shot, held until it is resumed
  kWaiting,    // in its group's executable table: due now or soon
  kExecuting,  // claimed for a task tracker
  kEnded,      // has its final row in the log
};

enum class JobEvent : int {
  kPromote,  // it is due soon
  kSuspend,
  kResume,
  kClaim,
  kGiveBack,  // claimed, but never started
  kSucceed,
  kFail,        // permanently, or without retries left
  kRetry,       // failed, with retries left
  kLater,       // asked to run again later
  kLose,        // its worker died
  kQuarantine,  // its worker died again and again; held until it is resumed
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

// The most important properties.
static_assert(!next(JobState::kEnded, JobEvent::kClaim), "an ended job never runs again");
static_assert(!next(JobState::kSuspended, JobEvent::kClaim), "a suspended job never fires");
static_assert(!next(JobState::kExecuting, JobEvent::kClaim),
              "an executing job is not handed out twice");
static_assert(next(JobState::kExecuting, JobEvent::kLose) == JobState::kWaiting,
              "a lost run runs again");
static_assert(next(JobState::kExecuting, JobEvent::kQuarantine) == JobState::kSuspended,
              "a job in quarantine does not fire and is not lost");

}  // namespace carillon
