#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/sizes.h"
#include "shared/net/transport.h"
#include "shared/wire/messages.h"
#include "tasktracker/fetch/fetcher.h"
#include "tasktracker/report/output_queue.h"
#include "tasktracker/report/report_outbox.h"
#include "tasktracker/report/reporter.h"
#include "tasktracker/run/runs.h"
#include "tasktracker/tracker_choice.h"

namespace carillon::tasktracker {

struct TrackerLinkConfig {
  FetcherConfig fetcher{};
  ReporterConfig reporter{};
  OutputQueueConfig output{};
  // Before a job of an unaccepted kind is returned.
  Duration refused_wait = std::chrono::seconds{1};
  // Registered for this time, and for ten leases: reports that workers of other node groups left
  // are too late to count.
  Duration others_wait = std::chrono::minutes{1};
};

// Counters, for metrics.
struct LinkCounts {
  std::int64_t pulls = 0;
  std::int64_t registrations = 0;
  std::int64_t unconfirmed = 0;  // results
  bool is_registered = false;    // with any job tracker
};

// A worker's communication with its job tracker: decodes frames, passes each message to its
// receiver, and sends pending messages at the end of a turn. It makes no decisions.
//
// When it learns that its node group was split, it uses all job trackers of its addresses, each of
// which may own some of the partitions. It registers with each, has a lease and a share of the
// threads with each, and reports to the current owner of a job's partition.
//
// When another job tracker takes over, the session continues: the new one learns of all held jobs,
// and gets the unconfirmed results and output.
//
// Reports that are unconfirmed because the job tracker is away or does not answer are also stored
// on disk. Reports that earlier sessions left there are sent for them.
//
// Thread: the loop.
class TrackerLink final {
 public:
  using OnReady = std::function<void(const std::string& endpoint)>;

  // The references must outlive the link. `on_ready` is called at each registration.
  TrackerLink(TrackerLinkConfig config, std::vector<TrackerAddress> addresses, Runs& runs,
              const Clock& clock, ReportOutbox outbox, OnReady on_ready);
  TrackerLink(const TrackerLink&) = delete;
  TrackerLink& operator=(const TrackerLink&) = delete;

  void on_ended(Ended&& ended, SteadyTime now);
  void on_output(std::vector<wire::OutputChunk>& chunks) { output_.add(chunks); }
  void give_back(std::vector<wire::AttemptId> ids);
  // Returns a job of an unaccepted kind after a while, because a job tracker of an older version
  // may immediately hand it out again.
  void on_refused(const wire::AttemptId& id, SteadyTime now);
  void give_back_refused(SteadyTime now, bool at_once);

  // Sends pending messages.
  void flush(SteadyTime now);
  // When to flush again without another event.
  std::optional<SteadyTime> next_time() const;

  int unfinished() const { return home().fetcher.unfinished(); }
  // See Fetcher.
  void set_taking(bool taking, const std::string& overload);
  void drain();
  // The runs to stop: those of `unfinished()` whose lease has expired since the last call. A job
  // has the lease of its partition's current or last owner.
  std::vector<wire::AttemptId> take_unleased(SteadyTime now);
  // So many reports are pending, or so little disk space is left, that no more jobs should run.
  bool is_congested() const;
  // All reports are sent and confirmed.
  bool is_quiet() const;

  // Stores unconfirmed reports on disk. True: they are there, or the disk fails.
  bool keep_all();
  // No job tracker is there, and what is not confirmed is on disk for the next worker. With several
  // addresses the link has `patience` to find another one.
  bool is_left_to_disk(SteadyTime now, Duration patience);

  // Signs off at all job trackers that may believe that it holds jobs, and sends nothing else from
  // now on. Requires: everything is confirmed.
  void leave(SteadyTime now);
  // All have answered, or there is none to answer.
  bool is_gone() const;
  // All have been asked, and have answered.
  bool has_left() const { return is_leaving_ && !passed_over_ && is_gone(); }
  LinkCounts counts() const;
  Sizes sizes() const;

 private:
  // The communication with one job tracker.
  struct TrackerSession final : net::ClientReceiver {
    TrackerSession(TrackerLink& its_link, Fetcher its_fetcher)
        : link(its_link), fetcher(std::move(its_fetcher)) {}
    void on_frame(std::string_view frame) override { link.on_frame(*this, frame); }
    void on_connected() override { link.on_connected(*this); }
    void on_disconnected(const std::string&) override { fetcher.on_disconnected(); }
    void heard(SteadyTime now) {
      heard_at = now;
      register_sent_at.reset();
    }

