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
  std::size_t messages_max = 8;  // that are not confirmed; results that come then share the next
  Duration resend_after = std::chrono::seconds{1};  // without a confirmation
  Duration output_wait = std::chrono::seconds{2};   // a result waits so long for its own output
  Duration keep_after = std::chrono::seconds{1};    // not confirmed for so long: on disk too
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

  void add(wire::RunResult&& result, SteadyTime now) { add(std::move(result), now, {}, {}); }
  // One that an earlier session has left on disk.
  void add(wire::RunResult&& result, SteadyTime now, SessionId origin, outbox::EntryId kept);
  // The tracker has these, or knows better.
  void on_reported(const wire::Reported& reported);
  // Those of them that lie on disk too, and need not any more.
  std::vector<outbox::EntryId> take_settled() { return std::exchange(settled_, {}); }

  // Something waits for its confirmation for long.
  bool is_stalled(SteadyTime now) const {
    return !unkept_.empty() && now >= unkept_.front().at + config_.keep_after;
  }
  // `keep(result)` puts a result on disk; called for each that is not there.
  template <class Keep>
  void keep_all(Keep keep) {
    for (const Unkept& unkept : std::exchange(unkept_, {})) {
      const auto found = results_.find(unkept.id);
      if (found != results_.end() && !found->second.kept) {
        found->second.kept = keep(found->second.result);
      }
    }
  }

  // The tracker will never take this message, by its place among those that next_message() gave,
  // from 1. Its results go one by one; instead of one that was alone goes that the run failed, and
  // why. Returns those of which nothing more can be said.
  std::vector<wire::AttemptId> on_rejected(std::int64_t message, const std::string& why);
  std::int64_t last_message() const { return last_message_; }

  // What was sent may be lost: the connection or the session is a new one.
  void forget_sent();

  // The next message to send now, if any; ask until there is none.
  // `takes`: which results the one takes whom it is for; the others keep their places.
  using Takes = std::function<bool(const wire::RunResult&)>;
  std::optional<wire::Report> next_message(SessionId session, SteadyTime now,
                                           const Takes& takes = {});
  // When to ask for messages again, if nothing happens before.
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
    SteadyTime send_latest{};  // also when its output was not taken
    std::int64_t message = 0;  // that it was sent in last; 0: not yet
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
  std::deque<wire::AttemptId> for_output_{};  // wait for their output; the oldest first
  std::deque<Sent> sent_{};                   // may have been confirmed meanwhile
  std::deque<Unkept> unkept_{};               // not on disk; likewise
  std::vector<outbox::EntryId> settled_{};
  std::int64_t last_message_ = 0;
  std::unordered_map<std::int64_t, std::size_t> messages_{};  // results that are not confirmed
};

// The longest beginning of at most so many bytes that is valid UTF-8, control characters but tab
// and line feed replaced by spaces, bytes that are no UTF-8 by '?'.
std::string clean_text(std::string_view text, std::size_t bytes_max);

}  // namespace carillon::tasktracker
