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
  // Most undelivered results of one client group and of all. Further results are dropped.
  std::int64_t group_max = 100'000;
  std::int64_t all_max = 1'000'000;
  // How long results belong to a listener after its last request.
  Duration lease = std::chrono::seconds{15};
  // Longest time to keep a listener waiting for results; shorter than clients wait.
  Duration patience = std::chrono::seconds{10};
  // Pause after the handler rejected a result.
  Duration wait = std::chrono::seconds{5};
  std::size_t listeners_max = 1'000;
  // Interval for looking for results of other job trackers while a listener waits, and for counting
  // all results. Counting happens less often if it is slow: after a hundred times its duration.
  Duration look = std::chrono::milliseconds{500};
  Duration count = std::chrono::seconds{10};
};

// Delivers feedback to client groups. The store keeps the undelivered results, written with the
// ends of their jobs. This class knows their number, the listeners, and which results each listener
// holds.
//
// A client group has one holder at a time, so that its results are processed in order; the other
// listeners wait. With several job trackers, one serves a client group: it delivers the results,
// looks for those that others stored, and deletes old ones. Each job tracker counts all stored
// results, and may exceed the limit by what is stored between two counts. After a rejection the
// next delivery is later, preferably to another listener. Client groups do not block one another.
//
// Thread: the loop.
class FeedbackDesk final : public FeedbackSink {
 public:
  FeedbackDesk(FeedbackConfig config, Catalog& catalog, const Ownership& ownership,
               Batcher& batcher, Questions& questions, ClientLink& clients, SchedulingClock& clock,
               const Logger& log);

  void start(const StartAnswer& found);
  void fetch(const Asker& asker, wire::FetchFeedback message);
  // Ends holds and waits that have timed out.
  void run_once();
  // Deletes results that no client fetched in time.
  void purge();

  void address(LogEntry& entry, const WaitingJob& job) override;
  using FeedbackSink::was_stored;
  void was_stored(const LogEntry& entry, std::int64_t rows) override;

  // Undelivered results of the client groups that this job tracker serves.
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
    std::int64_t count = 0;  // in the store, of all job trackers, at the last count
    std::deque<Listener> listeners{};
    std::int64_t holder = 0;  // 0: none
    SteadyTime held_until{};
    std::int64_t refuser = 0;  // the previous holder, if it rejected a result
    SteadyTime not_before{};   // earliest time of the next delivery
    bool is_reading = false;
    bool was_full = false;  // and it was logged
  };

  std::string client_group_of(const WaitingJob& job) const;
  void go_on(const Asker& asker, const std::string& client_group,
             const wire::FetchFeedback& message);
  // `looks`: other job trackers may have stored results that are not counted yet.
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
  SteadyTime look_at_{};                 // time of the next look
  SteadyTime count_at_{};
  std::int64_t all_ = 0;  // undelivered results of all client groups
  std::int64_t taken_ = 0;
  std::int64_t dropped_ = 0;
};

}  // namespace carillon::jobtracker
