#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "carillon/job_spec.h"
#include "shared/wire/messages.h"
#include "tasktracker/fetch/fetcher.h"
#include "tests/support/fake_network.h"

namespace carillon::testing {

struct FakeWorkerConfig {
  std::string name = "worker";
  std::string address{};
  std::string group = "default";
  std::map<std::string, std::string> labels{};
  int threads = 2;
  SessionId session{};
  std::vector<std::string> allow{};  // kinds of run it accepts; empty: all
  Duration clock_ahead{};            // of its machine, before everybody else's
  int prefetch_max = 0;              // asked for beyond its threads; all that it has runs at once
};

// How a fake run goes.
struct FakeRun {
  Duration time = std::chrono::milliseconds{10};
  wire::RunOutcome outcome = wire::RunOutcome::kSucceeded;
  Duration later{};
  std::string message{};
};

// What a worker did, for checks.
struct RunRecord {
  wire::AttemptId id{};
  std::string worker{};
  std::string task_id{};
  WallTime trigger_time{};
  WallTime started_wall{};
  SteadyTime started{};
  std::optional<SteadyTime> ended{};
  bool was_killed = false;
};

// A task tracker in virtual time: the real rules of asking and refusing, with runs that only take
// time. It can die, stand still and be cut off.
//
// Thread: the test's.
class FakeWorker {
 public:
  using Behaviour = std::function<FakeRun(const wire::HandedJob&, const JobSpec&)>;

  FakeWorker(FakeWorkerConfig config, FakeNetwork& network, ManualTaskRunner& task_runner,
             const Clock& clock);

  Behaviour behaviour = [](const wire::HandedJob&, const JobSpec&) { return FakeRun{}; };

  // kill -9: its runs end here, and nobody hears of it.
  void die();
  // Stands still, runs and all, as a machine that is suspended.
  void freeze(Duration time);
  // Its connection breaks; its runs go on.
  void cut_off(Duration time);
  // Frames to it are lost, though its connection stands and what it sends arrives.
  void lose_frames(bool lose) { network_.lose_frames_to(peer_, lose); }
  // Gives up its free threads and says goodbye when the last run has ended.
  void leave();
  // Its machine is too busy for more jobs, or is not: empty.
  void overload(const std::string& with);
  // Registers again, as after nobody answered for a lease.
  void send_register_again();
  // Held jobs that have not started go back; there are some only if it was given too many.
  void give_back(const wire::AttemptId& id);
  void send(wire::Message message);

  bool is_alive() const { return alive_; }
  bool is_registered() const { return fetcher_.is_registered(); }
  SessionId session() const { return config_.session; }
  const std::string& name() const { return config_.name; }
  int busy() const { return static_cast<int>(running_.size()); }
  int busy_max() const { return busy_max_; }
  const tasktracker::FetcherCounts& counts() const { return fetcher_.counts(); }
  const std::vector<RunRecord>& runs() const { return runs_; }
  const std::vector<wire::AttemptId>& handed() const { return handed_; }
  const std::vector<wire::AttemptId>& confirmed() const { return confirmed_; }
  // Reports are made, but not sent, while this is set.
  bool holds_reports = false;

 private:
  void connect();
  void on_frame(std::string_view frame);
  void on_message(wire::Message message);
  void on_hand_out(wire::HandOut hand_out);
  void on_kill(const wire::Kill& kill);
  void start(const wire::HandedJob& job);
  void finish(const wire::AttemptId& id, const FakeRun& run);
  void step();
  void send_reports();
  // Now, or as soon as it moves again.
  void when_awake(std::function<void()> work);

  FakeWorkerConfig config_;
  FakeNetwork& network_;
  const Clock& clock_;
  std::unique_ptr<ScopedTaskRunner> task_runner_;
  tasktracker::Fetcher fetcher_;
  net::Peer peer_{};
  bool alive_ = true;
  bool is_leaving_ = false;
  SteadyTime frozen_until_{};
  SteadyTime cut_until_{};
  TimerId timer_ = 0;
  std::set<wire::AttemptId> early_;                 // whose time has not come
  std::map<wire::AttemptId, std::size_t> running_;  // place in runs_
  std::map<wire::AttemptId, wire::RunResult> unconfirmed_;
  std::vector<RunRecord> runs_;
  std::vector<wire::AttemptId> handed_;
  std::vector<wire::AttemptId> confirmed_;
  int busy_max_ = 0;
};

// All its runs take so long.
inline void runs_take(FakeWorker& worker, Duration time) {
  worker.behaviour = [time](const auto&, const auto&) { return FakeRun{.time = time}; };
}

}  // namespace carillon::testing
