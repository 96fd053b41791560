#include "tests/contract/store_comparison.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <typeinfo>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "jobtracker/store/names.h"
#include "tests/contract/batch_source.h"

namespace carillon::jobtracker {
namespace {

constexpr int kRowsComparedEach = 100'000;  // operations
constexpr std::int64_t kAll = 1'000'000;

// How often each alternative of a variant was seen.
template <class Variant>
class Tally {
 public:
  void add(const Variant& one) { ++counts_[one.index()]; }
  // So that none is forgotten when another comes to the variant.
  void expect_all(const char* what) const { expect_each(what, kIndices); }

 private:
  static constexpr auto kIndices = std::make_index_sequence<std::variant_size_v<Variant>>{};
  template <std::size_t... kIndex>
  void expect_each(const char* what, std::index_sequence<kIndex...>) const {
    const auto expect = [&](int count, const char* name) {
      EXPECT_GT(count, 0) << name << " was never " << what;
    };
    (expect(counts_[kIndex], typeid(std::variant_alternative_t<kIndex, Variant>).name()), ...);
  }

  std::array<int, std::variant_size_v<Variant>> counts_{};
};

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
    const auto [start, other] = ask<StartAnswer>(ReadStart{});
    EXPECT_EQ(start.id_high, other.id_high);
    EXPECT_EQ(start.last_alive, other.last_alive);
    EXPECT_EQ(start.last_alive_of, other.last_alive_of);
    EXPECT_EQ(start.epochs, other.epochs);
    EXPECT_EQ(start.owned, other.owned);
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
    for (std::size_t i = 0; i < batch.operations.size(); ++i) {
      if (committed.outcomes[i].kind == OutcomeKind::kDone) done_.add(batch.operations[i]);
    }
    return committed;
  }

  // Both must refuse it, and go on with the same number.
  void refuse(Batch batch) {
    batch.number = number_ + 1;
    for (Store* store : {reference_store_.get(), store_.get()}) {
      const auto result = store->commit(batch);
      const auto* back = std::get_if<RolledBack>(&result);
      ASSERT_NE(back, nullptr) << "batch " << batch.number;
      EXPECT_EQ(back->error.code, ErrorCode::kInvalidArgument) << back->error.message;
      EXPECT_FALSE(back->fenced);
    }
  }

  void cut_next_commit(bool committed) {
    reference_.cut_next_commit(committed);
    database_.cut_next_commit(committed);
  }

  // What both say to that, the reference first.
  std::pair<Result<ReadAnswer>, Result<ReadAnswer>> read(const Read& question) {
    asked_.add(question);
    return {reference_store_->read(question), store_->read(question)};
  }
  template <class Answer>
  std::pair<Answer, Answer> ask(const Read& question) {
    auto [answer, other] = read(question);
    if (!answer.ok() || !other.ok()) {
      ADD_FAILURE() << (answer.ok() ? other : answer).error().message;
      return {};
    }
    return {std::get<Answer>(std::move(answer).value()),
            std::get<Answer>(std::move(other).value())};
  }
  // The rows of both answers must be the same; if not, only `what` is said.
  template <class Answer, class... Rows>
  void compare(const Read& question, const std::string& what, Rows Answer::*... rows) {
    const auto [answer, other] = ask<Answer>(question);
    EXPECT_TRUE(((answer.*rows == other.*rows) && ...)) << what;
  }

  const Tally<Operation>& done() const { return done_; }
  const Tally<Read>& asked() const { return asked_; }

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
  Tally<Operation> done_{};
  Tally<Read> asked_{};
};

// What a new job tracker reads.
StartAnswer compare_start(Twins& twins) {
  auto [start, other] = twins.ask<StartAnswer>(ReadStart{});
  EXPECT_TRUE(start.groups == other.groups) << "groups";
  EXPECT_TRUE(start.definitions == other.definitions) << "definitions";
  EXPECT_TRUE(start.executing == other.executing) << "executing";
  EXPECT_TRUE(start.retries == other.retries) << "retries";
  EXPECT_EQ(start.feedback, other.feedback);
  EXPECT_EQ(start.definition_high, other.definition_high);
  EXPECT_TRUE(start.executor_groups == other.executor_groups) << "executor groups";
  EXPECT_TRUE(start.executors == other.executors) << "executors";
  EXPECT_TRUE(start.push_runs == other.push_runs) << "push runs";
  EXPECT_TRUE(start.routes == other.routes) << "routes";
  EXPECT_TRUE(start.alarms == other.alarms) << "alarms";
  return start;
}

