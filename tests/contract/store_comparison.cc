#include "tests/contract/store_comparison.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include <gtest/gtest.h>

#include "shared/base/random.h"

namespace carillon::jobtracker {
namespace {

constexpr WallTime kStart{std::chrono::sys_days{std::chrono::year{2026} / 11 / 21}};
constexpr int kGroups = 4;
constexpr int kTaskIds = 120;  // few, so that they are often taken
constexpr int kBatchMax = 60;
constexpr int kRowsComparedEach = 100'000;  // operations

// Draws batches. It remembers what it has seen of jobs and definitions, never what became of them,
// so that many of its wishes conflict.
class BatchSource {
 public:
  explicit BatchSource(std::uint64_t seed) : random_(seed) {}

  // But for its number.
  Batch next() {
    Batch batch{.recovered = chance(90), .now = now_};
    const auto count = below(kBatchMax) + 1;
    for (std::uint64_t i = 0; i < count; ++i) batch.operations.push_back(draw());
    add_requests(batch);
    batch.id_high = last_id_;
    now_ += Duration{static_cast<std::int64_t>(below(2'000'000))};
    return batch;
  }

  bool chance(std::uint64_t percent) { return below(100) < percent; }
  WallTime now() const { return now_; }
  // That may have output.
  const std::set<JobId>& jobs_with_output() const { return jobs_with_output_; }

 private:
  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  GroupId group() { return GroupId{static_cast<std::int32_t>(below(kGroups)) + 1}; }
  WallTime time() { return now_ + (static_cast<std::int64_t>(below(40)) - 20) * kSecond; }
  template <class T>
  T* any(std::vector<T>& seen) {
    // Mostly the younger ones: the others have long ended.
    if (seen.empty()) return nullptr;
    const auto window = std::min<std::uint64_t>(seen.size(), 150);
    return &seen[seen.size() - 1 - below(window)];
  }

  WaitingJob new_job() {
    WaitingJob job{.id = JobId{++last_id_}, .group = group(), .trigger_time = time()};
    if (chance(20)) job.not_before = time();
    job.keyed = chance(50);
    job.task_id = job.keyed ? "task " + std::to_string(below(kTaskIds))
                            : "job-" + std::to_string(job.id.value);
    job.kind = chance(50) ? ScheduleKind::kNow : ScheduleKind::kAt;
    job.priority = static_cast<int>(below(5)) * 50 - 1;
    job.failures = static_cast<std::int32_t>(below(3));
    job.spec = std::string(below(40), static_cast<char>(below(256)));
    return job;
  }

  WaitingJob new_occurrence(const Definition& definition) {
    auto job = new_job();
    job.group = definition.group;
    job.task_id = definition.task_id;
    job.keyed = false;
    job.definition = definition.id;
    job.version = definition.version;
    job.kind = definition.kind;
    job.triggered = chance(20);
    job.makes_up = job.triggered && chance(50);
    job.spec.clear();
    return job;
  }

  LogEntry new_log(const WaitingJob& job) {
    LogEntry entry{.id = ++last_id_,
                   .job_id = job.id,
                   .group = job.group,
                   .task_id = job.task_id,
                   .definition = job.definition,
                   .attempt = job.attempt,
                   .state = static_cast<LogState>(below(11)),
                   .trigger_time = job.trigger_time,
                   .ended_at = now_,
                   .node = "worker-" + std::to_string(below(3)),
                   .message = std::string(below(30), static_cast<char>(below(256))),
                   .count = static_cast<std::int64_t>(below(5))};
    if (chance(50)) entry.exit_code = static_cast<std::int32_t>(below(256)) - 128;
    if (chance(10)) {
      entry.alarms.push_back({.alarm = static_cast<std::int64_t>(below(40)) + 1,
                              .line = static_cast<std::int32_t>(below(4)),
                              .failures = static_cast<std::int64_t>(below(9)) + 1,
                              .recipient = "ops@example.com"});
    }
    return entry;
  }