    TrackerLink& link;
    Fetcher fetcher;
    std::optional<std::size_t> connection{};       // none: the chosen one
    SteadyTime heard_at{};                         // any message on this connection
    std::optional<SteadyTime> register_sent_at{};  // the first one without a message after it
    bool said_silent = false;
    std::uint64_t register_correlation = 0;
    std::string last_refusal{};
    std::vector<wire::AttemptId> to_give_back{};
    // The same job tracker at another address, and its session.
    const TrackerSession* twin = nullptr;
    std::int64_t twin_session = 0;
  };
  // The known owner of a partition of the group.
  struct PartitionOwner {
    std::int64_t epoch = -1;
    TrackerSession* tracker = nullptr;
  };

  std::vector<std::unique_ptr<TrackerSession>> make_sessions();
  TrackerSession& home() { return *sessions_.front(); }
  const TrackerSession& home() const { return *sessions_.front(); }
  bool is_split() const { return !parts_.empty(); }
  void split(std::int32_t parts);
  void say_unreached(SteadyTime now);
  void take_parts(TrackerSession& tracker, const wire::Registered& registered);
  void lose_parts(const TrackerSession& tracker);
  bool is_twin(TrackerSession& tracker);
  TrackerSession* owner_of(int bucket);
  TrackerSession* registered_one();
  bool is_registered() const;
  Duration patience(const TrackerSession& tracker) const;
  SteadyTime silent_since(const TrackerSession& tracker) const;
  bool is_connected(const TrackerSession& tracker) const;
  std::size_t place_of(const TrackerSession& tracker) const {
    return tracker.connection.value_or(trackers_.chosen());
  }
  const std::string& endpoint_of(const TrackerSession& tracker) const;

  // Returns the correlation of the sent message.
  std::uint64_t send(const TrackerSession& tracker, wire::Message message);
  void on_frame(TrackerSession& tracker, std::string_view frame);
  void on_connected(TrackerSession& tracker);
  void receive(TrackerSession& tracker, wire::Envelope&& envelope);
  void on_registered(TrackerSession& tracker, const wire::Registered& registered);
  void on_hand_out(TrackerSession& tracker, wire::HandOut&& hand_out);
  void on_redirect(TrackerSession& tracker, const wire::Redirect& elsewhere);
  void on_kill(const wire::Kill& kill);
  void on_error(TrackerSession& tracker, std::uint64_t correlation, const Error& error);
  bool on_rejected(std::uint64_t correlation, const Error& error);
  void watch_silence(TrackerSession& tracker, SteadyTime now);
  void set_shares(SteadyTime now);
  void send_all(SteadyTime now);
  void send_reports(TrackerSession& tracker, SteadyTime now);
  void send_messages(TrackerSession& tracker, SteadyTime now);
  void keep(SteadyTime now);
  void report_left(SteadyTime now);

  const TrackerLinkConfig config_;
  Runs& runs_;
  const Clock& clock_;
  const Logger log_{"tracker"};
  const OnReady on_ready_;

  std::vector<std::unique_ptr<TrackerSession>>
      sessions_;                                 // for a split group one per address; otherwise one
  std::vector<PartitionOwner> parts_;            // empty: the group is not known to be split
  std::optional<SteadyTime> unreached_since_{};  // of some of them
  bool said_unreached_ = false;
  // When the lease of each partition, or of the whole group, ends; none: no lease.
  std::vector<std::optional<SteadyTime>> leases_ = {std::nullopt};
  TrackerChoice trackers_;

  OutputQueue output_;
  Reporter reporter_;
  ReportOutbox outbox_;
  std::vector<wire::AttemptId> refused_{};
  SteadyTime refused_at_{};                // of the oldest of them
  std::vector<wire::Message> messages_{};  // reused to avoid allocations
  std::uint64_t last_correlation_ = 0;
  std::uint64_t output_correlation_ = 0;
  const TrackerSession* output_session_ = nullptr;  // last receiver of output
  SteadyTime sent_at_{};                            // last check of all
  // When registered: time from which reports of workers of other groups are sent too.
  std::optional<SteadyTime> others_at_{};
  std::deque<std::pair<std::uint64_t, std::int64_t>>
      reports_{};                             // the newest: correlation, message
  std::optional<SteadyTime> sent_away_at_{};  // first time since the registration
  std::string said_owner_{};
  std::vector<int> unanswered_registers_;   // by each address, since it answered one
  std::optional<SteadyTime> away_since_{};  // not registered with anybody
  std::int64_t registrations_ = 0;
  bool is_leaving_ = false;
  bool passed_over_ = false;  // one that the sign-off could not reach
};

}  // namespace carillon::tasktracker
