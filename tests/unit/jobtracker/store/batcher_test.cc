#include "jobtracker/store/batcher.h"

#include <algorithm>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::internal::CaptureStderr;
using ::testing::internal::GetCapturedStderr;

// A connection that only keeps what it is given; the test says how it ends.
class KeepingLane final : public StoreConnection {
 public:
  void commit(Batch batch) override { batches.push_back(std::move(batch)); }
  void read(std::uint64_t token, Read) override { reads.push_back(token); }

  std::vector<Batch> batches;
  std::vector<std::uint64_t> reads;
};

struct BatcherBundle {
  explicit BatcherBundle(BatcherConfig config = {}) : batcher(config, connection, clock, log) {
    set_log_level(LogLevel::kOff);
  }

  static Operation some_row(std::int64_t id) { return AddOutput{.row = {.sequence = id}}; }

  void post(Urgency urgency, std::int64_t id) {
    batcher.post(urgency, some_row(id),
                 [this, id](Operation&, const Outcome& outcome, const Error* refused) {
                   if (refused != nullptr) {
                     refusals.push_back(id);
                   } else if (outcome.kind == OutcomeKind::kDone) {
                     done.push_back(id);
                   }
                 });
  }
  void post_unit(Urgency urgency, std::vector<std::int64_t> ids) {
    std::vector<Operation> operations;
    for (const std::int64_t id : ids) operations.push_back(some_row(id));
    batcher.post_unit(urgency, std::move(operations),
                      [this, ids](std::vector<Operation>& operations_done,
                                  const std::vector<Outcome>&, const Error* refused) {
                        EXPECT_EQ(operations_done.size(), ids.size());
                        auto& to = refused != nullptr ? refusals : done;
                        to.insert(to.end(), ids.begin(), ids.end());
                      });
  }
  void post_request(std::int64_t sequence, std::vector<std::int64_t> ids) {
    std::vector<Operation> operations;
    for (const std::int64_t id : ids) operations.push_back(some_row(id));
    batcher.post_request(
        Urgency::kRequest, {.client = 1, .sequence = sequence, .answer = "first"},
        std::move(operations),
        [this](const RequestOutcome& outcome, const Error* refused) {
          answers.push_back(refused != nullptr        ? "refused: " + refused->message
                            : outcome.answered_before ? outcome.answer
                                                      : "new");
        },
        [this, ids](std::vector<Operation>&, const std::vector<Outcome>&, const Error* refused) {
          auto& to = refused != nullptr ? refusals : done;
          to.insert(to.end(), ids.begin(), ids.end());
        });
  }
  BatchHead head() const { return {.now = clock.wall_now(), .id_high = 1, .recovered = true}; }
  void flush() { batcher.flush(head()); }
  // The ids of the rows of a batch.
  static std::vector<std::int64_t> ids(const Batch& batch) {
    std::vector<std::int64_t> all;
    for (const Operation& one : batch.operations) {
      all.push_back(std::get<AddOutput>(one).row.sequence);
    }
    return all;
  }
  Batch take() {
    EXPECT_THAT(connection.batches, SizeIs(1));
    Batch batch = std::move(connection.batches.front());
    connection.batches.clear();
    return batch;
  }
  bool commit(Batch batch, bool answered_before = false) {
    Committed committed{.rows_took = rows_took};
    committed.outcomes.resize(batch.operations.size());
    for (std::size_t i = 0; i < batch.requests.size(); ++i) {
      committed.requests.push_back({.answered_before = answered_before, .answer = "first"});
    }
    return batcher.on_batch_done({std::move(batch), std::move(committed)}, head());
  }
  bool roll_back(Batch batch, RolledBack why) {
    return batcher.on_batch_done({std::move(batch), std::move(why)}, head());
  }

  ManualClock clock;
  KeepingLane connection;
  Logger log{"test"};
  Batcher batcher;
  Duration rows_took{};
  std::vector<std::int64_t> done;
  std::vector<std::int64_t> refusals;
  std::vector<std::string> answers;
};