  Operation add_definition() {
    Definition made{.id = DefinitionId{++last_definition_},
                    .group = group(),
                    .task_id = "task " + std::to_string(below(kTaskIds)),
                    .keyed = true,
                    .kind = chance(50) ? ScheduleKind::kCron : ScheduleKind::kEvery,
                    .created_at = now_,
                    .next_fire = time(),
                    .generated_through = now_,
                    .spec = std::string(below(40), 's')};
    definitions_.push_back(made);
    AddDefinition add{.definition = made};
    if (chance(50)) {
      add.first = new_occurrence(made);
      jobs_.push_back(*add.first);
    }
    return add;
  }

  Operation change_definition(Definition& known) {
    ChangeDefinition change{
        .id = known.id, .expected_version = known.version, .group = known.group};
    if (chance(30)) change.expected_generated_through = known.generated_through;
    if (chance(10)) ++change.expected_version;
    change.void_waiting = chance(30);
    change.uncounts_voided = change.void_waiting && chance(50);
    if (change.void_waiting && chance(70)) {
      change.voided = new_log(new_occurrence(known));
      change.voided->count = static_cast<std::int64_t>(below(2));
      change.voided->ended_at = time();
      last_id_ += 1000 * kIdStep;  // for runs that wait
    }
    if (chance(15)) return change;
    if (chance(30)) ++known.version;
    if (chance(10)) {
      known.kind =
          known.kind == ScheduleKind::kCron ? ScheduleKind::kFixedDelay : ScheduleKind::kCron;
    }
    known.state = chance(20) ? DefinitionState::kSuspended : DefinitionState::kActive;
    known.generated_through = now_ + static_cast<std::int64_t>(below(3)) * kSecond;
    known.last_fire = now_;
    ++known.fired;
    change.spec_changed = chance(20);
    change.to = known;
    if (change.spec_changed) change.to->spec = "edited " + std::to_string(below(1000));
    for (auto left = below(4); left > 0; --left) {
      change.add.push_back(new_occurrence(known));
      jobs_.push_back(change.add.back());
    }
    if (chance(20)) change.logs.push_back(new_log(new_occurrence(known)));
    return change;
  }

  Operation change_waiting(WaitingJob& known) {
    ChangeWaiting change{.from = known};
    if (chance(60)) {
      change.to = known;
      change.to->trigger_time = time();
      change.to->not_before = chance(20) ? std::optional{time()} : std::nullopt;
      change.to->priority = static_cast<int>(below(5)) * 50 - 1;
      change.to->delayed = chance(50);
      change.to->suspended = change.to->delayed && chance(50);
      known = *change.to;
    }
    if (chance(40)) change.log = new_log(known);
    return change;
  }

  Operation end(WaitingJob& known) {
    End ended{
        .id = known.id, .attempt = known.attempt, .group = known.group, .task_id = known.task_id};
    if (chance(80)) ended.log = new_log(known);
    if (chance(40)) {
      ended.again = known;
      ended.again->delayed = false;
      ended.again->suspended = false;
      ended.again->failures += 1;
      if (chance(70)) ended.again->not_before = time();
      known = *ended.again;
    } else {
      ended.frees_key = known.keyed && !known.definition;
    }
    if (chance(10)) {
      ended.relayed.push_back(
          {.id = ++last_id_, .group = group(), .task_id = "task " + std::to_string(below(9))});
      relayed_.push_back(ended.relayed.back().id);
    }
    return ended;
  }

  Operation claim(WaitingJob& known) {
    Claim taken{.to = {.job = known,
                       .session = SessionId{static_cast<std::int64_t>(below(5)) + 1},
                       .node = "worker",
                       .claimed_at = now_}};
    taken.to.job.attempt += 1;
    known.attempt += 1;
    return taken;
  }

  Operation add_output() {
    const auto job = static_cast<std::int64_t>(below(50)) + 1;
    const JobId id{last_id_ - std::min(job, last_id_ - 1)};
    jobs_with_output_.insert(id);
    return AddOutput{{.job_id = id,
                      .attempt = static_cast<std::int32_t>(below(2)) + 1,
                      .sequence = static_cast<std::int64_t>(below(3)) + 1,
                      .at = now_,
                      .bytes = std::string(below(20), static_cast<char>(below(256)))}};
  }

