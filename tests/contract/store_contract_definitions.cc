#include "tests/contract/store_contract.h"

// What becomes of a definition's runs when it goes, or is suspended.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_P(StoreContract, RemovedDefinitionCancelsItsRunsOrLeavesThemItsSpec) {
  for (const bool cancels : {true, false}) {
    SCOPED_TRACE(cancels);
    const auto definition = new_definition(cancels ? "cancelled" : "replaced");
    const auto plain = new_occurrence(definition);
    auto own = new_occurrence(definition);
    own.spec = "its own";
    const auto waits = new_occurrence(definition);
    committed({AddDefinition{definition, std::nullopt}});
    auto plain_run = running(plain);
    auto own_run = running(own);
    const auto other_run = running(new_job());
    const auto before = new_definition(cancels ? "before-cancelled" : "before-replaced");
    auto run_before = running(new_occurrence(before));
    committed({AddJob{waits}});

    committed({ChangeDefinition{.id = definition.id,
                                .expected_version = 1,
                                .runs = {plain.id, own.id, run_before.job.id, waits.id, JobId{4}},
                                .cancels_runs = cancels,
                                .leaves_spec = true,
                                .void_waiting = true,
                                .group = group_}});

    plain_run.cancelled = own_run.cancelled = run_before.cancelled = cancels;
    plain_run.job.spec = definition.spec;
    EXPECT_THAT(executing(), IsSupersetOf({plain_run, own_run, run_before, other_run}));
    EXPECT_THAT(waiting(group_), IsEmpty());
  }
}

// A retry that waits is a run, and what has not begun is none.
TEST_P(StoreContract, QueuesFeedbackForVoidedRetriesButNotForUnstartedRuns) {
  const auto definition = new_definition("told");
  auto retry = new_occurrence(definition);
  retry.attempt = 1;
  retry.failures = 1;
  const auto due = new_occurrence(definition);
  committed({AddDefinition{definition, std::nullopt}, AddJob{due}, AddJob{retry}});
  auto voided = new_log(due);
  voided.state = LogState::kCancelled;
  voided.ended_at = due.trigger_time + std::chrono::hours{1};
  voided.feedback_to = "billing";

  const auto changed = committed({ChangeDefinition{.id = definition.id,
                                                   .expected_version = 1,
                                                   .void_waiting = true,
                                                   .voided = voided,
                                                   .group = group_}});

  EXPECT_EQ(changed.outcomes.at(0).next, 1);
  EXPECT_THAT(history(), SizeIs(2));
  const auto told =
      ask<FeedbackAnswer>(ReadFeedback{.client_group = "billing", .limit = 10}).entries;
  ASSERT_THAT(told, SizeIs(1));
  EXPECT_EQ(told.front().job_id, retry.id);
}

TEST_P(StoreContract, VoidsTriggeredRunsWithOwnLogRowsOrSparesThem) {
  const auto definition = new_definition("hourly");
  committed({AddDefinition{definition, std::nullopt}});
  const auto triggered = [&](std::int32_t attempt) {
    auto job = new_occurrence(definition);
    job.triggered = true;
    job.attempt = attempt;
    return job;
  };
  auto put_off = delayed_one(triggered(1));
  put_off.not_before = kNow + 3600 * kSecond;
  auto made_up_for = new_occurrence(definition);
  made_up_for.triggered = made_up_for.makes_up = true;
  made_up_for.trigger_time = kNow;
  auto retry = new_occurrence(definition);
  retry.attempt = 1;
  auto fire = made_up_for;
  fire.id = new_occurrence(definition).id;
  fire.triggered = fire.makes_up = false;
  const auto first = triggered(0);
  const auto second = triggered(2);
  committed({AddJob{first}, AddJob{second}, AddJob{put_off}, AddJob{made_up_for}, AddJob{retry},
             AddJob{fire}});
  auto entry = new_log(new_occurrence(definition));
  entry.ended_at = kNow;
  entry.count = 0;
  ChangeDefinition change{.id = definition.id,
                          .expected_version = 1,
                          .to = definition,
                          .void_waiting = true,
                          .spares_triggered = true,
                          .voided = entry,
                          .group = group_};
  const auto row_of = [&](std::int64_t number, const WaitingJob& job) {
    auto row = entry;
    row.id += number * kIdStep;
    row.job_id = job.id;
    row.trigger_time = job.trigger_time;
    row.count = 1;
    return row;
  };

  EXPECT_EQ(outcome(change), kDone);
  EXPECT_THAT(waiting(group_), UnorderedElementsAre(first, second));
  EXPECT_THAT(delayed(), ElementsAre(put_off));
  auto counted = entry;
  counted.count = 2;
  counted.trigger_time = kNow;
  EXPECT_THAT(history(), UnorderedElementsAre(counted, row_of(1, retry)));

  last_id_ += 10 * kIdStep;
  entry.id = last_id_;
  last_id_ += 10 * kIdStep;
  change.voided = entry;
  change.spares_triggered = false;
  const std::vector<LogEntry> before = history();
  EXPECT_EQ(outcome(change), kDone);
  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_THAT(delayed(), IsEmpty());
  EXPECT_THAT(history(), UnorderedElementsAre(before[0], before[1], row_of(1, first),
                                              row_of(2, second), row_of(3, put_off)));
}

}  // namespace
}  // namespace carillon::jobtracker