const Error kBad{ErrorCode::kInvalidArgument, "a value that no table takes"};
const Error kFull{ErrorCode::kLimit, "the disk is full"};

TEST(Batcher, GathersDuringACommitAndSendsOneTransaction) {
  BatcherBundle bundle;
  bundle.post(Urgency::kRequest, 1);
  bundle.flush();
  const Batch first = bundle.take();
  bundle.post(Urgency::kRequest, 2);
  bundle.post(Urgency::kRequest, 3);
  bundle.flush();
  EXPECT_THAT(bundle.connection.batches, IsEmpty()) << "one batch is under way at a time";
  EXPECT_TRUE(bundle.commit(first));
  bundle.flush();
  const Batch second = bundle.take();
  EXPECT_EQ(first.number + 1, second.number);
  EXPECT_THAT(BatcherBundle::ids(second), ElementsAre(2, 3));
  EXPECT_THAT(bundle.done, ElementsAre(1));
  EXPECT_EQ(bundle.batcher.pending_rows(), 2U);
}

TEST(Batcher, ReportsWhenTheLastCommitWasSent) {
  BatcherBundle bundle;
  bundle.clock.advance(milliseconds{10});
  const SteadyTime sent_at = bundle.clock.steady_now();
  bundle.post(Urgency::kRequest, 1);
  bundle.flush();
  bundle.clock.advance(milliseconds{10});
  EXPECT_LT(bundle.batcher.committed_at(), sent_at) << "it may still fail";
  EXPECT_TRUE(bundle.roll_back(bundle.take(), {.error = kBad}));
  EXPECT_LT(bundle.batcher.committed_at(), sent_at);
  bundle.post(Urgency::kRequest, 2);
  bundle.flush();
  const SteadyTime sent_again_at = bundle.clock.steady_now();
  bundle.clock.advance(milliseconds{10});
  EXPECT_TRUE(bundle.commit(bundle.take()));
  EXPECT_EQ(bundle.batcher.committed_at(), sent_again_at);
}

TEST(Batcher, SendsGatheredOperationsBeforeReportingOutcomes) {
  BatcherBundle bundle;
  std::size_t under_way = 0;
  bundle.batcher.post(Urgency::kRequest, BatcherBundle::some_row(1),
                      [&](Operation&, const Outcome&, const Error*) {
                        under_way = bundle.connection.batches.size();
                      });
  bundle.flush();
  const Batch first = bundle.take();
  bundle.post(Urgency::kRequest, 2);
  bundle.commit(first);
  EXPECT_EQ(under_way, 1U) << "the lane works while outcomes are told";
  EXPECT_THAT(BatcherBundle::ids(bundle.take()), ElementsAre(2));
}

TEST(Batcher, SendsNothingAfterTheLastBatch) {
  BatcherBundle bundle;
  bundle.post(Urgency::kRequest, 1);
  bundle.flush();
  bundle.commit(bundle.take());
  EXPECT_THAT(bundle.connection.batches, IsEmpty());
  EXPECT_TRUE(bundle.batcher.is_idle());
}

TEST(Batcher, FillsByUrgencyAndDefersTheRest) {
  BatcherBundle bundle({.rows_min = 1, .rows_max = 3});
  bundle.post(Urgency::kHousekeeping, 50);
  bundle.post(Urgency::kBulk, 40);
  bundle.post(Urgency::kRequest, 30);
  bundle.post(Urgency::kClaim, 20);
  bundle.post(Urgency::kCompletion, 10);
  bundle.flush();
  Batch batch = bundle.take();
  EXPECT_THAT(BatcherBundle::ids(batch), ElementsAre(20, 10, 30));
  bundle.commit(std::move(batch));
  bundle.flush();
  EXPECT_THAT(BatcherBundle::ids(bundle.take()), ElementsAre(40, 50));
}

