#pragma once

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "shared/base/clock.h"
#include "shared/net/transport.h"
#include "shared/runtime/event_loop.h"
#include "shared/wire/codec.h"

namespace carillon::tasktracker {

// A job tracker at the other end of a line that never fails unless told to: hands out what it is
// given in order, as far as the worker's window allows, and keeps everything it hears.
//
// Thread: the loop.
class FakeTracker final : public net::ClientTransport {
 public:
  explicit FakeTracker(EventLoop& loop) : loop_(loop) {}

  void set_receiver(net::ClientReceiver* receiver) override { receiver_ = receiver; }
  bool is_connected() const override { return connected_; }

  Status send(std::string frame) override {
    if (!connected_) return Error{ErrorCode::kUnavailable, "not connected"};
    Result<wire::Envelope> envelope = wire::decode(frame);
    if (!envelope.ok()) return envelope.error();
    if (!is_silent) hear(std::move(envelope).value());
    return {};
  }

  void connect() {
    connected_ = true;
    loop_.post([this] { receiver_->on_connected(); });
  }
  void disconnect() {
    connected_ = false;
    loop_.post([this] { receiver_->on_disconnected("the test says so"); });
  }

  // To be handed out when there is room.
  void submit(wire::HandedJob job) {
    due_.push_back(std::move(job));
    hand_out();
  }
  void submit(std::int64_t job, const JobSpec& spec) {
    submit({.id = {JobId{job}, 1},
            .task_id = "t" + std::to_string(job),
            .spec = wire::encode_spec(spec)});
  }
  // Hands out more than there is room for.
  void push(std::int64_t job, const JobSpec& spec) {
    wire::HandOut hand_out = next_hand_out();
    hand_out.jobs.push_back({.id = {JobId{job}, 1},
                             .task_id = "t" + std::to_string(job),
                             .spec = wire::encode_spec(spec)});
    tell(0, std::move(hand_out));
  }
  void say_that_it_stops() {
    tell(0, wire::ErrorReply{{ErrorCode::kUnavailable, "the job tracker is stopping"}});
  }
  // Its last answer to a registration that it did not take comes a second time.
  void redirect_again() {
    tell(last_redirect_, wire::Redirect{.address = "elsewhere", .parts = parts});
  }
  // Its answer to the registration before the newest one comes late.
  void answer_registration_before() { tell(answers_[0].first, answers_[0].second); }
  // A report that was heard while it did not.
  void confirm(std::int64_t job) { tell(0, wire::Reported{.done = {{JobId{job}, 1}}}); }
  void kill(std::int64_t job) {
    tell(0, wire::Kill{.jobs = {{JobId{job}, 1}}, .reason = "by ann"});
  }

  const wire::RunResult* result_of(std::int64_t job) const {
    for (const wire::RunResult& result : results) {
      if (result.id.job_id == JobId{job}) return &result;
    }
    return nullptr;
  }
  // The session that the last report of it was for, where it was another one.
  SessionId origin_of(std::int64_t job) const {
    const auto found = origins_.find(job);
    return found == origins_.end() ? SessionId{} : found->second;
  }
  std::string output_of(std::int64_t job) const {
    std::string text;
    for (const wire::OutputChunk& chunk : chunks) {
      if (chunk.id.job_id == JobId{job}) text += chunk.bytes;
    }
    return text;
  }
  std::size_t waiting() const { return due_.size(); }
  const wire::Pull& last_pull() const { return last_pull_; }

  bool confirms = true;            // answers reports
  bool knows_session = true;       // otherwise everything but a registration is refused
  std::optional<Error> refusal{};  // the answer to a registration and to a pull
  bool is_silent = false;          // reads nothing, but the connection stands
  Duration answers_after{};
  Duration lease = std::chrono::seconds{3};
  std::int64_t tracker_session = 5;
  std::int32_t parts = 0;  // of the node group
  std::vector<wire::OwnedPartition> owned{};
  bool redirects = false;  // it looks after none of them
  std::vector<wire::RunResult> results{};
  std::vector<wire::OutputChunk> chunks{};
  std::vector<wire::AttemptId> given_back{};
  std::vector<wire::Register> registrations{};
  std::vector<std::string> order{};  // "output 1", "result 1", "give back 1"
  int byes = 0;
  bool answers_byes = true;

 private:
  template <class Message>
  void tell(std::uint64_t correlation, Message message) {
    auto say = [this, frame = wire::encode({correlation, std::move(message)})] {
      if (connected_ && receiver_ != nullptr) receiver_->on_frame(frame);
    };
    if (answers_after == Duration{}) return loop_.post(std::move(say));
    (void)loop_.post_at(SystemClock{}.steady_now() + answers_after, std::move(say));
  }

