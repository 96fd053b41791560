#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jobtracker/state/catalog.h"
#include "jobtracker/state/client_link.h"
#include "jobtracker/state/feedback_sink.h"
#include "jobtracker/state/ownership.h"
#include "jobtracker/state/scheduling_clock.h"
#include "jobtracker/store/batcher.h"
#include "jobtracker/store/reads.h"
#include "shared/base/sizes.h"

namespace carillon::jobtracker {

struct FeedbackConfig {
  Duration retention = std::chrono::hours{24 * 30};
  // Results that may wait, for one client group and for all; the ends beyond are not queued.
  std::int64_t group_max = 100'000;
  std::int64_t all_max = 1'000'000;
  // What a listener was given is its own so long after its last word.
  Duration lease = std::chrono::seconds{15};
  // A listener for whom there is nothing is answered after this; shorter than clients wait.
  Duration patience = std::chrono::seconds{10};
  // After a refusal.
  Duration wait = std::chrono::seconds{5};
  std::size_t listeners_max = 1'000;
  // Ends that other job trackers have stored are looked for so often, where somebody listens, and
  // counted so often, or a hundred times as long as counting took.
  Duration look = std::chrono::milliseconds{500};
  Duration count = std::chrono::seconds{10};
};

// Tells client groups how their jobs have ended. What waits is in the store, written with the ends
// themselves; here is how much it is, who listens, and what they hold.
//
// A client group has one holder at a time, so that its results are taken in the order of their
// ends; the others wait for their turn. Of several job trackers one gives out a client group's
// results, looks for those that the others have stored, and drops what is too old; each counts what
// all have stored, and goes beyond a bound by no more than is stored between two counts. After a
// refusal the next turn comes later, and is somebody else's if there is one. Groups do not wait for
// each other.
//
// Thread: the loop.
class FeedbackDesk final : public FeedbackSink {
 public:
  FeedbackDesk(FeedbackConfig config, Catalog& catalog, const Ownership& ownership,
               Batcher& batcher, Questions& questions, ClientLink& clients, SchedulingClock& clock,
               const Logger& log);

  void start(const StartAnswer& found);
  void fetch(const Asker& asker, wire::FetchFeedback message);
  // Ends turns and patience that are over.
  void run_once();
  // Drops what nobody has come for.
  void purge();

  void address(LogEntry& entry, const WaitingJob& job) override;
  using FeedbackSink::was_stored;
  void was_stored(const LogEntry& entry, std::int64_t rows) override;

  // For the client groups whose results this job tracker gives out.
  std::int64_t waiting() const;
  std::int64_t taken() const { return taken_; }
  std::int64_t dropped() const { return dropped_; }
  Sizes sizes() const { return {{"queues", queues_.size()}, {"listeners", listeners()}}; }

 private:
  struct Listener {
    Asker asker{};
    std::int64_t id = 0;
    std::int64_t limit = 0;
    SteadyTime until{};
  };
  struct Queue {
    std::int64_t count = 0;  // in the store, of all job trackers as of the last count
    std::deque<Listener> listeners{};
    std::int64_t holder = 0;  // 0: nobody
    SteadyTime held_until{};
    std::int64_t refuser = 0;  // the holder before, if it refused
    SteadyTime not_before{};   // of the next turn
    bool is_reading = false;
    bool was_full = false;  // and that was said
  };

  std::string client_group_of(const WaitingJob& job) const;
  void go_on(const Asker& asker, const std::string& client_group,
             const wire::FetchFeedback& message);
  // `looks`: others may have stored what is not counted yet.
  void give(const std::string& client_group, bool looks = false);
  void give_rows(const std::string& client_group, const std::vector<LogEntry>& entries);
  void removed(const std::string& client_group, std::int64_t rows);
  void count();
  void counted(const FeedbackCounts& counts);
  wire::FeedbackEntry entry_of(const LogEntry& entry) const;
  void forget_if_idle(const std::string& client_group);
  std::size_t listeners() const;

  const FeedbackConfig config_;
  Catalog& catalog_;
  const Ownership& ownership_;
  Batcher& batcher_;
  Questions& questions_;
  ClientLink& clients_;
  SchedulingClock& clock_;
  const Logger& log_;
  std::map<std::string, Queue> queues_;  // by client group, in lower case
  SteadyTime look_at_{};                 // next
  SteadyTime count_at_{};
  std::int64_t all_ = 0;  // results that wait, for all client groups
  std::int64_t taken_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace carillon::jobtracker