TEST(Batcher, PutsLongWaitingCompletionsBeforeClaims) {
  BatcherBundle bundle({.completion_wait = milliseconds{500}, .rows_min = 1, .rows_max = 8});
  bundle.post(Urgency::kCompletion, 10);
  bundle.clock.advance(milliseconds{499});
  for (const std::int64_t id : {20, 21, 22, 23, 24, 25, 26, 27, 28}) {
    bundle.post(Urgency::kClaim, id);
  }
  bundle.flush();
  Batch first = bundle.take();
  EXPECT_EQ(BatcherBundle::ids(first).front(), 20);
  EXPECT_EQ(BatcherBundle::ids(first).back(), 10) << "an eighth is theirs all the same";
  bundle.post(Urgency::kCompletion, 11);
  bundle.clock.advance(milliseconds{500});
  bundle.commit(std::move(first));
  EXPECT_EQ(BatcherBundle::ids(bundle.take()).front(), 11);
}

TEST(Batcher, ReservesAShareForLessUrgentOperations) {
  BatcherBundle bundle({.rows_min = 1, .rows_max = 16});
  for (std::int64_t id = 100; id < 140; ++id) bundle.post(Urgency::kRequest, id);
  bundle.post(Urgency::kBulk, 1);
  bundle.post(Urgency::kHousekeeping, 2);
  bundle.flush();
  const auto ids = BatcherBundle::ids(bundle.take());
  EXPECT_THAT(ids, SizeIs(16));
  EXPECT_THAT(ids, IsSupersetOf({1, 2}));
}

TEST(Batcher, CountsEachFireOfADefinitionAsARow) {
  BatcherBundle bundle({.rows_min = 1, .rows_max = 100});
  for (int i = 0; i < 3; ++i) {
    ChangeDefinition generation;
    generation.add.resize(49);
    bundle.batcher.post(Urgency::kBulk, std::move(generation),
                        [](Operation&, const Outcome&, const Error*) {});
  }
  EXPECT_EQ(bundle.batcher.pending_rows(), 150U);
  bundle.post(Urgency::kClaim, 7);
  bundle.flush();
  const Batch batch = bundle.take();
  ASSERT_THAT(batch.operations, SizeIs(2)) << "the claim, and one stretch of fifty";
  EXPECT_TRUE(std::holds_alternative<AddOutput>(batch.operations.front()));
}

TEST(Batcher, KeepsAUnitTogether) {
  BatcherBundle bundle({.rows_min = 1, .rows_max = 3});
  bundle.post_unit(Urgency::kRequest, {1, 2});
  bundle.post_unit(Urgency::kRequest, {3, 4});
  bundle.post_unit(Urgency::kRequest, {5, 6, 7, 8, 9});
  bundle.flush();
  Batch batch = bundle.take();
  EXPECT_THAT(BatcherBundle::ids(batch), ElementsAre(1, 2));
  bundle.commit(std::move(batch));
  bundle.flush();
  batch = bundle.take();
  EXPECT_THAT(BatcherBundle::ids(batch), ElementsAre(3, 4));
  bundle.commit(std::move(batch));
  bundle.flush();
  EXPECT_THAT(BatcherBundle::ids(bundle.take()), ElementsAre(5, 6, 7, 8, 9))
      << "one that is larger than the limit goes alone";
}

TEST(Batcher, RefusesOnlyTheNamedCulpritAndRepeatsTheOthers) {
  BatcherBundle bundle;
  for (const std::int64_t id : {1, 2, 3}) bundle.post(Urgency::kRequest, id);
  bundle.flush();
  Batch batch = bundle.take();
  const std::int64_t number = batch.number;
  EXPECT_TRUE(bundle.roll_back(std::move(batch), {.error = kBad, .culprit = 1}));
  EXPECT_THAT(bundle.refusals, ElementsAre(2));
  bundle.flush();
  batch = bundle.take();
  EXPECT_EQ(batch.number, number) << "nothing was committed with that number";
  EXPECT_THAT(BatcherBundle::ids(batch), ElementsAre(1, 3));
  bundle.commit(std::move(batch));
  EXPECT_THAT(bundle.done, ElementsAre(1, 3));
  EXPECT_EQ(bundle.batcher.pending_rows(), 0U);
}

