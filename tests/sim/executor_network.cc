#include "tests/sim/executor_network.h"

#include <chrono>
#include <optional>
#include <utility>

#include "shared/wire/xxl/read.h"

namespace carillon::sim {

using jobtracker::ExecutorRequest;
using net::PostOutcome;
using std::chrono::seconds;
using ExecutorFaults = ExecutorProcess::Faults;

namespace {

constexpr Duration kPatience = seconds{3};  // of executors, for an answer

}  // namespace

// From one job tracker.
class ExecutorNetwork::Line final : public net::Poster {
 public:
  Line(ExecutorNetwork& network, TrackerProcess& tracker, std::function<bool()> may_call)
      : network_(network), tracker_(tracker), may_call_(std::move(may_call)) {}

  TrackerProcess& tracker() { return tracker_; }

  void set_receiver(net::PostReceiver* receiver) override {
    receiver_ = receiver;
    ++life_;
  }

  bool post(net::Post post) override {
    Timeline& timeline = network_.timeline_;
    const std::size_t stroke = post.url.rfind('/');
    const auto call = std::make_shared<Call>(
        Call{.id = post.id, .life = life_, .address = post.url.substr(0, stroke + 1)});
    std::erase_if(calls_, [](const auto& one) { return one->is_over; });
    calls_.push_back(call);
    const SteadyTime free = network_.free_at(call->address);
    const SteadyTime out_of_time = timeline.now() + post.timeout;
    if (free <= timeline.now()) {
      send(call, post);
    } else if (free < out_of_time) {
      timeline.at(free, [this, call, post = std::move(post)] {
        tracker_.run([this, call, post] { send(call, post); });
      });
    } else {
      timeline.at(out_of_time, [this, call] {
        end(call, {.kind = PostOutcome::Kind::kNotSent,
                   .error = "no connection became free",
                   .is_crowded = true});
      });
    }
    return true;
  }

  // What came there and was not answered may have been done.
  void hang_up(const std::string& address) {
    Timeline& timeline = network_.timeline_;
    for (const CallPtr& call : calls_) {
      if (call->address != address || !call->has_come) continue;
      timeline.at(timeline.now() + network_.way(), [this, call] {
        end(call, {.error = "the connection was reset", .is_broken = true});
      });
    }
    timeline.at(timeline.now() + network_.way(), [this, address, life = life_] {
      tracker_.run([this, address, life] {
        if (receiver_ != nullptr && life == life_)
          receiver_->on_hang_up(address.substr(0, address.size() - 1));
      });
    });
  }

 private:
  struct Call {
    std::uint64_t id = 0;
    std::uint64_t life = 0;
    std::string address{};
    bool has_come = false;
    bool is_over = false;
  };
  using CallPtr = std::shared_ptr<Call>;

  // What waited for a connection may have been recalled meanwhile.
  void send(const CallPtr& call, const net::Post& post) {
    if (call->life != life_) return;
    Timeline& timeline = network_.timeline_;
    if (post.sending && !post.sending->begin(timeline.now())) {
      return end(
          call,
          {.kind = PostOutcome::Kind::kNotSent, .error = "it was recalled", .is_recalled = true});
    }
    const std::string path = post.url.substr(post.url.rfind('/') + 1);
    if (path == "run") {
      const bool was_set = tracker_.was_set_since(timeline.now() - std::chrono::minutes{10});
      const bool has_own_clock = !tracker_.options().is_one_of_several;
      network_.runs_.is_called(call->address, wire::xxl::read_run(post.body).value(),
                               {.may_call = may_call_(),
                                .now = has_own_clock && was_set ? std::optional<WallTime>{}
                                                                : tracker_.scheduling_now()});
    }
    timeline.at(timeline.now() + post.timeout,
                [this, call] { end(call, {.error = "no answer in time"}); });
    timeline.at(timeline.now() + network_.way(),
                [this, call, path, body = post.body] { arrive(call, path, body); });
  }

