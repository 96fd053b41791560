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
  Duration refused_wait = std::chrono::seconds{1};  // before a job of another kind goes back
  // Registered for so long, and for ten leases: what workers of other node groups have left comes
  // too late to count.
  Duration others_wait = std::chrono::minutes{1};
};

// A worker's conversation with its job tracker: takes the frames apart, brings each message to
// whom it is for, and sends what they have to say at the end of a turn. Decides nothing.
//
// Once it is told that its node group was split, it speaks with all job trackers that it has the
// address of, each of which may look after some of the parts: it registers with each, has a lease
// and a share of the threads with each, and reports to whoever looks after the job's part by then.
//
// When another job tracker takes the place of the one before, the session goes on: it is told of
// everything that is held, and gets the results and the output that were not confirmed.
//
// What is not confirmed, because the tracker is away or does not answer, lies on disk too; and what
// earlier sessions have left there is reported for them.
//
// Thread: the loop.
class TrackerLink final {
 public:
  using OnReady = std::function<void(const std::string& endpoint)>;

  // The references must outlive the link. `on_ready` is called at every registration.
  TrackerLink(TrackerLinkConfig config, std::vector<TrackerAddress> addresses, Runs& runs,
              const Clock& clock, ReportOutbox outbox, OnReady on_ready);
  TrackerLink(const TrackerLink&) = delete;
  TrackerLink& operator=(const TrackerLink&) = delete;

  void on_ended(Ended&& ended, SteadyTime now);
  void on_output(std::vector<wire::OutputChunk>& chunks) { output_.add(chunks); }
  void give_back(std::vector<wire::AttemptId> ids);
  // A job of a kind that this worker does not run goes back after a while, because a job tracker
  // that does not know better may hand it out to this worker again at once.
  void on_refused(const wire::AttemptId& id, SteadyTime now);
  void give_back_refused(SteadyTime now, bool at_once);

  // Sends what is to be sent by now.
  void flush(SteadyTime now);
  // When to flush again, if nothing happens before.
  std::optional<SteadyTime> next_time() const;

  int unfinished() const { return home().fetcher.unfinished(); }
  // As of Fetcher.
  void set_taking(bool taking, const std::string& overload);
  void drain();
  // What is to be stopped: those of `unfinished()` whose lease has ended since this was last asked.
  // A job has the lease of whoever looks after its part, or did so last.
  std::vector<wire::AttemptId> take_unleased(SteadyTime now);
  // So much waits for the tracker, or so little room is on disk, that nothing more should be run
  // for it.
  bool is_congested() const;
  // Everything that there is to say was said and confirmed.
  bool is_quiet() const;

  // Puts on disk what is not confirmed. True: it is there, or cannot be.
  bool keep_all();
  // No job tracker is there, and what is not confirmed is on disk for the next worker. With several
  // addresses the link has `patience` to find another one.
  bool is_left_to_disk(SteadyTime now, Duration patience);

  // Says goodbye to whoever may believe that jobs are held here, and nothing else from now on.
  // Requires: everything is confirmed.
  void leave(SteadyTime now);
  // All have answered, or there is nobody to answer.
  bool is_gone() const;
  // All have been asked, and have answered.
  bool has_left() const { return is_leaving_ && !passed_over_ && is_gone(); }
  Sizes sizes() const;

 private:
  // With one job tracker.
  struct Talk final : net::ClientReceiver {
    Talk(TrackerLink& its_link, Fetcher its_fetcher)
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
    std::optional<std::size_t> line{};             // none: with whoever is chosen
    SteadyTime heard_at{};                         // anything at all, over this connection
    std::optional<SteadyTime> register_sent_at{};  // the first that nothing was heard after
    bool said_silent = false;
    std::uint64_t register_correlation = 0;
    std::string last_refusal{};
    std::vector<wire::AttemptId> to_give_back{};
    // The same job tracker by another address, and its session.
    const Talk* twin = nullptr;
    std::int64_t twin_session = 0;
  };
  // Who looks after a part of the group, as far as it was said.
  struct PartOwner {
    std::int64_t epoch = -1;
    Talk* talk = nullptr;
  };

