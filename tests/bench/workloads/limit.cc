// What the store alone does with our statements and our sizes of batches: the yardstick for what a
// job tracker makes of it.
#include <algorithm>
#include <map>
#include <utility>

#include "jobtracker/dispatch/dispatcher.h"
#include "shared/base/random.h"
#include "tests/bench/direct_store.h"
#include "tests/bench/end_check.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

using namespace jobtracker;

// Of a submission, as clients send them.
constexpr std::int64_t kJobsOfARequest = 1000;
// Operations that are posted ahead, so that a batch never wants for them.
constexpr std::size_t kAhead = 10'000;
constexpr std::int64_t kPage = 5000;

// Jobs on their way through the store, each step posted as the job tracker posts it.
class Pipeline {
 public:
  Pipeline(Round& round, DirectStore& store, std::vector<GroupId> groups)
      : clock_(round.clock),
        store_(store),
        client_(unused_client()),
        groups_(std::move(groups)),
        names_{round.group + "-1", round.group + "-2"} {}

  // Until as many jobs as were asked for have gone through. What was added is claimed and ended if
  // `run`; with `add` 0 they are read from the tables, as a job tracker reads them.
  Status go(std::int64_t add, std::int64_t run) {
    const std::int64_t added_end = added_ + add;
    const std::int64_t ended_end = ended_ + run;
    const bool from_tables = add == 0;
    while (added_ < added_end || ended_ < ended_end) {
      while (added_ + adding_ < added_end && has_room()) post_request(run > 0);
      while (from_tables && has_room()) {
        if (!CARILLON_TRY(post_page())) break;
      }
      CARILLON_TRY(store_.commit_one());
    }
    return {};
  }

  const std::vector<std::int64_t>& ids() const { return ids_; }

 private:
  // The store may remember the requests of earlier runs, and answers for them what it did then.
  static std::int64_t unused_client() {
    SystemRandom random;
    return static_cast<std::int64_t>(random.next() >> 5) | 1;
  }

  bool has_room() const { return store_.batcher().pending_rows() < kAhead; }

