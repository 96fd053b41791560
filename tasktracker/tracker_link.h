#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/log.h"
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
};

// A worker's conversation with its job tracker: takes the frames apart, brings each message to
// whom it is for, and sends what they have to say at the end of a turn. Decides nothing.
//
// When another job tracker takes the place of the one before, the session goes on: it is told of
// everything that is held, and gets the results and the output that were not confirmed.
//
// What is not confirmed, because the tracker is away or does not answer, lies on disk too; and what
// earlier sessions have left there is reported for them.
//
// Thread: the loop.
class TrackerLink final : public net::ClientReceiver {
 public:
  using OnReady = std::function<void(const std::string& endpoint)>;

  // The references must outlive the link. `on_ready` is called at every registration.
  TrackerLink(TrackerLinkConfig config, std::vector<TrackerAddress> addresses, Runs& runs,
              const Clock& clock, ReportOutbox outbox, OnReady on_ready);
  TrackerLink(const TrackerLink&) = delete;
  TrackerLink& operator=(const TrackerLink&) = delete;

  void on_frame(std::string_view frame) override;
  void on_connected() override;
  void on_disconnected(const std::string& reason) override;

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

  Fetcher& fetcher() { return fetcher_; }
  const Fetcher& fetcher() const { return fetcher_; }
  // So much waits for the tracker, or so little room is on disk, that nothing more should be run
  // for it.
  bool is_congested() const;
  // Everything that there is to say was said and confirmed.
  bool is_quiet() const;

  // Puts on disk what is not confirmed. True: it is there, or cannot be.
  bool keep_all();

  void say_bye();
  // The tracker has answered, or there is nobody to answer.
  bool is_gone() const { return gone_ || !fetcher_.is_registered(); }

 private:
  // Returns the correlation of what was sent.
  std::uint64_t send(wire::Message message);
  void receive(wire::Envelope&& envelope);
  void on_registered(const wire::Registered& registered);
  void on_elsewhere(const std::string& owner, SteadyTime now);
  void on_hand_out(wire::HandOut&& hand_out);
  void on_kill(const wire::Kill& kill);
  void on_error(std::uint64_t correlation, const Error& error);
  bool on_rejected(std::uint64_t correlation, const Error& error);
  void watch_silence(SteadyTime now);
  void send_all(SteadyTime now);
  void keep(SteadyTime now);
  void report_left(SteadyTime now);
  SteadyTime silent_at() const { return heard_at_ + fetcher_.lease(); }

  const TrackerLinkConfig config_;
  Runs& runs_;
  const Clock& clock_;
  const Logger log_{"tracker"};
  const OnReady on_ready_;

  TrackerChoice trackers_;
  SteadyTime heard_at_{};  // anything at all, over this connection
  bool said_silent_ = false;

  Fetcher fetcher_;
  OutputQueue output_;
  Reporter reporter_;
  ReportOutbox outbox_;
  std::vector<wire::AttemptId> to_give_back_{};
  std::vector<wire::AttemptId> refused_{};
  SteadyTime refused_at_{};                // the first of them
  std::vector<wire::Message> messages_{};  // kept for its memory
  std::uint64_t last_correlation_ = 0;
  std::uint64_t register_correlation_ = 0;
  std::uint64_t output_correlation_ = 0;
  std::deque<std::pair<std::uint64_t, std::int64_t>>
      reports_{};  // the newest: correlation, message
  std::string last_refusal_{};
  std::optional<SteadyTime> sent_away_at_{};  // first, since it was registered
  std::string said_owner_{};
  bool gone_ = false;
};

}  // namespace carillon::tasktracker