TEST(Batcher, RefusesTheWholeUnitOfACulprit) {
  BatcherBundle bundle;
  bundle.post(Urgency::kRequest, 1);
  bundle.post_request(1, {2, 3});
  bundle.flush();
  bundle.roll_back(bundle.take(), {.error = kBad, .culprit = 2});
  EXPECT_THAT(bundle.refusals, ElementsAre(2, 3));
  EXPECT_THAT(bundle.answers, ElementsAre("refused: a value that no table takes"));
}

TEST(Batcher, HalvesABatchUntilTheCulpritIsIsolated) {
  BatcherBundle bundle;
  for (std::int64_t id = 1; id <= 40; ++id) bundle.post(Urgency::kRequest, id);
  bundle.post_request(1, {});
  bundle.flush();
  int commits = 0;
  while (!bundle.connection.batches.empty()) {
    ASSERT_LT(++commits, 100);
    Batch batch = bundle.take();
    const auto ids = BatcherBundle::ids(batch);
    if (std::find(ids.begin(), ids.end(), 23) != ids.end()) {
      bundle.roll_back(std::move(batch), {.error = kBad});
    } else {
      bundle.commit(std::move(batch));
    }
    bundle.flush();
  }
  EXPECT_THAT(bundle.refusals, ElementsAre(23));
  EXPECT_THAT(bundle.done, SizeIs(39));
  EXPECT_THAT(bundle.answers, ElementsAre("new"));
}

TEST(Batcher, HalvesABatchOfTwoRequestsWithoutOperations) {
  BatcherBundle bundle;
  bundle.post_request(1, {});
  bundle.post_request(2, {});
  bundle.flush();
  bundle.roll_back(bundle.take(), {.error = kBad});
  bundle.flush();
  EXPECT_THAT(bundle.take().requests, SizeIs(1));
}

TEST(Batcher, FullDiskRefusesRequestsAndKeepsOtherOperations) {
  BatcherBundle bundle;
  bundle.post(Urgency::kCompletion, 1);
  bundle.post_request(1, {2});
  bundle.flush();
  bundle.roll_back(bundle.take(), {.error = kFull});
  EXPECT_THAT(bundle.answers, ElementsAre("refused: the disk is full"));
  bundle.flush();
  EXPECT_THAT(bundle.connection.batches, IsEmpty()) << "not at once again";
  bundle.clock.advance(milliseconds{1100});
  bundle.flush();
  EXPECT_THAT(BatcherBundle::ids(bundle.take()), ElementsAre(1));
}

TEST(Batcher, ReportsADiskAsFullUntilTheNextSuccessfulWrite) {
  BatcherBundle bundle;
  EXPECT_FALSE(bundle.batcher.lacks_room());
  bundle.post(Urgency::kCompletion, 1);
  bundle.flush();
  bundle.roll_back(bundle.take(), {.error = kFull});
  EXPECT_TRUE(bundle.batcher.lacks_room()) << "though nobody was refused";
  bundle.clock.advance(milliseconds{1100});
  bundle.flush();
  bundle.roll_back(bundle.take(), {.error = kFull});
  EXPECT_TRUE(bundle.batcher.lacks_room());
  bundle.clock.advance(milliseconds{1100});
  bundle.flush();
  bundle.commit(bundle.take());
  EXPECT_FALSE(bundle.batcher.lacks_room());
  EXPECT_THAT(bundle.done, ElementsAre(1));
}

