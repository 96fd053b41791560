#include "tests/contract/store_contract.h"

// What becomes of a definition's runs when it goes.
namespace carillon::jobtracker {
namespace {

using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

TEST_P(StoreContract, CancelsTheRunsOfARemovedDefinitionOrLeavesItsSpecToThem) {
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
TEST_P(StoreContract, QueuesFeedbackOfRunsThatWaitedAsTheirDefinitionWentAndOfThemOnly) {
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

}  // namespace
}  // namespace carillon::jobtracker
