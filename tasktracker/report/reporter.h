#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "carillon/time.h"
#include "shared/base/sizes.h"
#include "shared/outbox/entry.h"
#include "shared/wire/messages.h"
#include "tasktracker/attempt_hash.h"
#include "tasktracker/report/output_queue.h"

namespace carillon::tasktracker {

struct ReporterConfig {
  std::size_t results_max = wire::kReportResultsMax;  // in one message
  std::size_t message_bytes = 1024 * 1024;            // of texts in one message, roughly
  std::size_t text_max = 4096;                        // bytes of one result's message
  std::size_t messages_max = 8;  // most unconfirmed messages; further results wait for the next one
  Duration resend_after = std::chrono::seconds{1};  // without a confirmation
  Duration output_wait = std::chrono::seconds{2};   // longest wait of a result for its output
  // Then unconfirmed results are also stored on disk.
  Duration keep_after = std::chrono::seconds{1};
};

// Results of runs for one job tracker: kept until confirmed, and sent again when they may be lost.
// Few messages are in progress at a time, so that many short runs share one. A result is sent after
// the output of its run was accepted, so that an ended job has all its output; if the job tracker
// accepts no output, it still gets the result.
//
// Thread: the loop. Pure.
class Reporter {
 public:
  Reporter(ReporterConfig config, const OutputQueue& output) : config_(config), output_(output) {}

  void add(wire::RunResult&& result, SteadyTime now) { add(std::move(result), now, {}, {}); }
  // A result that an earlier session left on disk.
  void add(wire::RunResult&& result, SteadyTime now, SessionId origin, outbox::EntryId kept);
  // The job tracker has processed these.
  void on_reported(const wire::Reported& reported);
  // Confirmed results that can be deleted from disk.
  std::vector<outbox::EntryId> take_settled() { return std::exchange(settled_, {}); }

  // A result has not been confirmed for long.
  bool is_stalled(SteadyTime now) const {
    return !unkept_.empty() && now >= unkept_.front().at + config_.keep_after;
  }
  // `keep(result)` stores a result on disk; called for each that is not there.
  template <class Keep>
  void keep_all(Keep keep) {
    for (const Unkept& unkept : std::exchange(unkept_, {})) {
      const auto found = results_.find(unkept.id);
      if (found != results_.end() && !found->second.kept) {
        found->second.kept = keep(found->second.result);
      }
    }
  }

  // The job tracker will never accept this message; `message` counts those of next_message(), from
  // 1. Its results are sent one by one; a single one is replaced by a failure with the reason.
  // Returns the results that are given up.
  std::vector<wire::AttemptId> on_rejected(std::int64_t message, const std::string& why);
  std::int64_t last_message() const { return last_message_; }

  // Sent results may be lost: the connection or the session is new.
  void forget_sent();

  // The next message to send now; call until there is none. `takes`: which results the receiver
  // accepts; the others keep their order.
  using Takes = std::function<bool(const wire::RunResult&)>;
  std::optional<wire::Report> next_message(SessionId session, SteadyTime now,
                                           const Takes& takes = {});
  // When to ask for messages again without another event.
  std::optional<SteadyTime> next_time() const;

  std::size_t unconfirmed() const { return results_.size(); }
  Sizes sizes() const {
    return {{"results", results_.size()},       {"to_send", to_send_.size()},
            {"for_output", for_output_.size()}, {"sent", sent_.size()},
            {"unkept", unkept_.size()},         {"settled", settled_.size()},
            {"messages", messages_.size()}};
  }

 private:
  struct Entry {
    wire::RunResult result{};
    SessionId origin{};  // 0: this session
    outbox::EntryId kept{};
    SteadyTime send_latest{};  // even if its output was not accepted
    std::int64_t message = 0;  // its last message; 0: not sent yet
    bool alone = false;
    bool replaced = false;
  };
  struct Sent {
    wire::AttemptId id{};
    SteadyTime again_at{};
  };

  struct Unkept {
    wire::AttemptId id{};
    SteadyTime at{};
  };

  void resend_late(SteadyTime now);
  void leave_message(Entry& entry);
  void replace(Entry& entry, const std::string& why);

  const ReporterConfig config_;
  const OutputQueue& output_;
  std::unordered_map<wire::AttemptId, Entry, AttemptHash> results_{};
  std::deque<wire::AttemptId> to_send_{};
  std::deque<wire::AttemptId> for_output_{};  // waiting for their output, oldest first
  std::deque<Sent> sent_{};                   // some may be confirmed
  std::deque<Unkept> unkept_{};               // not on disk; some may be confirmed
  std::vector<outbox::EntryId> settled_{};
  std::int64_t last_message_ = 0;
  // Number of unconfirmed results per message.
  std::unordered_map<std::int64_t, std::size_t> messages_{};
};

// The longest valid UTF-8 prefix of at most `bytes_max` bytes, with control characters except tab
// and line feed replaced by spaces, and invalid bytes by '?'.
std::string clean_text(std::string_view text, std::size_t bytes_max);

}  // namespace carillon::tasktracker