TEST(Batcher, LogsAFullDiskEachMinuteAndItsRecovery) {
  BatcherBundle bundle;
  set_log_level(LogLevel::kInfo);
  const auto written_by = [](const auto& say) {
    CaptureStderr();
    say();
    return GetCapturedStderr();
  };
  bundle.post(Urgency::kCompletion, 1);
  std::vector<int> said;
  for (int second = 0; second <= 150; ++second) {
    bundle.flush();
    const std::string text = written_by([&] { bundle.roll_back(bundle.take(), {.error = kFull}); });
    if (!text.empty()) {
      said.push_back(second);
      EXPECT_THAT(text, AllOf(HasSubstr(" error "), HasSubstr("the store is full"),
                              HasSubstr("the disk is full"), HasSubstr("pending=1")));
    }
    bundle.clock.advance(std::chrono::seconds{1});
  }
  EXPECT_THAT(said, ElementsAre(0, 60, 120));
  bundle.flush();
  EXPECT_THAT(written_by([&] { bundle.commit(bundle.take()); }), HasSubstr("has space again"));
  bundle.post(Urgency::kCompletion, 2);
  bundle.flush();
  EXPECT_THAT(written_by([&] { bundle.roll_back(bundle.take(), {.error = kFull}); }),
              HasSubstr("the store is full"))
      << "a second time, be it soon";
  set_log_level(LogLevel::kOff);
}

TEST(Batcher, HeartbeatCommitDoesNotClearTheDiskFullState) {
  BatcherBundle bundle;
  bundle.post_request(1, {2});
  bundle.flush();
  bundle.roll_back(bundle.take(), {.error = kFull});
  bundle.clock.advance(milliseconds{1100});
  bundle.batcher.heartbeat();
  bundle.flush();
  bundle.commit(bundle.take());
  EXPECT_TRUE(bundle.batcher.lacks_room());
}

TEST(Batcher, ReportsAStalledCommitOnce) {
  BatcherBundle bundle;
  for (int look = 0; look < 9; ++look) bundle.batcher.watch_commit();
  EXPECT_FALSE(bundle.batcher.is_stalled()) << "none is";
  bundle.post(Urgency::kClaim, 1);
  bundle.flush();
  set_log_level(LogLevel::kInfo);
  CaptureStderr();
  for (int look = 0; look < 3; ++look) bundle.batcher.watch_commit();
  EXPECT_FALSE(bundle.batcher.is_stalled());
  for (int look = 0; look < 9; ++look) bundle.batcher.watch_commit();
  EXPECT_TRUE(bundle.batcher.is_stalled());
  const std::string said = GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("a commit is stalled"));
  EXPECT_EQ(said.find("a commit is stalled"), said.rfind("a commit is stalled"));

  CaptureStderr();
  bundle.commit(bundle.take());
  EXPECT_FALSE(bundle.batcher.is_stalled());
  EXPECT_THAT(GetCapturedStderr(), HasSubstr("the commit has ended"));
  set_log_level(LogLevel::kOff);
}

TEST(Batcher, ReportsThatTheSessionWasFenced) {
  BatcherBundle bundle;
  bundle.post(Urgency::kClaim, 1);
  bundle.flush();
  EXPECT_FALSE(
      bundle.roll_back(bundle.take(), {.error = {ErrorCode::kConflict, "fenced"}, .fenced = true}));
  EXPECT_THAT(bundle.done, IsEmpty());
  EXPECT_THAT(bundle.refusals, IsEmpty());
}

TEST(Batcher, RepeatedRequestGetsTheFirstAnswerWithoutRunningAgain) {
  BatcherBundle bundle;
  bundle.post_request(1, {1});
  bundle.flush();
  bundle.commit(bundle.take(), true);
  EXPECT_THAT(bundle.answers, ElementsAre("first"));
  EXPECT_THAT(bundle.done, IsEmpty());
}

TEST(Batcher, HeartbeatCommitsAnEmptyBatch) {
  BatcherBundle bundle;
  bundle.flush();
  EXPECT_THAT(bundle.connection.batches, IsEmpty());
  bundle.batcher.heartbeat();
  bundle.flush();
  EXPECT_THAT(bundle.take().operations, IsEmpty());
}

