#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "carillon/time.h"
#include "shared/wire/messages.h"
#include "tasktracker/attempt_hash.h"
#include "tasktracker/report/output_queue.h"

namespace carillon::tasktracker {

struct ReporterConfig {
  std::size_t results_max = wire::kReportResultsMax;  // in one message
  std::size_t message_bytes = 1024 * 1024;            // of texts in one message, roughly
  std::size_t text_max = 4096;                        // bytes of one result's message
  std::size_t messages_max = 8;  // that are not confirmed; results that come then share the next
  Duration resend_after = std::chrono::seconds{1};  // without a confirmation
  Duration output_wait = std::chrono::seconds{2};   // a result waits so long for its own output
};

// Results of runs on their way to one job tracker: kept until confirmed, sent again when they may
// be lost. Few messages are under way at a time, so that many short runs share one. A result goes
// after the output of its run was taken, so that whoever sees the job end sees all that it wrote;
// but a tracker that takes no output gets the result all the same.
//
// Thread: the loop. Pure.
class Reporter {
 public:
  Reporter(ReporterConfig config, const OutputQueue& output) : config_(config), output_(output) {}

  void add(wire::RunResult&& result, SteadyTime now);
  // The tracker has these, or knows better.
  void on_reported(const wire::Reported& reported);
  // What was sent may be lost: the connection or the session is a new one.
  void forget_sent();

  // The next message to send now, if any; ask until there is none.
  std::optional<wire::Report> next_message(SessionId session, SteadyTime now);
  // When to ask for messages again, if nothing happens before.
  std::optional<SteadyTime> next_time() const;

  std::size_t unconfirmed() const { return results_.size(); }

 private:
  struct Entry {
    wire::RunResult result{};
    SteadyTime send_latest{};  // also when its output was not taken
    std::int64_t message = 0;  // that it was sent in last; 0: not yet
  };
  struct Sent {
    wire::AttemptId id{};
    SteadyTime again_at{};
  };

  void resend_late(SteadyTime now);
  void leave_message(Entry& entry);

  const ReporterConfig config_;
  const OutputQueue& output_;
  std::unordered_map<wire::AttemptId, Entry, AttemptHash> results_{};
  std::deque<wire::AttemptId> to_send_{};
  std::deque<wire::AttemptId> for_output_{};  // wait for their output; the oldest first
  std::deque<Sent> sent_{};                   // may have been confirmed meanwhile
  std::int64_t last_message_ = 0;
  std::unordered_map<std::int64_t, std::size_t> messages_{};  // results that are not confirmed
};

// The longest beginning of at most so many bytes that is valid UTF-8, control characters but tab
// and line feed replaced by spaces, bytes that are no UTF-8 by '?'.
std::string clean_text(std::string_view text, std::size_t bytes_max);

}  // namespace carillon::tasktracker
