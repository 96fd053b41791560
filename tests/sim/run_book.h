#pragma once

#include <array>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "jobtracker/store/partitions.h"
#include "shared/net/transport.h"
#include "shared/wire/messages.h"
#include "tests/sim/broken.h"
#include "tests/sim/timeline.h"

namespace carillon::sim {

// Who ran what, as it really was, and until when each worker held a lease by the strictest reading:
// from the sending of a pull that was answered by one who looked after the partition.
//
// Thread: the simulation's.
class RunBook {
 public:
  struct Run {
    SessionId session{};
    std::string worker{};
    SteadyTime began{};
    std::optional<SteadyTime> ended{};
    std::optional<wire::RunOutcome> outcome{};  // none: it died with its process
    Duration later{};
    int partition = 0;  // of its group, or part
    int lease = 0;      // the session's for that, unbroken since the run began
  };

  RunBook(const Timeline& timeline, Broken broken)
      : timeline_(timeline), broken_(std::move(broken)) {}

  void began(const wire::AttemptId& id, Run run);
  void ended(const wire::AttemptId& id, std::optional<wire::RunOutcome> outcome);
  const Run* find(const wire::AttemptId& id) const;

  void pull_was_sent(const net::Peer& line, std::int64_t number);
  // `by`: what the job tracker that answers looks after. `lease`: that it gives.
  void pull_was_answered(const net::Peer& line, std::int64_t number,
                         const jobtracker::Partitions& by, Duration lease);
  void answer_was_taken(SessionId session, const net::Peer& line, std::int64_t number);
  void worker_died(SessionId session) { leases_.erase(session); }
  // It stopped, and was told that nothing is held for it any more.
  void took_leave(SessionId session) { left_.insert(session); }
  bool has_left(SessionId session) const { return left_.contains(session); }
  // Unbroken since the run began: who comes back after a lapse runs on, but not by right.
  bool has_lease(const Run& run) const;

  // A tracker that gives such leases, by its own session, has begun, instead of another one of the
  // same process perhaps, which it goes on from. It has heard of a worker; what was kept for it is
  // heard when it is passed to it.
  void tracker_began(SessionId tracker, SessionId before, const jobtracker::Partitions& owned,
                     Duration lease);
  void heard(SessionId tracker, SessionId worker);
  // Nothing is heard of a worker by a Register that comes again.
  void registered(SessionId tracker, SessionId worker, std::int64_t number);
  // That tracker did not hear of it for a lease of its own at some time of the last minute.
  bool was_silent(SessionId tracker, SessionId worker, int partition) const;

  std::int64_t runs() const { return count_; }

 private:
  struct Pull {
    SteadyTime sent{};
    jobtracker::Partitions answered_by{};
    Duration lease{};
  };
  struct Lease {
    std::optional<SteadyTime> until{};
    int number = 0;  // of those that have lapsed
  };
  using Leases = std::array<Lease, jobtracker::kPartitions>;
  struct Heard {
    SteadyTime last{};
    SteadyTime silence_ended{};   // the last of a lease or longer
    std::int64_t registered = 0;  // the highest Register::number
  };

  const Timeline& timeline_;
  Broken broken_;
  std::map<wire::AttemptId, Run> runs_;
  std::deque<std::pair<SteadyTime, wire::AttemptId>> ended_;
  std::map<net::Peer, std::map<std::int64_t, Pull>> pulls_;
  std::map<SessionId, Leases> leases_;
  std::set<SessionId> left_;
  std::map<SessionId, SteadyTime> began_;
  std::map<SessionId, Duration> lease_of_;
  using Since = std::array<std::optional<SteadyTime>, jobtracker::kPartitions>;
  std::map<SessionId, Since> owned_since_;  // none: it is not
  std::map<std::pair<SessionId, SessionId>, Heard> heard_;
  std::int64_t count_ = 0;
};

}  // namespace carillon::sim