TEST(Batcher, LearnsItsBatchSizeHoweverSlowTheDiskIs) {
  BatcherBundle bundle({.rows_time_aim = milliseconds{8}, .rows_min = 10});
  std::size_t size = 0;
  for (int round = 0; round < 30; ++round) {
    for (std::int64_t id = 0; id < 2000; ++id) bundle.post(Urgency::kBulk, id);
    bundle.flush();
    Batch batch = bundle.take();
    size = batch.operations.size();
    bundle.rows_took = milliseconds{size / 10 + 1};  // Ten operations a millisecond.
    bundle.clock.advance(bundle.rows_took + milliseconds{200});
    bundle.commit(std::move(batch));
  }
  EXPECT_GE(size, 50U);
  EXPECT_LE(size, 110U);
}

TEST(Batcher, HalvesBatchesThatReachALimitOfTheStore) {
  BatcherBundle bundle({.rows_min = 10});
  for (std::int64_t id = 0; id < 400; ++id) bundle.post(Urgency::kClaim, id);
  for (const std::size_t size : {400U, 200U, 100U, 50U, 25U, 12U, 10U, 10U}) {
    bundle.flush();
    Batch batch = bundle.take();
    ASSERT_EQ(batch.operations.size(), size);
    bundle.roll_back(std::move(batch), {.error = kFull});
    bundle.clock.advance(std::chrono::seconds{2});
  }
  EXPECT_THAT(bundle.refusals, IsEmpty());
}

TEST(Batcher, NeverStarvesALargeUnit) {
  BatcherBundle bundle({.rows_min = 64, .rows_max = 64});
  std::vector<std::int64_t> large(1000);
  std::iota(large.begin(), large.end(), 1);
  bundle.post_unit(Urgency::kBulk, large);
  std::int64_t id = 10'000;
  int batches = 0;
  const auto is_done = [&] { return std::ranges::find(bundle.done, 1000) != bundle.done.end(); };
  while (!is_done() && batches < 1000) {
    // There are always more urgent ones than a batch takes.
    while (bundle.batcher.pending_rows() < 2000) bundle.post(Urgency::kClaim, ++id);
    bundle.flush();
    bundle.commit(bundle.take());
    ++batches;
  }
  EXPECT_TRUE(is_done());
  EXPECT_GT(batches, 200) << "nor does it take more than its share";
}

TEST(Batcher, LimitsBacklogGrowthOfABulkLoadBesideBusyJobs) {
  BatcherBundle bundle({.rows_min = 1024, .rows_max = 1024});
  constexpr std::int64_t kBulk = 1'000'000;
  for (std::int64_t unit = 0; unit < 400; ++unit) {
    bundle.post_unit(Urgency::kBulk, std::vector<std::int64_t>(100, kBulk + unit));
  }
  const auto stored = [&bundle] {
    return std::ranges::count_if(bundle.done, [](std::int64_t id) { return id >= kBulk; });
  };
  // Of two batches one has runs, as they come and go.
  const auto run_batches = [&bundle](int batches, std::int64_t runs) {
    for (int batch = 0; batch < batches; ++batch) {
      for (std::int64_t id = 0; batch % 2 == 0 && id < runs; ++id) {
        bundle.post(Urgency::kClaim, id);
        bundle.post(Urgency::kCompletion, id);
      }
      bundle.flush();
      bundle.clock.advance(milliseconds{8});
      if (!bundle.connection.batches.empty()) bundle.commit(bundle.take());
    }
  };
  run_batches(20, 400);
  const auto before = stored();
  run_batches(40, 400);
  EXPECT_GE(stored() - before, 20 * 400) << "a steady load is never held up";
  EXPECT_LE(stored() - before, 20 * 400 * 5 / 4 + 100);

  run_batches(20, 10);
  const auto with_few = stored();
  run_batches(4, 10);
  EXPECT_GE(stored() - with_few, 4 * 900) << "jobs that run for long leave it nearly all";
}