  void arrive(const CallPtr& call, const std::string& path, const std::string& body) {
    Timeline& timeline = network_.timeline_;
    const auto found = network_.executors_.find(call->address);
    ExecutorProcess* const to = found == network_.executors_.end() ? nullptr : found->second;
    if (to != nullptr && to->is(&ExecutorFaults::is_cut_off)) return;  // The time for it passes.
    if (to == nullptr || !to->is_alive()) {
      // Not one byte of it goes out.
      if (path == "run") network_.runs_.is_refused(wire::xxl::read_run(body).value().log_id);
      timeline.at(timeline.now() + network_.way(), [this, call] {
        end(call, {.kind = PostOutcome::Kind::kNotSent,
                   .error = "connection refused",
                   .is_refused = true});
      });
      return;
    }
    call->has_come = true;
    to->run([this, call, to, path, body, &timeline] {
      std::string answer = to->answer(path, body);
      if (to->is(&ExecutorFaults::loses_answers) || to->is(&ExecutorFaults::is_cut_off)) return;
      timeline.at(timeline.now() + network_.way(), [this, call, answer = std::move(answer)] {
        end(call, {.kind = PostOutcome::Kind::kAnswered, .status = 200, .body = answer});
      });
    });
  }

  void end(const CallPtr& call, PostOutcome outcome) {
    if (std::exchange(call->is_over, true)) return;
    outcome.id = call->id;
    tracker_.run([this, life = call->life, address = call->address, outcome = std::move(outcome)] {
      if (receiver_ == nullptr || life != life_) return;
      if (outcome.kind == PostOutcome::Kind::kAnswered) network_.runs_.has_answered(address);
      receiver_->on_outcome(outcome);
    });
  }

  ExecutorNetwork& network_;
  TrackerProcess& tracker_;
  const std::function<bool()> may_call_;
  net::PostReceiver* receiver_ = nullptr;
  std::uint64_t life_ = 0;  // of the receiver
  std::vector<CallPtr> calls_;
};

ExecutorNetwork::ExecutorNetwork(Timeline& timeline, Chance& chance, PushedRuns& runs)
    : timeline_(timeline), chance_(chance), runs_(runs) {}
ExecutorNetwork::~ExecutorNetwork() = default;

void ExecutorNetwork::add(TrackerProcess& tracker, std::function<bool()> may_call) {
  lines_.push_back(std::make_unique<Line>(*this, tracker, std::move(may_call)));
  tracker.poster = lines_.back().get();
}

// When a connection to it is free.
SteadyTime ExecutorNetwork::free_at(const std::string& address) const {
  const auto found = executors_.find(address);
  return found == executors_.end() ? SteadyTime{} : found->second->faults.is_crowded;
}

void ExecutorNetwork::died(const ExecutorProcess& executor) {
  for (const auto& line : lines_) line->hang_up(executor.options().address);
}

void ExecutorNetwork::tell(ExecutorProcess& from, const ExecutorRequest& request,
                           std::function<void(bool)> done) {
  ask(from, request, done, chance_.below(lines_.size()), lines_.size());
}

void ExecutorNetwork::ask(ExecutorProcess& from, const ExecutorRequest& request,
                          const std::function<void(bool)>& done, std::size_t at, std::size_t left) {
  if (left == 0) return done(false);
  const auto is_answered = std::make_shared<bool>(false);
  const auto answer = [this, &from, request, done, at, left, is_answered](bool was_taken) {
    if (std::exchange(*is_answered, true)) return;
    was_taken ? done(true) : ask(from, request, done, (at + 1) % lines_.size(), left - 1);
  };
  from.post_at(timeline_.now() + kPatience, [answer] { answer(false); });
  if (from.is(&ExecutorFaults::is_cut_off)) return;
  const auto back = [this, &from, answer, life = from.life()](bool was_taken) {
    timeline_.at(timeline_.now() + way(), [&from, answer, life, was_taken] {
      if (from.life() != life || from.is(&ExecutorFaults::is_cut_off)) return;
      from.run([answer, was_taken] { answer(was_taken); });
    });
  };
  TrackerProcess& to = lines_[at]->tracker();
  timeline_.at(timeline_.now() + way(), [&to, request, back] {
    if (!to.works()) return back(false);
    to.run([&to, request, back] {
      if (!to.works()) return back(false);
      to.tracker().on_executor(request, [back](const Status& status) { back(status.ok()); });
    });
  });
}

}  // namespace carillon::sim
