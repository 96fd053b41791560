#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include "jobclient/cli/program.h"
#include "jobclient/submit/client_thread.h"
#include "shared/wire/codec.h"
#include "tests/support/manual_clock.h"

namespace carillon::cli {

// A job tracker for tests of verbs: answers every request at once with what the test says, and
// keeps what was asked.
//
// Thread: the answers are asked for on the client's thread, one after another; what was asked may
// be read when no call is under way.
class FakeTracker {
 public:
  using Answer = std::function<wire::Message(const wire::Message&)>;

  explicit FakeTracker(Answer answer) : answer_(std::move(answer)) {}

  // Nothing is stored unless `options` say so.
  Result<std::unique_ptr<JobClient>> open(JobClientOptions options,
                                          Duration connect_timeout = std::chrono::milliseconds{1}) {
    if (options.data.empty()) options.outbox = OutboxUse::kOff;
    options.connect_timeout = connect_timeout;
    auto thread = ClientThread::start(options, [this](EventLoop& loop, const std::string&) {
      return Result<std::unique_ptr<net::ClientTransport>>{
          std::unique_ptr<net::ClientTransport>(new Transport(*this, loop))};
    });
    if (!thread.ok()) return thread.error();
    return std::make_unique<JobClient>(std::move(thread).value());
  }

  // All of one kind that was asked.
  template <class T>
  std::vector<T> asked() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::vector<T> found;
    for (const auto& message : asked_) {
      if (const T* wanted = std::get_if<T>(&message)) found.push_back(*wanted);
    }
    return found;
  }

  bool is_reachable = true;

 private:
  struct Transport final : net::ClientTransport {
    Transport(FakeTracker& its_tracker, EventLoop& its_loop)
        : tracker(its_tracker), loop(its_loop) {}
    void set_receiver(net::ClientReceiver* to) override { *receiver = to; }
    Status send(std::string frame) override {
      auto envelope = wire::decode(frame);
      if (!envelope.ok()) return envelope.error();
      loop.post([this_tracker = &tracker, to = receiver, request = std::move(envelope).value()] {
        if (*to == nullptr) return;
        (*to)->on_frame(wire::encode({request.correlation, this_tracker->take(request.message)}));
      });
      return {};
    }
    bool is_connected() const override { return tracker.is_reachable; }

    FakeTracker& tracker;
    EventLoop& loop;
    // Outlives this, for answers that are still posted.
    std::shared_ptr<net::ClientReceiver*> receiver = std::make_shared<net::ClientReceiver*>();
  };

  wire::Message take(const wire::Message& request) {
    const std::lock_guard<std::mutex> lock(mutex_);
    asked_.push_back(request);
    return answer_(request);
  }

  const Answer answer_;
  std::mutex mutex_;
  std::vector<wire::Message> asked_;
};

// Every job is accepted as job 7, 8, ...
inline wire::Message accept_all(const wire::Message& request) {
  wire::Submitted submitted;
  std::int64_t id = 7;
  for (const JobSpec& job : std::get<wire::Submit>(request).jobs) {
    submitted.answers.push_back({.task_id = job.task_id.empty() ? "made-1" : job.task_id,
                                 .group = job.group,
                                 .job_id = JobId{id++},
                                 .status = wire::SubmitStatus::kAccepted,
                                 .tz = job.schedule.tz});
  }
  return submitted;
}

// A run of jobclient inside the test.
class Cli {
 public:
  explicit Cli(FakeTracker::Answer answer) : tracker(std::move(answer)) {}
  ~Cli() {
    if (input_ >= 0) ::close(input_);
  }
  Cli(const Cli&) = delete;
  Cli& operator=(const Cli&) = delete;

  // What stands on stdin: all of it at once, at most what a pipe holds.
  void give_input(const std::string& text) {
    int ends[2] = {-1, -1};
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    ::fcntl(ends[1], F_SETPIPE_SZ, 1 << 20);
    if (::write(ends[1], text.data(), text.size()) < 0) return;
    ::close(ends[1]);
    input_ = ends[0];
  }

  int run(const std::vector<std::string>& arguments) {
    const Surroundings around{
        .program = program,
        .clock = clock,
        .out = out,
        .err = err,
        .input = input_,
        .terminal = terminal,
        .zone = zone,
        .user = "ann",
        .open_client =
            [this](const Configuration& configuration, Surroundings::OnDelivered on_delivered) {
              JobClientOptions options = client_options(configuration);
              options.on_delivered = std::move(on_delivered);
              return tracker.open(std::move(options));
            },
        .pause =
            [this](Duration time) {
              clock.advance(time);
              ++pauses;
            },
        .open_page = [this](const std::string& url) { opened.push_back(url); }};
    return run_program(arguments, Environment{}, around);
  }

  FakeTracker tracker;
  ManualClock clock;
  Program program = declare_program();
  Terminal terminal{};
  Result<Zone> zone = Zone::load("Europe/Berlin");
  std::ostringstream out;
  std::ostringstream err;
  int pauses = 0;
  std::vector<std::string> opened{};  // pages in the browser

 private:
  int input_ = -1;
};

}  // namespace carillon::cli