  void hear(wire::Envelope&& envelope) {
    const std::uint64_t correlation = envelope.correlation;
    if (auto* registration = std::get_if<wire::Register>(&envelope.message)) {
      registrations.push_back(*registration);
      if (refusal) return tell(correlation, wire::ErrorReply{*refusal});
      if (redirects)
        return tell(last_redirect_ = correlation,
                    wire::Redirect{.address = "elsewhere", .parts = parts});
      session_ = registration->session;
      if (std::exchange(registered_with_, tracker_session) != tracker_session) sent_.clear();
      knows_session = true;
      answers_[0] = std::exchange(answers_[1], {correlation,
                                                {.lease = lease,
                                                 .pull_interval = lease / 3,
                                                 .tracker_session = tracker_session,
                                                 .parts = parts,
                                                 .owned = owned}});
      tell(correlation, answers_[1].second);
      return;
    }
    if (!knows_session) {
      return tell(correlation, wire::ErrorReply{{ErrorCode::kNotFound, "unknown session"}});
    }
    if (auto* pull = std::get_if<wire::Pull>(&envelope.message)) {
      on_pull(correlation, *pull);
    } else if (auto* report = std::get_if<wire::Report>(&envelope.message)) {
      on_report(correlation, *report);
    } else if (auto* output = std::get_if<wire::Output>(&envelope.message)) {
      on_output(correlation, *output);
    } else if (auto* back = std::get_if<wire::GiveBack>(&envelope.message)) {
      for (const wire::AttemptId& id : back->jobs) {
        given_back.push_back(id);
        order.push_back("give back " + std::to_string(id.job_id.value));
        reclaim(id);
      }
    } else if (std::holds_alternative<wire::Bye>(envelope.message)) {
      ++byes;
      if (answers_byes) tell(correlation, wire::Gone{});
    }
  }

  // Hands it out again; on a busy machine a worker may have to give any job back.
  void reclaim(const wire::AttemptId& id) {
    const auto found = handed_.find(id.job_id.value);
    if (found == handed_.end()) return;
    due_.push_front(found->second);
    ++due_.front().id.attempt;
  }

  void on_pull(std::uint64_t correlation, const wire::Pull& pull) {
    if (refusal) return tell(correlation, wire::ErrorReply{*refusal});
    last_pull_ = pull;
    credit_ = pull.window;
    for (const auto& [number, jobs] : sent_) {
      if (number > pull.handout_seen) credit_ -= jobs;
    }
    sent_.erase(sent_.begin(), sent_.upper_bound(pull.handout_seen));
    tell(correlation, wire::Pulled{pull.number});
    hand_out();
  }

  void on_report(std::uint64_t correlation, const wire::Report& report) {
    wire::Reported reported;
    for (const wire::RunResult& result : report.results) {
      results.push_back(result);
      origins_[result.id.job_id.value] = report.origin;
      order.push_back("result " + std::to_string(result.id.job_id.value));
      reported.done.push_back(result.id);
    }
    if (confirms) tell(correlation, std::move(reported));
  }

  void on_output(std::uint64_t correlation, const wire::Output& output) {
    for (const wire::OutputChunk& chunk : output.chunks) {
      chunks.push_back(chunk);
      order.push_back("output " + std::to_string(chunk.id.job_id.value));
    }
    tell(correlation, wire::OutputTaken{static_cast<std::int64_t>(output.chunks.size())});
  }

  wire::HandOut next_hand_out() {
    return {.session = session_,
            .number = ++hand_outs_,
            .pull = last_pull_.number,
            .tracker_session = tracker_session};
  }

  void hand_out() {
    if (!connected_ || credit_ <= 0 || due_.empty()) return;
    wire::HandOut message = next_hand_out();
    while (credit_ > 0 && !due_.empty()) {
      handed_[due_.front().id.job_id.value] = due_.front();
      message.jobs.push_back(std::move(due_.front()));
      due_.pop_front();
      --credit_;
    }
    sent_[hand_outs_] = static_cast<int>(message.jobs.size());
    tell(0, std::move(message));
  }

  EventLoop& loop_;
  net::ClientReceiver* receiver_ = nullptr;
  bool connected_ = false;
  SessionId session_{};
  std::int64_t registered_with_ = 0;  // the tracker session
  std::uint64_t last_redirect_ = 0;   // the correlation
  // To the last two registrations that it took, with their correlations.
  std::array<std::pair<std::uint64_t, wire::Registered>, 2> answers_{};
  wire::Pull last_pull_{};
  int credit_ = 0;
  std::int64_t hand_outs_ = 0;
  std::map<std::int64_t, int> sent_{};  // hand-outs that the worker may not have seen
  std::deque<wire::HandedJob> due_{};
  std::map<std::int64_t, SessionId> origins_{};
  std::map<std::int64_t, wire::HandedJob> handed_{};
};

}  // namespace carillon::tasktracker
