#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "jobtracker/state/executor_requests.h"
#include "tests/sim/chance.h"
#include "tests/sim/process.h"
#include "tests/sim/pushed_runs.h"

namespace carillon::sim {

struct ExecutorOptions {
  std::string name{};
  std::string app{};
  std::string address{};
  bool is_liar = false;       // calls itself idle whatever it runs, as one of npm does
  bool is_forgetful = false;  // tells a result once, whatever is answered, as two others do
};

// An executor of xxl-job: registers every 30 s, or misses to once, runs what it is told, and tells
// the results, some of them twice, otherwise, or of runs that are not.
//
// Thread: the simulation's.
class ExecutorProcess final : public Process {
 public:
  // Tells job trackers; then whether one has answered 200.
  using Tell =
      std::function<void(ExecutorProcess&, jobtracker::ExecutorRequest, std::function<void(bool)>)>;

  ExecutorProcess(Timeline& timeline, Chance& chance, PushedRuns& runs, Tell tell,
                  ExecutorOptions options)
      : Process(timeline, options.name),
        chance_(chance),
        runs_(runs),
        tell_(std::move(tell)),
        options_(std::move(options)) {}
  ~ExecutorProcess() override { kill(); }

  void start();
  // kill -9: what it ran dies with it, and what it had to tell.
  void kill();
  // It says that it goes, and does.
  void leave();

  // The body of its answer.
  std::string answer(const std::string& path, const std::string& body);

  // What is wrong with it, and until when.
  struct Faults {
    SteadyTime refuses{};  // what it is told to run
    SteadyTime lies{};     // that it is idle
    SteadyTime loses_answers{};
    SteadyTime is_cut_off{};  // nothing comes to it or from it
    SteadyTime is_late{};     // with results
    SteadyTime is_crowded{};  // no connection to it is free
  };
  Faults faults;
  bool is(SteadyTime Faults::*fault) const { return timeline_.now() < faults.*fault; }

  const ExecutorOptions& options() const { return options_; }
  std::uint64_t life() const { return life_; }

 private:
  void end_turn() override {}
  void register_now();
  void begin(const wire::xxl::RunCall& call);
  void end(std::int64_t log_id, std::int64_t code);
  void send(const wire::xxl::RunResult& result, bool is_true);

  Chance& chance_;
  PushedRuns& runs_;
  const Tell tell_;
  const ExecutorOptions options_;
  std::uint64_t life_ = 0;
  bool has_drawn_ = false;                        // to miss a registration, the last time
  bool has_missed_ = false;                       // one, the last time
  bool has_missed_before_ = false;                // and the time before
  std::map<std::int64_t, std::int64_t> running_;  // the job of each log id
};

}  // namespace carillon::sim