  std::vector<std::unique_ptr<Talk>> make_talks();
  Talk& home() { return *talks_.front(); }
  const Talk& home() const { return *talks_.front(); }
  bool is_split() const { return !parts_.empty(); }
  void split(std::int32_t parts);
  void say_unreached(SteadyTime now);
  void take_parts(Talk& talk, const wire::Registered& registered);
  void lose_parts(const Talk& talk);
  bool is_twin(Talk& talk);
  Talk* owner_of(int bucket);
  Talk* registered_one();
  bool is_registered() const;
  Duration patience(const Talk& talk) const;
  SteadyTime silent_since(const Talk& talk) const;
  bool is_connected(const Talk& talk) const;
  std::size_t place_of(const Talk& talk) const { return talk.line.value_or(trackers_.chosen()); }
  const std::string& endpoint_of(const Talk& talk) const;

  // Returns the correlation of what was sent.
  std::uint64_t send(const Talk& talk, wire::Message message);
  void on_frame(Talk& talk, std::string_view frame);
  void on_connected(Talk& talk);
  void receive(Talk& talk, wire::Envelope&& envelope);
  void on_registered(Talk& talk, const wire::Registered& registered);
  void on_hand_out(Talk& talk, wire::HandOut&& hand_out);
  void on_elsewhere(Talk& talk, const wire::Elsewhere& elsewhere);
  void on_kill(const wire::Kill& kill);
  void on_error(Talk& talk, std::uint64_t correlation, const Error& error);
  bool on_rejected(std::uint64_t correlation, const Error& error);
  void watch_silence(Talk& talk, SteadyTime now);
  void set_shares(SteadyTime now);
  void send_all(SteadyTime now);
  void send_reports(Talk& talk, SteadyTime now);
  void send_messages(Talk& talk, SteadyTime now);
  void keep(SteadyTime now);
  void report_left(SteadyTime now);

  const TrackerLinkConfig config_;
  Runs& runs_;
  const Clock& clock_;
  const Logger log_{"tracker"};
  const OnReady on_ready_;

  std::vector<std::unique_ptr<Talk>> talks_;  // of a split group one an address; else one
  std::vector<PartOwner> parts_;              // none: the group was not split, as far as is known
  std::optional<SteadyTime> unreached_since_{};  // some of those
  bool said_unreached_ = false;
  // Of each part, or of the whole group: when the lease ends; none: there is none.
  std::vector<std::optional<SteadyTime>> leases_ = {std::nullopt};
  TrackerChoice trackers_;

  OutputQueue output_;
  Reporter reporter_;
  ReportOutbox outbox_;
  std::vector<wire::AttemptId> refused_{};
  SteadyTime refused_at_{};                // the first of them
  std::vector<wire::Message> messages_{};  // kept for its memory
  std::uint64_t last_correlation_ = 0;
  std::uint64_t output_correlation_ = 0;
  const Talk* output_talk_ = nullptr;  // whom output went to last
  SteadyTime sent_at_{};               // when all were looked at last
  // Registered: when what workers of other groups have left is reported, too.
  std::optional<SteadyTime> others_at_{};
  std::deque<std::pair<std::uint64_t, std::int64_t>>
      reports_{};                             // the newest: correlation, message
  std::optional<SteadyTime> sent_away_at_{};  // first, since it was registered
  std::string said_owner_{};
  std::vector<int> unanswered_registers_;   // by each address, since it answered one
  std::optional<SteadyTime> away_since_{};  // not registered with anybody
  bool is_leaving_ = false;
  bool passed_over_ = false;  // somebody whom the goodbye could not reach
};

}  // namespace carillon::tasktracker