  Operation draw() {
    const auto kind = below(100);
    WaitingJob* known = any(jobs_);
    Definition* definition = any(definitions_);
    if (known == nullptr || kind < 30) {
      AddJob add{.job = new_job()};
      add.job.delayed = chance(20);
      add.job.suspended = add.job.delayed && chance(50);
      jobs_.push_back(add.job);
      if (!add.job.delayed && chance(20)) {
        ++jobs_.back().attempt;
        return AddExecuting{{.job = jobs_.back(), .session = SessionId{7}, .node = "worker"}};
      }
      return add;
    }
    if (kind < 50) return claim(*known);
    if (kind < 68) return end(*known);
    if (kind < 80) return change_waiting(*known);
    if (kind < 83 || definition == nullptr) return add_definition();
    if (kind < 90) return change_definition(*definition);
    if (kind < 94) return CancelExecuting{known->id, known->attempt};
    if (kind < 96) return add_output();
    if (kind < 97 && chance(50))
      return RemoveAlarm{.alarm = static_cast<std::int64_t>(below(40)) + 1};
    if (kind < 97) {
      const std::int64_t* relayed = any(relayed_);
      return RemoveInbox{.id = relayed == nullptr ? 0 : *relayed};
    }
    if (kind < 98) {
      return PutScript{.definition = definition->id,
                       .script = {.version = static_cast<std::int64_t>(below(1000)),
                                  .language = "bash",
                                  .source = "script " + std::to_string(below(5))},
                       .is_old = chance(30)};
    }
    if (kind < 99) {
      return PutNode{{.session = SessionId{static_cast<std::int64_t>(below(6)) + 1},
                      .name = "worker",
                      .group = group(),
                      .last_seen = now_,
                      .alive = chance(70)}};
    }
    if (chance(30)) {
      return CleanLog{.groups = chance(50) ? std::vector{group()} : std::vector<GroupId>{},
                      .task_id = chance(30) ? "task " + std::to_string(below(kTaskIds)) : "",
                      .before = last_id_ - static_cast<std::int64_t>(below(2000)),
                      .limit = static_cast<std::int64_t>(below(300)) + 1};
    }
    return Purge{.log_before = now_ - 300 * kSecond,
                 .clients_before = now_ - 300 * kSecond,
                 .counts_before = now_ - 30'000 * kSecond,
                 .limit = static_cast<std::int64_t>(below(30)) + 1};
  }

  // Cuts the operations into ranges, most of them requests, some of them resent.
  void add_requests(Batch& batch) {
    for (std::size_t first = 0; first < batch.operations.size();) {
      const std::size_t count =
          std::min<std::size_t>(below(6) + 1, batch.operations.size() - first);
      if (chance(50)) {
        NumberedRequest request{.client = static_cast<std::int64_t>(below(5)) + 1,
                                .answer = "answer " + std::to_string(below(1000)),
                                .first_operation = first,
                                .operation_count = count};
        auto& sequence = sequences_[request.client];
        request.sequence =
            chance(15) ? std::max<std::int64_t>(1, sequence - static_cast<std::int64_t>(below(20)))
                       : ++sequence;
        batch.requests.push_back(std::move(request));
      }
      first += count;
    }
  }

