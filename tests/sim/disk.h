#pragma once

#include <functional>
#include <map>
#include <optional>

#include "shared/outbox/entry.h"
#include "tests/sim/chance.h"
#include "tests/sim/process.h"

namespace carillon::sim {

// The disk of a process's machine, with an outbox on it. What was written there outlives the
// process; it may stand still, and fail.
//
// Thread: the simulation's.
class Disk final : public outbox::OutboxWriter {
 public:
  struct Kept {
    outbox::Entry entry{};
    SteadyTime since{};
  };

  Disk(Process& process, Chance& chance) : process_(process), chance_(chance) {}

  // A new life of the process: what lies there is of those before.
  void begin_life();
  // It dies: what was being written is there, or not.
  void end_life();

  void start(outbox::Work work) override;
  std::optional<outbox::WorkDone> take() override;

  // ---- faults ----
  void stall(Duration time) { stands_until_ = process_.steady_now() + time; }
  void fail_next(int times) { fails_ = times; }
  void mend();

  // By id.
  const std::map<std::int64_t, Kept>& kept() const { return kept_; }
  std::int64_t last_id() const { return last_id_; }

  // Called each time that it fails, which may be long after it was told to.
  std::function<void()> on_failed = [] {};
  // Called with each entry that goes, because it was delivered.
  std::function<void(const outbox::Entry&)> on_removed = [](const outbox::Entry&) {};
  // Likewise with each that will never be delivered.
  std::function<void(const outbox::Entry&, const std::string& reason)> on_set_aside =
      [](const auto&, const auto&) {};

 private:
  outbox::WorkDone run(outbox::Work work);
  std::vector<outbox::Entry> load(const outbox::Load& what) const;

  Process& process_;
  Chance& chance_;
  std::map<std::int64_t, Kept> kept_;
  std::int64_t last_id_ = 0;
  std::int64_t adopted_through_ = 0;
  std::optional<outbox::Work> work_;
  std::optional<outbox::WorkDone> done_;
  SteadyTime stands_until_{};
  int fails_ = 0;
};

}  // namespace carillon::sim