void compare_waiting(Twins& twins, const std::vector<Group>& groups, WallTime now) {
  constexpr auto kJobs = &JobsAnswer::jobs;
  for (const Group& group : groups) {
    const ListWaiting list{.group = group.id, .limit = kAll};
    twins.compare(list, "waiting of " + group.name, kJobs);
    const auto all = twins.ask<JobsAnswer>(list).first.jobs;
    std::optional<HandOutKey> middle;
    if (!all.empty()) middle = hand_out_key(all[all.size() / 2]);
    twins.compare(ListWaiting{.group = group.id, .after = middle, .limit = 20},
                  "page of " + group.name, kJobs);
    twins.compare(ReadDue{.group = group.id, .now = now, .limit = 77}, "due of " + group.name,
                  kJobs);
    twins.compare(ReadDue{.group = group.id, .now = now, .after = middle, .limit = 20},
                  "further due of " + group.name, kJobs);
    twins.compare(
        ReadUpcoming{
            .group = group.id, .after_time = now, .through = now + 10 * kSecond, .limit = 33},
        "upcoming of " + group.name, kJobs);
    twins.compare(ListWaiting{.group = group.id, .delayed = true, .limit = kAll},
                  "delayed of " + group.name, kJobs);
  }
  twins.compare(ListWaiting{.delayed = true, .limit = kAll}, "delayed", kJobs);
  twins.compare(ReadDelayed{.through = now, .limit = kAll}, "delayed and due", kJobs);
  const auto [counted, other] = twins.ask<CountAnswer>(CountWaiting{.now = now});
  EXPECT_TRUE(std::equal(counted.groups.begin(), counted.groups.end(), other.groups.begin(),
                         other.groups.end(),
                         [](const auto& a, const auto& b) {
                           return a.group == b.group && a.waiting == b.waiting && a.due == b.due;
                         }))
      << "how many wait";
}

// Who holds which name, and what belongs to it.
void compare_holders(Twins& twins, const StartAnswer& start, const BatchSource& source) {
  const auto find = [&](const Find& question) {
    twins.compare(question,
                  "who is " + question.task_id + " or " + std::to_string(question.job_id.value),
                  &FindAnswer::definition, &FindAnswer::waiting, &FindAnswer::executing);
  };
  for (int task = 0; task < kDrawnTaskIds; ++task) {
    for (int spelling = 0; spelling < kSpellings; ++spelling) {
      const std::string task_id = drawn_task_id(task, spelling);
      find({.task_id = task_id});
      for (const Group& group : start.groups) find({.group = group.id, .task_id = task_id});
    }
  }
  for (const WaitingJob& job : source.youngest_jobs(200)) {
    find({.job_id = job.id});
    find({.group = job.group, .task_id = made_task_id(job.id)});
  }
  for (const Definition& one : start.definitions) {
    twins.compare(ReadDefinition{.group = one.group, .task_id = one.task_id},
                  "definition of " + one.task_id, &DefinitionAnswer::definition);
    for (const std::int64_t limit : {std::int64_t{2}, kAll}) {
      twins.compare(ReadOccurrences{.definition = one.id, .group = one.group, .limit = limit},
                    "runs of " + one.task_id, &JobsAnswer::jobs);
    }
  }
  for (const DefinitionId id : source.definitions_with_scripts()) {
    twins.compare(ListScripts{id}, "scripts of definition " + std::to_string(id.value),
                  &ScriptsAnswer::versions);
  }
}

void compare_log(Twins& twins, const std::vector<Group>& groups, const BatchSource& source) {
  constexpr auto kEntries = &HistoryAnswer::entries;
  const WallTime now = source.now();
  const auto all = twins.ask<HistoryAnswer>(ListHistory{.limit = kAll}).first.entries;
  EXPECT_GT(all.size(), kDrawnTaskIds) << "rows of the log";
  twins.compare(ListHistory{.limit = kAll}, "log", kEntries);
  twins.compare(ListHistory{.since = now - 60 * kSecond, .limit = kAll}, "youngest log", kEntries);
  for (int task = 0; task < kDrawnTaskIds; ++task) {
    const std::string task_id = drawn_task_id(task, 0);
    twins.compare(ListHistory{.task_id = task_id, .limit = 5}, "newest log of " + task_id,
                  kEntries);
  }
  twins.compare(ListHistory{.task_id = "task 7", .limit = kAll}, "log of task 7", kEntries);
  if (!all.empty()) {
    const LogEntry& one = all[all.size() / 2];
    twins.compare(ListHistory{.before_id = one.id, .limit = 50}, "page of the log", kEntries);
    twins.compare(ListHistory{.job_id = one.job_id, .limit = kAll}, "log of a job", kEntries);
  }
  const auto count = [&](std::vector<GroupId> some, const std::string& what) {
    twins.compare(CountLog{.from = now - std::chrono::hours{24},
                           .until = now + std::chrono::hours{24},
                           .groups = std::move(some)},
                  "counts" + what, &LogCountAnswer::counts);
  };
  count({}, "");
  for (const Group& group : groups) {
    count({group.id}, " of " + group.name);
    twins.compare(ListHistory{.groups = {group.id, groups.front().id}, .limit = 500},
                  "log of " + group.name, kEntries);
    twins.compare(ListExecuting{.groups = {group.id}, .limit = kAll}, "executing of " + group.name,
                  &ExecutingAnswer::jobs);
  }
  twins.compare(ListExecuting{.after = source.youngest_jobs(100).front().id, .limit = 30},
                "page of what executes", &ExecutingAnswer::jobs);
  for (const JobId job : source.jobs_with_output()) {
    twins.compare(ListOutput{.job_id = job, .limit = kAll},
                  "output of " + std::to_string(job.value), &OutputAnswer::rows);
  }
}