  SeededRandom random_;
  WallTime now_ = kStart;
  std::int64_t last_id_ = 0;
  std::int32_t last_definition_ = 0;
  std::vector<WaitingJob> jobs_{};
  std::vector<Definition> definitions_{};
  std::vector<std::int64_t> relayed_{};
  std::map<std::int64_t, std::int64_t> sequences_{};
  std::set<JobId> jobs_with_output_{};
};

template <class Answer>
Answer ask(Store& store, const Read& question) {
  auto answer = store.read(question);
  if (!answer.ok()) {
    ADD_FAILURE() << answer.error().message;
    return {};
  }
  return std::get<Answer>(std::move(answer).value());
}

// Whether the answers are the same; a table that differs says only which.
void compare_rows(Store& reference, Store& store, WallTime now,
                  const std::set<JobId>& jobs_with_output) {
  const auto start = ask<StartAnswer>(reference, ReadStart{});
  const auto other_start = ask<StartAnswer>(store, ReadStart{});
  EXPECT_TRUE(start.definitions == other_start.definitions) << "definitions";
  for (const Definition& definition : start.definitions) {
    const ListScripts question{.definition = definition.id};
    EXPECT_TRUE(ask<ScriptsAnswer>(reference, question).versions ==
                ask<ScriptsAnswer>(store, question).versions)
        << "scripts of " << definition.task_id;
  }
  EXPECT_TRUE(start.executing == other_start.executing) << "executing";
  EXPECT_TRUE(start.retries == other_start.retries) << "retries";
  EXPECT_TRUE(start.alarms == other_start.alarms) << "alarms";
  EXPECT_EQ(start.definition_high, other_start.definition_high);
  ASSERT_EQ(start.groups.size(), other_start.groups.size());
  for (std::size_t i = 0; i < start.groups.size(); ++i) {
    auto group = start.groups[i];
    EXPECT_EQ(group.served, other_start.groups[i].served);
    EXPECT_EQ(group.table, other_start.groups[i].table);
  }
  const auto same_jobs = [&](const Read& question, const std::string& what) {
    EXPECT_TRUE(ask<JobsAnswer>(reference, question).jobs == ask<JobsAnswer>(store, question).jobs)
        << what;
  };
  constexpr std::int64_t kAll = 1'000'000;
  for (const Group& group : start.groups) {
    same_jobs(ListWaiting{.group = group.id, .limit = kAll}, "waiting of " + group.name);
    same_jobs(ReadDue{.group = group.id, .now = now, .limit = 77}, "due of " + group.name);
    same_jobs(
        ReadUpcoming{
            .group = group.id, .after_time = now, .through = now + 10 * kSecond, .limit = 33},
        "upcoming of " + group.name);
    for (int task = 0; task < kTaskIds; ++task) {
      const Find find{.group = group.id, .task_id = "task " + std::to_string(task)};
      const auto found = ask<FindAnswer>(reference, find);
      const auto other = ask<FindAnswer>(store, find);
      EXPECT_TRUE(found.definition == other.definition && found.waiting == other.waiting &&
                  found.executing == other.executing)
          << find.task_id;
    }
  }
  same_jobs(ListWaiting{.delayed = true, .limit = kAll}, "delayed");
  same_jobs(ReadDelayed{.through = now, .limit = kAll}, "delayed and due");
  EXPECT_TRUE(ask<InboxAnswer>(reference, ReadInbox{.limit = kAll}).rows ==
              ask<InboxAnswer>(store, ReadInbox{.limit = kAll}).rows)
      << "inbox";
  EXPECT_TRUE(ask<HistoryAnswer>(reference, ListHistory{.limit = kAll}).entries ==
              ask<HistoryAnswer>(store, ListHistory{.limit = kAll}).entries)
      << "log";
  const CountLog counted{.from = now - std::chrono::hours{24},
                         .until = now + std::chrono::hours{24}};
  EXPECT_TRUE(ask<LogCountAnswer>(reference, counted).counts ==
              ask<LogCountAnswer>(store, counted).counts)
      << "counts";
  EXPECT_TRUE(ask<NodesAnswer>(reference, ListNodes{}).nodes ==
              ask<NodesAnswer>(store, ListNodes{}).nodes)
      << "nodes";
  for (const JobId job : jobs_with_output) {
    const ListOutput list{.job_id = job, .limit = kAll};
    ASSERT_TRUE(ask<OutputAnswer>(reference, list).rows == ask<OutputAnswer>(store, list).rows)
        << "output of " << job.value;
  }
}

bool same_requests(const Committed& a, const Committed& b) {
  return std::equal(a.requests.begin(), a.requests.end(), b.requests.begin(), b.requests.end(),
                    [](const RequestOutcome& x, const RequestOutcome& y) {
                      return x.answered_before == y.answered_before && x.answer == y.answer &&
                             x.outcomes == y.outcomes;
                    });
}

// The stores of two databases, to which the same is done.
class Twins {
 public:
  Twins(StoreTestDatabase& reference, StoreTestDatabase& database)
      : reference_(reference), database_(database) {}

