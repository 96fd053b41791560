#pragma once

#include <cstdint>
#include <string>

#include "carillon/ids.h"
#include "carillon/time.h"

// The rows of lts_alarm_history and lts_silence.
namespace carillon::jobtracker {

// Numbers never change: they are stored.
enum class AlarmState : std::uint8_t {
  kFiring = 1,     // delivered: a condition of the node group has started
  kOver = 2,       // delivered: conditions have ended
  kDelivered = 3,  // delivered: only failures
  kFailed = 4,     // not delivered; while it is retried, the row may be replaced
};
// "firing", "over", "delivered", "failed".
const char* to_string(AlarmState state);

// What became of an alarm message.
struct AlarmHistoryRow {
  std::int64_t id = 0;      // of the message; time-ordered
  WallTime at{};            // of the delivery
  GroupId group{};          // the whole group
  std::string rule{};       // its conditions, otherwise its first task; at most 200 bytes
  std::string recipient{};  // without the secrets of a URL
  AlarmState state = AlarmState::kFiring;
  std::string message{};  // for people, at most kLogMessageBytesMax of valid UTF-8

  bool operator==(const AlarmHistoryRow&) const = default;
};

// Until this time no messages about the node group are sent.
struct SilenceRow {
  GroupId group{};  // the whole group
  WallTime until{};

  bool operator==(const SilenceRow&) const = default;
};

}  // namespace carillon::jobtracker