  void post_request(bool run) {
    std::vector<Operation> operations;
    for (std::int64_t i = 0; i < kJobsOfARequest; ++i) {
      const std::int64_t number = added_ + adding_ + i;
      const GroupId group = groups_[static_cast<std::size_t>(number) % groups_.size()];
      WaitingJob job = store_.make_job(noop_job(names_, number), group, clock_.wall_now());
      ids_.push_back(job.id.value);
      operations.emplace_back(AddJob{.job = std::move(job)});
    }
    adding_ += kJobsOfARequest;
    store_.batcher().post_request(
        Urgency::kBulk,
        {.client = client_, .sequence = ++sequence_, .answer = std::string(60'000, 'a')},
        std::move(operations), [](const RequestOutcome&, const Error*) {},
        [this, run](std::vector<Operation>& done, const std::vector<Outcome>&, const Error*) {
          adding_ -= kJobsOfARequest;
          added_ += kJobsOfARequest;
          for (Operation& one : done) {
            if (run) post_claim(std::move(std::get<AddJob>(one).job));
          }
        });
  }

  // False: no more are in the tables.
  Result<bool> post_page() {
    for (GroupId group : groups_) {
      ReadDue question{.group = group, .now = clock_.wall_now(), .after = after_[group]};
      question.limit = kPage;
      const auto answer = CARILLON_TRY(store_.ask(question));
      const auto& jobs = std::get<JobsAnswer>(answer).jobs;
      if (jobs.empty()) continue;
      after_[group] = hand_out_key(jobs.back());
      for (const WaitingJob& job : jobs) post_claim(job);
      return true;
    }
    return false;
  }

  void post_claim(WaitingJob job) {
    ExecutingJob row{.job = std::move(job), .session = SessionId{1}, .node = "bench-1"};
    row.claimed_at = clock_.wall_now();
    row.job.attempt += 1;
    store_.batcher().post(Urgency::kClaim, Claim{.to = std::move(row)},
                          [this](Operation& done, const Outcome&, const Error*) {
                            post_end(std::get<Claim>(done).to);
                          });
  }

  void post_end(const ExecutingJob& row) {
    const WallTime now = clock_.wall_now();
    LogEntry log{.id = store_.ids().next(now),
                 .job_id = row.job.id,
                 .group = row.job.group,
                 .task_id = row.job.task_id,
                 .attempt = row.job.attempt,
                 .trigger_time = row.job.trigger_time,
                 .started_at = row.claimed_at,
                 .ended_at = now,
                 .node = row.node,
                 .exit_code = 0};
    std::vector<Operation> operations;
    operations.emplace_back(jobtracker::End{.id = row.job.id,
                                            .attempt = row.job.attempt,
                                            .group = row.job.group,
                                            .task_id = row.job.task_id,
                                            .log = std::move(log)});
    store_.batcher().post_unit(
        Urgency::kCompletion, std::move(operations),
        [this](std::vector<Operation>&, const std::vector<Outcome>&, const Error*) { ++ended_; });
  }

  const Clock& clock_;
  DirectStore& store_;
  const std::int64_t client_;
  const std::vector<GroupId> groups_;
  const std::vector<std::string> names_;
  std::map<GroupId, std::optional<HandOutKey>> after_{};
  std::vector<std::int64_t> ids_{};
  std::int64_t sequence_ = 0;
  std::int64_t adding_ = 0;
  std::int64_t added_ = 0;
  std::int64_t ended_ = 0;
};

Status check_log(DirectStore& store, const std::vector<GroupId>& groups,
                 const std::vector<std::int64_t>& expected) {
  std::vector<End> ends;
  ListHistory question{.groups = groups, .limit = kPage};
  while (true) {
    const auto answer = CARILLON_TRY(store.ask(question));
    const auto& [entries, next] = std::get<HistoryAnswer>(answer);
    for (const LogEntry& entry : entries) {
      ends.push_back({.key = entry.job_id.value, .state = to_string(entry.state)});
    }
    const bool is_full = static_cast<std::int64_t>(entries.size()) == question.limit;
    if (!is_full && next == 0) break;
    question.before_id = is_full ? entries.back().id : next;
  }
  return check_each_succeeded_once(expected, std::move(ends),
                                   [](std::int64_t id) { return "job " + std::to_string(id); });
}

// Adds what one step took to the figures, and its size of batches.
class Step {
 public:
  explicit Step(DirectStore& store)
      : store_(store),
        time_(store.time()),
        cpu_(store.cpu()),
        commits_(store.batcher().commits()),
        operations_(store.batcher().committed_operations()) {}

  void end(Figures& figures, const std::string& name, std::int64_t jobs) const {
    const Batcher& batcher = store_.batcher();
    const auto operations = static_cast<double>(batcher.committed_operations() - operations_);
    const auto commits = static_cast<double>(batcher.commits() - commits_);
    figures.push_back({name, "jobs/s", static_cast<double>(jobs) / seconds(store_.time() - time_)});
    figures.push_back({name + ", cpu of the store's thread", "us/job",
                       1e6 * seconds(store_.cpu() - cpu_) / static_cast<double>(jobs)});
    figures.push_back({name + ", operations of a commit", "", operations / commits});
  }

 private:
  DirectStore& store_;
  const Duration time_;
  const Duration cpu_;
  const std::int64_t commits_;
  const std::int64_t operations_;
};

Result<Figures> run(Round& round) {
  const std::int64_t jobs = round.flags.number("jobs") / kJobsOfARequest * kJobsOfARequest;
  jobtracker::BatcherConfig config;
  if (round.flags.number("rows-max") > 0) {
    config.rows_max = static_cast<std::size_t>(round.flags.number("rows-max"));
    config.rows_min = std::min(config.rows_min, config.rows_max);
  }
  const auto store = CARILLON_TRY(DirectStore::open(round.store_url, round.clock, config));
  std::vector<GroupId> groups;
  for (const char* which : {"-1", "-2"}) {
    groups.push_back(CARILLON_TRY(store->make_group(round.group + which)));
  }
  Pipeline pipeline(round, *store, groups);
  Figures figures;
  Meter meter(round);
  const Step submit(*store);
  CARILLON_TRY(pipeline.go(jobs, 0));
  submit.end(figures, "submit", jobs);
  const Step drain(*store);
  CARILLON_TRY(pipeline.go(0, jobs));
  drain.end(figures, "drain", jobs);
  const Step flow(*store);
  CARILLON_TRY(pipeline.go(jobs, jobs));
  flow.end(figures, "flow", jobs);
  meter.stop();
  meter.add_to(figures, pipeline.ids().size());
  CARILLON_TRY(check_log(*store, groups, pipeline.ids()));
  return figures;
}

}  // namespace

Workload limit_workload() {
  Verb verb{
      .name = "limit",
      .summary = "What the store alone does: the yardstick",
      .description =
          "Drives the store with the statements of a job tracker and its bound on a batch, in "
          "one thread and without any other program: adds jobs, then claims and ends them, "
          "then all of it at once. Only the time in the store counts. Here all batches are "
          "full; --rows-max makes them as large as those of another run."};
  verb.options = {jobs_option("200000")};
  verb.options.front().min = kJobsOfARequest;
  verb.options.push_back({.name = "rows-max",
                          .kind = OptionKind::kNumber,
                          .placeholder = "N",
                          .help = "Operations of a commit at most; 0: a job tracker's bound.",
                          .fallback = "0",
                          .max = 8192});
  return {
      .verb = std::move(verb), .run = run, .starts_tracker = true, .ends_all = true, .warm_up = 1};
}

}  // namespace carillon::bench