void compare_rows(Twins& twins, const BatchSource& source) {
  const StartAnswer start = compare_start(twins);
  compare_waiting(twins, start.groups, source.now());
  compare_holders(twins, start, source);
  compare_log(twins, start.groups, source);
  for (const char* name : kDrawnClientGroups) {
    twins.compare(ReadFeedback{.client_group = name, .limit = kAll},
                  std::string{"feedback for "} + name, &FeedbackAnswer::entries);
  }
  twins.compare(ReadInbox{.limit = kAll}, "inbox", &InboxAnswer::rows);
  twins.compare(ReadExecutors{}, "executors", &ExecutorsAnswer::groups,
                &ExecutorsAnswer::executors);
  twins.compare(ReadExecutorResults{.limit = kAll}, "executors' results",
                &ExecutorResultsAnswer::rows);
  twins.compare(CountFeedback{}, "how much feedback waits", &FeedbackCounts::rows);
  twins.compare(ListNodes{}, "nodes", &NodesAnswer::nodes);
  // Each has a clock of its own.
  (void)twins.ask<ClockAnswer>(ReadClock{});
}

// Both do it, or both say why not; who works on then has begun after it.
void split_group(Twins& twins, BatchSource& source) {
  const GroupSplit split = source.next_split();
  const auto groups = twins.ask<StartAnswer>(ReadStart{}).first.groups;
  const auto [answer, other] = twins.read(SplitGroup{split});
  ASSERT_EQ(answer.ok(), other.ok());
  if (!answer.ok()) {
    EXPECT_EQ(answer.error().code, other.error().code);
    EXPECT_EQ(answer.error().message, other.error().message);
    return;
  }
  const auto plan = plan_split(groups, split, all_partitions(), WallTime{});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  source.note_split(plan.value());
  twins.open_session();
}

}  // namespace

void compare_stores(StoreTestDatabase& reference, StoreTestDatabase& database, std::uint64_t seed,
                    int operations) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Twins twins{reference, database};
  twins.open_session();
  std::vector<Group> groups;
  for (const char* name : {"one", "two", "Two.2", "two-2"}) {
    groups.push_back(twins.ask<GroupAnswer>(MakeGroup{name}).first.group);
  }
  BatchSource source{seed, groups};
  std::map<OutcomeKind, int> kinds;
  int compared_at = 0;
  for (int done = 0; done < operations && !::testing::Test::HasFailure();) {
    if (source.chance(1)) twins.open_session();
    if (source.chance(1)) split_group(twins, source);
    if (source.chance(2)) twins.refuse(source.next_invalid());
    if (source.chance(3)) twins.cut_next_commit(source.chance(50));
    const auto committed = twins.commit(source.next());
    if (!committed) continue;
    for (const Outcome& outcome : committed->outcomes) ++kinds[outcome.kind];
    done += static_cast<int>(committed->outcomes.size());
    if (done - compared_at < kRowsComparedEach) continue;
    compare_rows(twins, source);
    compared_at = done;
  }
  compare_rows(twins, source);
  // A comparison in which nothing ever happened would prove nothing.
  for (const auto kind :
       {OutcomeKind::kDone, OutcomeKind::kConflict, OutcomeKind::kTaken, OutcomeKind::kAnswered}) {
    EXPECT_GT(kinds[kind], operations / 100) << static_cast<int>(kind);
  }
  twins.done().expect_all("done");
  twins.asked().expect_all("asked");
}

int operations_to_compare(int otherwise) {
  const char* text =
      std::getenv("CARILLON_COMPARED_OPERATIONS");  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace carillon::jobtracker