  // What ran before is dead, and its number is forgotten.
  void open_session() {
    store_.reset();
    reference_store_.reset();
    ++session_.session.value;
    number_ = 0;
    auto reference = reference_.open(session_, clock_);
    auto store = database_.open(session_, clock_);
    ASSERT_TRUE(reference.ok()) << reference.error().message;
    ASSERT_TRUE(store.ok()) << store.error().message;
    reference_store_ = std::move(reference).value();
    store_ = std::move(store).value();
    const auto start = ask<StartAnswer>(*reference_store_, ReadStart{});
    const auto other_start = ask<StartAnswer>(*store_, ReadStart{});
    EXPECT_EQ(start.id_high, other_start.id_high);
    EXPECT_EQ(start.last_alive, other_start.last_alive);
  }

  // What was committed; none: nothing was.
  std::optional<Committed> commit(Batch batch) {
    batch.number = number_ + 1;
    const auto result = reference_store_->commit(batch);
    const auto other = store_->commit(batch);
    EXPECT_EQ(result.index(), other.index()) << "batch " << batch.number;
    if (result.index() != other.index()) return std::nullopt;
    if (const auto* back = std::get_if<RolledBack>(&result)) {
      // A job that came back while it was somewhere else: the reference sees it in every table.
      ADD_FAILURE() << "refused: " << back->error.message;
      return std::nullopt;
    }
    const auto* unknown = std::get_if<Unknown>(&result);
    const Committed& committed =
        unknown != nullptr ? unknown->if_committed : std::get<Committed>(result);
    const Committed& other_committed =
        unknown != nullptr ? std::get<Unknown>(other).if_committed : std::get<Committed>(other);
    EXPECT_EQ(committed.outcomes, other_committed.outcomes) << "batch " << batch.number;
    EXPECT_TRUE(same_requests(committed, other_committed)) << "batch " << batch.number;
    if (unknown != nullptr && !settle(batch.number)) return std::nullopt;
    ++number_;
    return committed;
  }

  void cut_next_commit(bool committed) {
    reference_.cut_next_commit(committed);
    database_.cut_next_commit(committed);
  }

  Store& reference() { return *reference_store_; }
  Store& store() { return *store_; }

 private:
  bool settle(std::int64_t number) {
    const auto settled = reference_store_->settle(number);
    const auto other = store_->settle(number);
    EXPECT_TRUE(settled.ok() && other.ok());
    if (!settled.ok() || !other.ok()) return false;
    EXPECT_EQ(settled.value(), other.value()) << "batch " << number;
    return settled.value();
  }

  StoreTestDatabase& reference_;
  StoreTestDatabase& database_;
  const ManualClock clock_{};
  StoreSession session_{};
  std::int64_t number_ = 0;
  std::unique_ptr<Store> reference_store_{};
  std::unique_ptr<Store> store_{};
};

}  // namespace

void compare_stores(StoreTestDatabase& reference, StoreTestDatabase& database, std::uint64_t seed,
                    int operations) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Twins twins{reference, database};
  twins.open_session();
  for (const char* name : {"one", "two", "Two.2", "two-2"}) {
    ask<GroupAnswer>(twins.reference(), MakeGroup{name});
    ask<GroupAnswer>(twins.store(), MakeGroup{name});
  }
  BatchSource source{seed};
  std::map<OutcomeKind, int> kinds;
  const auto compare = [&] {
    compare_rows(twins.reference(), twins.store(), source.now(), source.jobs_with_output());
  };
  int compared_at = 0;
  for (int done = 0; done < operations && !::testing::Test::HasFailure();) {
    if (source.chance(1)) twins.open_session();
    if (source.chance(3)) twins.cut_next_commit(source.chance(50));
    const auto committed = twins.commit(source.next());
    if (!committed) continue;
    for (const Outcome& outcome : committed->outcomes) ++kinds[outcome.kind];
    done += static_cast<int>(committed->outcomes.size());
    if (done - compared_at < kRowsComparedEach) continue;
    compare();
    compared_at = done;
  }
  compare();
  // A comparison in which nothing ever happened would prove nothing.
  for (const auto kind :
       {OutcomeKind::kDone, OutcomeKind::kConflict, OutcomeKind::kTaken, OutcomeKind::kAnswered}) {
    EXPECT_GT(kinds[kind], operations / 100) << static_cast<int>(kind);
  }
}

int operations_to_compare(int otherwise) {
  const char* text =
      std::getenv("CARILLON_COMPARED_OPERATIONS");  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace carillon::jobtracker
