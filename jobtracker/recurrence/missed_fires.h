#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "jobtracker/recurrence/changes.h"
#include "jobtracker/recurrence/down_time.h"
#include "jobtracker/recurrence/promotion.h"
#include "shared/runtime/executor.h"

namespace carillon::jobtracker {

// Fires that came while no job tracker ran. After a start, each definition that may have missed
// some is looked at: those that have an occurrence are read, the others counted along its schedule.
// Then, in one transaction, as many of the newest run as its misfire policy says, in order, and
// the others have one row of the log a stretch; the schedule goes on after them.
//
// With one run at a time, what one that was under way then has missed is known when it has ended:
// fires up to its end, by its task tracker's clock, are passed over as at any time, and those after
// it were missed. A start after this one, before that end was heard of, knows of its own down time
// only.
//
// Until then nothing of the definition runs: what comes due is parked. And a crash is as if this
// session had not been: the next one looks for the same.
//
// Thread: the loop.
class MissedFires {
 public:
  // What a definition missed has its outcomes.
  using OnKnown = std::function<void(ActiveDefinition&)>;

  MissedFires(const DownTime& down_time, Plans& plans, Changes& changes, Promotion& promotion,
              Catalog& catalog, Batcher& batcher, JobSink& sink, SchedulingClock& clock,
              Executor& executor, const Logger& log, OnKnown on_known);

  // Before start(). It is looked at, if it may have missed something.
  void add(ActiveDefinition& definition);
  void start();
  void stop();
  // Of a definition with one run at a time, whose run has ended: whether fires after its end were
  // missed. It is looked at then, and goes on after them.
  bool are_after(ActiveDefinition& definition, WallTime ended) const;
  // Until when fires are passed over where none after it was missed: `heard` is when its end was.
  // What came in a time without a job tracker and was not missed is late.
  WallTime passed_over_until(const ActiveDefinition& definition, WallTime heard,
                             WallTime ended) const;
  void look_after(ActiveDefinition& definition, WallTime ended);
  bool are_all_known() const { return recovering_.empty(); }
  Sizes sizes() const;

 private:
  struct Chosen;
  struct Missed;
  // What the next line of the log says.
  struct Tally {
    std::int64_t jobs = 0;
    std::int64_t fires = 0;
    std::int64_t runs = 0;
  };

  void look_later_at(ActiveDefinition& definition);
  WallTime passed_over_until(const ActiveDefinition& definition, WallTime ended) const;
  void look_at_next();
  void read_rows(DefinitionId id, JobId before);
  bool may_be_missed(const ActiveDefinition& definition, const WaitingJob& job) const;
  void look_at(DefinitionId id, const std::vector<WaitingJob>& waiting);
  void leap_to_newest(ActiveDefinition& definition, Missed& missed);
  void count(const std::shared_ptr<Missed>& missed);
  void settle(ActiveDefinition& definition, Missed& missed);
  void say_soon(const Definition& row, std::int64_t fires, std::int64_t runs);
  void say();
  void go_on_after(ActiveDefinition& definition, ChangeDefinition& operation, bool has_regular,
                   WallTime until);
  void known(DefinitionId id, const std::set<JobId>& gone);
  void end(DefinitionId id);

  const DownTime& down_time_;
  Plans& plans_;
  Changes& changes_;
  Promotion& promotion_;
  Catalog& catalog_;
  Batcher& batcher_;
  JobSink& sink_;
  SchedulingClock& clock_;
  Executor& executor_;
  const Logger& log_;
  const OnKnown on_known_;
  bool is_stopped_ = false;
  std::optional<Tally> to_say_{};
  std::vector<DefinitionId> to_look_at_;
  std::map<DefinitionId, WallTime> ended_;                // of whose run has ended since: when
  std::set<DefinitionId> recovering_;                     // these, and those that have begun
  std::map<DefinitionId, std::vector<WaitingJob>> rows_;  // of those that are read, so far
};

}  // namespace carillon::jobtracker
