#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "shared/base/clock.h"
#include "shared/net/poster.h"
#include "shared/runtime/task_runner.h"
#include "shared/wire/xxl/messages.h"

namespace carillon::testing {

// xxl-job executors at their addresses, and the network to them, in virtual time.
//
// Thread: the test's.
class FakeExecutors final : public net::Poster {
 public:
  struct Running {
    wire::xxl::RunCall call{};
    SteadyTime ends_at{};
  };
  struct One {
    bool is_up = true;          // otherwise its port refuses
    bool hangs = false;         // takes calls and never answers, nor runs anything
    bool is_full = false;       // no connection is free: what may wait for one does
    int crowded = 0;            // of so many calls to come: no connection becomes free
    bool loses_answer = false;  // runs what it is told, but no answer comes back
    std::string refuses{};      // answers /run with code 500 and this
    std::string answers{};      // answers /run with this body
    std::string always_says{};  // answers everything with this body
    std::string lacks{};        // "run" or "trigger": knows no such path
    bool says_idle = false;     // whatever it runs
    bool is_silent = false;     // tells no results
    Duration answers_in = std::chrono::milliseconds{1};
    Duration run_time = std::chrono::milliseconds{100};
    std::int64_t code = 200;
    std::string message = "fine";

    std::vector<wire::xxl::RunCall> calls{};
    std::vector<wire::xxl::RunCall> taken{};       // of them
    std::vector<std::string> paths{};              // of all posts
    std::map<std::string, std::string> headers{};  // of the last
    std::map<std::int64_t, Running> running{};     // by log id
  };

  FakeExecutors(TaskRunner& task_runner, const Clock& clock)
      : task_runner_(task_runner), clock_(clock) {}

  One& add(const std::string& address);
  One& at(const std::string& address) { return *ones_.at(address); }
  // Its process dies, and what it ran with it.
  void kill(const std::string& address);

  bool takes_no_more = false;  // too many posts are under way
  int under_way = 0;
  int most_under_way = 0;

  void set_receiver(net::PostReceiver* receiver) override;
  bool post(net::Post post) override;

  // Where results are told.
  std::function<void(wire::xxl::RunResult)> on_result = [](const wire::xxl::RunResult&) {};

 private:
  void send(std::uint64_t life, const net::Post& post);
  void end_post(std::uint64_t life, SteadyTime when, net::PostOutcome outcome);
  std::string answer(One& one, const std::string& path, const std::string& body);
  void end(const std::string& address, std::int64_t log_id, std::int64_t code,
           const std::string& message);

  TaskRunner& task_runner_;
  const Clock& clock_;
  net::PostReceiver* receiver_ = nullptr;
  std::uint64_t life_ = 0;  // of the receiver
  std::map<std::string, std::unique_ptr<One>> ones_;
};

}  // namespace carillon::testing