TEST(Batcher, RequestsMoreBulkLoadBeforeTheStoreConnectionIsIdle) {
  BatcherBundle bundle({.rows_min = 64, .rows_max = 64});
  EXPECT_TRUE(bundle.batcher.wants_bulk());
  bundle.post_unit(Urgency::kBulk, std::vector<std::int64_t>(127, 1));
  for (std::int64_t id = 0; id < 500; ++id) bundle.post(Urgency::kClaim, id);
  EXPECT_TRUE(bundle.batcher.wants_bulk()) << "what is more urgent does not count";
  bundle.post_unit(Urgency::kBulk, {1});
  EXPECT_FALSE(bundle.batcher.wants_bulk());
}

TEST(Batcher, ReportsWhenClientsMustSlowDown) {
  BatcherBundle bundle({.pending_max = 3});
  for (const std::int64_t id : {1, 2, 3}) {
    EXPECT_FALSE(bundle.batcher.is_full());
    bundle.post(Urgency::kRequest, id);
  }
  EXPECT_TRUE(bundle.batcher.is_full());
  bundle.flush();
  EXPECT_TRUE(bundle.batcher.is_full()) << "what is under way counts";
  bundle.commit(bundle.take());
  EXPECT_FALSE(bundle.batcher.is_full());
}

TEST(Batcher, CountsHeldBytesAndPendingReads) {
  BatcherBundle bundle({.pending_bytes_max = 100, .reads_max = 3});
  EXPECT_TRUE(bundle.batcher.check_room().ok());
  bundle.batcher.hold(100);
  ASSERT_FALSE(bundle.batcher.check_room().ok());
  EXPECT_EQ(bundle.batcher.check_room().error().code, ErrorCode::kLimit);
  EXPECT_EQ(bundle.batcher.slowed_down(), 2);
  bundle.batcher.release(100);
  EXPECT_FALSE(bundle.batcher.is_full());
  bundle.batcher.ask(ListNodes{}, [](Result<ReadAnswer>) {});
  bundle.batcher.ask(ListNodes{}, [](Result<ReadAnswer>) {});
  EXPECT_FALSE(bundle.batcher.is_full());
  bundle.batcher.hold(1);
  EXPECT_TRUE(bundle.batcher.is_full());
  bundle.batcher.on_read_done({bundle.connection.reads.at(0), ReadAnswer{NodesAnswer{}}});
  EXPECT_FALSE(bundle.batcher.is_full());
}

TEST(Batcher, CountsTheBytesOfChangesAndStoredAnswers) {
  for (const bool change : {true, false}) {
    BatcherBundle bundle({.pending_bytes_max = 100});
    if (change) {
      bundle.batcher.post(Urgency::kRequest,
                          ChangeWaiting{.from = {.spec = std::string(50, 'x')},
                                        .to = WaitingJob{.spec = std::string(50, 'y')}},
                          [](Operation&, const Outcome&, const Error*) {});
    } else {
      bundle.batcher.post_request(Urgency::kRequest,
                                  {.client = 1, .sequence = 1, .answer = std::string(100, 'x')}, {},
                                  [](const RequestOutcome&, const Error*) {}, {});
    }
    EXPECT_TRUE(bundle.batcher.is_full());
    bundle.flush();
    bundle.commit(bundle.take());
    EXPECT_FALSE(bundle.batcher.is_full());
  }
}

TEST(Batcher, AnswersEachReadToItsCaller) {
  BatcherBundle bundle;
  std::vector<int> answered;
  bundle.batcher.ask(ListNodes{}, [&](Result<ReadAnswer>) { answered.push_back(1); });
  bundle.batcher.ask(ListNodes{}, [&](Result<ReadAnswer>) { answered.push_back(2); });
  bundle.batcher.on_read_done({bundle.connection.reads.at(1), ReadAnswer{NodesAnswer{}}});
  bundle.batcher.on_read_done({bundle.connection.reads.at(0), ReadAnswer{NodesAnswer{}}});
  EXPECT_THAT(answered, ElementsAre(2, 1));
}

}  // namespace
}  // namespace carillon::jobtracker
