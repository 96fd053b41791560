#include "tests/contract/store_contract.h"

// Every operation, what it does and when it conflicts.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr auto kConflict = OutcomeKind::kConflict;

TEST_P(StoreContract, KeepsEveryFieldOfAWaitingJob) {
  auto job = new_job();
  job.task_id = "nightly \xF0\x9F\x94\x94";
  job.keyed = true;
  job.version = 7;
  job.kind = ScheduleKind::kAt;
  job.priority = kPriorityTriggered;
  job.trigger_time = kNow + Duration{123'456};
  job.attempt = 4;
  job.failures = 2;
  job.lost = 1;
  job.triggered = true;
  job.forced = true;
  job.spec = std::string{"\x00\xFF'\"\\", 5};
  auto suspended = job;
  suspended.not_before = suspended.trigger_time + 9 * kSecond;
  suspended.id = new_job().id;
  suspended.task_id = "asleep";
  suspended.delayed = true;
  suspended.suspended = true;

  EXPECT_THAT(outcomes({AddJob{job}, AddJob{suspended}}), ElementsAre(kDone, kDone));

  EXPECT_THAT(waiting(group_), ElementsAre(job));
  EXPECT_THAT(delayed(), ElementsAre(suspended));
}

TEST_P(StoreContract, RefusesATakenTaskIdAndNamesItsHolder) {
  const auto first = new_keyed_job("nightly");
  const auto definition = new_definition("hourly");
  committed({AddJob{first}, AddDefinition{definition, std::nullopt}});

  const auto result = committed({AddJob{new_keyed_job("nightly")}, AddJob{new_keyed_job("hourly")},
                                 AddDefinition{new_definition("nightly"), std::nullopt}});

  EXPECT_THAT(result.outcomes,
              ElementsAre(Outcome{.kind = kTaken, .existing_job = first.id},
                          Outcome{.kind = kTaken, .existing_definition = definition.id},
                          Outcome{.kind = kTaken, .existing_job = first.id}));
  EXPECT_THAT(waiting(group_), ElementsAre(first));
  EXPECT_THAT(definitions(), ElementsAre(definition));
}

TEST_P(StoreContract, FirstJobOfABatchGetsTheTaskId) {
  const auto first = new_keyed_job("twice");

  const auto result = committed({AddJob{first}, AddJob{delayed_one(new_keyed_job("twice"))}});

  EXPECT_THAT(result.outcomes,
              ElementsAre(Outcome{}, Outcome{.kind = kTaken, .existing_job = first.id}));
  EXPECT_THAT(waiting(group_), ElementsAre(first));
  EXPECT_THAT(delayed(), IsEmpty());
}

TEST_P(StoreContract, ComparesTaskIdsBytewise) {
  EXPECT_THAT(outcomes({AddJob{new_keyed_job("nightly")}, AddJob{new_keyed_job("Nightly")},
                        AddJob{new_keyed_job("nightly ")}, AddJob{new_keyed_job("t\xC3\xA4glich")},
                        AddJob{new_keyed_job("ta\xCC\x88glich")}}),
              ElementsAre(kDone, kDone, kDone, kDone, kDone));
  EXPECT_EQ(outcome(AddJob{new_keyed_job("nightly ")}), kTaken);
}

TEST_P(StoreContract, AllowsTheSameTaskIdInAnotherGroup) {
  auto other = new_keyed_job("nightly");
  other.group = make_group("other");
  EXPECT_THAT(outcomes({AddJob{new_keyed_job("nightly")}, AddJob{other}}),
              ElementsAre(kDone, kDone));
}

TEST_P(StoreContract, DoesNotCheckGeneratedTaskIdsForUniqueness) {
  auto job = new_job();
  auto twin = new_job();
  twin.task_id = job.task_id;
  EXPECT_THAT(outcomes({AddJob{job}, AddJob{twin}}), ElementsAre(kDone, kDone));
}

TEST_P(StoreContract, StoresANewJobAsExecuting) {
  const auto first = claimed(new_keyed_job("nightly"));

  EXPECT_THAT(outcomes({AddExecuting{first}, AddExecuting{claimed(new_keyed_job("nightly"))},
                        AddExecuting{claimed(new_job())}}),
              ElementsAre(kDone, kTaken, kDone));

  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_THAT(executing(), SizeIs(2));
  EXPECT_THAT(executing(), ::testing::Contains(first));
  EXPECT_EQ(outcome(AddJob{new_keyed_job("nightly")}), kTaken);
}

TEST_P(StoreContract, ClaimsAWaitingJobOnce) {
  const auto job = new_job();
  committed({AddJob{job}});

  EXPECT_EQ(outcome(Claim{claimed(job)}), kDone);
  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_THAT(executing(), ElementsAre(claimed(job)));

  EXPECT_EQ(outcome(Claim{claimed(job)}), kConflict);
  EXPECT_THAT(executing(), SizeIs(1));
}

TEST_P(StoreContract, ClaimsOnlyTheWaitingAttempt) {
  auto job = new_job();
  job.attempt = 2;
  committed({AddJob{job}});
  auto stale = job;
  stale.attempt = 1;

  EXPECT_THAT(outcomes({Claim{claimed(stale)}, Claim{claimed(job)}, Claim{claimed(job)}}),
              ElementsAre(kConflict, kDone, kConflict));
  EXPECT_THAT(executing(), ElementsAre(claimed(job)));
}

TEST_P(StoreContract, ClaimsHundredsOfJobsFromSeveralGroupsInOneBatch) {
  const GroupId other = make_group("other");
  std::vector<Operation> adds;
  std::vector<Operation> claims;
  for (int i = 0; i < 700; ++i) {
    auto job = new_job();
    if (i % 3 == 0) job.group = other;
    adds.push_back(AddJob{job});
    if (i % 2 == 0) claims.push_back(Claim{claimed(job)});
  }
  committed(std::move(adds));

  EXPECT_THAT(outcomes(std::move(claims)), ::testing::Each(kDone));
  EXPECT_THAT(executing(), SizeIs(350));
  EXPECT_EQ(waiting(group_).size() + waiting(other).size(), 350U);
}

TEST_P(StoreContract, EndsAnAttemptWithItsLogAndFreesItsKey) {
  const auto running_job = running(new_keyed_job("once"));
  const auto log = new_log(running_job.job);

  EXPECT_EQ(outcome(End{.id = running_job.job.id,
                        .attempt = 1,
                        .group = group_,
                        .task_id = "once",
                        .frees_key = true,
                        .log = log}),
            kDone);

  EXPECT_THAT(executing(), IsEmpty());
  EXPECT_THAT(history(), ElementsAre(log));
  EXPECT_EQ(outcome(AddJob{new_keyed_job("once")}), kDone);
}

TEST_P(StoreContract, EndsAnAttemptAndAddsItsChildJobs) {
  const auto parent = running(new_keyed_job("parent"));
  const auto definition = new_definition("child");
  committed({AddDefinition{definition, std::nullopt}});
  auto child = new_occurrence(definition);
  child.triggered = true;
  const GroupId elsewhere = make_group("elsewhere");
  auto other = new_job();
  other.group = elsewhere;
  const auto end = [&](std::int32_t attempt, WaitingJob run) {
    return End{.id = parent.job.id,
               .attempt = attempt,
               .group = group_,
               .task_id = "parent",
               .frees_key = true,
               .log = new_log(parent.job),
               .children = {std::move(run), other}};
  };

  EXPECT_THAT(outcomes({end(1, child), end(1, new_occurrence(definition))}),
              ElementsAre(kDone, kConflict));

  EXPECT_THAT(waiting(group_), ElementsAre(child));
  EXPECT_THAT(waiting(elsewhere), ElementsAre(other));
  EXPECT_THAT(history(), SizeIs(1));
}

TEST_P(StoreContract, QueuesALogRowAsFeedbackForAClientGroup) {
  std::vector<LogEntry> told;
  for (const char* client_group : {"billing", "ops", "billing"}) {
    LogEntry entry = new_log(new_job());
    entry.exit_code = told.empty() ? std::optional<std::int32_t>{3} : std::nullopt;
    entry.message = "all \xF0\x9F\x94\x94 of it";
    entry.feedback_to = client_group;
    told.push_back(entry);
  }
  write_log({told[1], told[2], told[0], new_log(new_job())});

  const auto of = [this](const std::string& client_group, std::int64_t limit = 9) {
    return ask<FeedbackAnswer>(ReadFeedback{.client_group = client_group, .limit = limit}).entries;
  };
  EXPECT_THAT(of("billing"), ElementsAre(told[0], told[2])) << "by their ids";
  EXPECT_THAT(of("billing", 1), ElementsAre(told[0]));
  EXPECT_THAT(of("ops"), ElementsAre(told[1]));
  EXPECT_THAT(of("nobody"), IsEmpty());
  EXPECT_THAT(history(), SizeIs(4));
  open_session();
  EXPECT_THAT(ask<StartAnswer>(ReadStart{}).feedback,
              ElementsAre(::testing::Pair("billing", 2), ::testing::Pair("ops", 1)));
}

TEST_P(StoreContract, KeepsInboxRowsUntilTheyAreRemoved) {
  const auto parent = running(new_keyed_job("parent"));
  const InboxRow first{.id = 64, .group = group_, .task_id = "one"};
  const InboxRow second{.id = 128, .group = group_, .task_id = "two"};
  const auto end = [&](std::int32_t attempt) {
    return End{.id = parent.job.id,
               .attempt = attempt,
               .group = group_,
               .task_id = "parent",
               .frees_key = true,
               .relayed = {first, second}};
  };
  const auto inbox = [this](std::int64_t limit) {
    return ask<InboxAnswer>(ReadInbox{.limit = limit}).rows;
  };

  EXPECT_EQ(outcome(end(parent.job.attempt + 1)), kConflict);
  EXPECT_THAT(inbox(9), IsEmpty());
  EXPECT_EQ(outcome(end(parent.job.attempt)), kDone);
  EXPECT_THAT(inbox(9), ElementsAre(first, second));
  EXPECT_THAT(inbox(1), ElementsAre(first));
  committed({RemoveInbox{.id = first.id}});
  EXPECT_THAT(inbox(9), ElementsAre(second));
}

TEST_P(StoreContract, RemovesFeedbackByIdAndByAge) {
  std::vector<LogEntry> told;
  for (int i = 0; i < 6; ++i) {
    told.push_back(new_log(new_job()));
    told.back().feedback_to = i == 5 ? "ops" : "billing";
  }
  write_log(told);
  const auto of = [this](const std::string& client_group) {
    return ask<FeedbackAnswer>(ReadFeedback{.client_group = client_group, .limit = 9}).entries;
  };

  auto result = committed({RemoveFeedback{
      .client_group = "billing", .ids = {told[3].id, told[3].id + 1'000'000, told[5].id}}});
  EXPECT_EQ(result.outcomes.front().count, 1) << "what is not there does not matter";
  EXPECT_THAT(of("billing"), ElementsAre(told[0], told[1], told[2], told[4]));
  EXPECT_THAT(of("ops"), ElementsAre(told[5]));

  result = committed({RemoveFeedback{.client_group = "billing", .before = told[2].id}});
  EXPECT_EQ(result.outcomes.front().count, 2);
  EXPECT_THAT(of("billing"), ElementsAre(told[2], told[4]));
  EXPECT_THAT(history(), SizeIs(6)) << "the log stays";
}

TEST_P(StoreContract, CountsTheFeedbackOfEachClientGroup) {
  const auto counts = [this] { return ask<FeedbackCounts>(CountFeedback{}).rows; };
  EXPECT_THAT(counts(), IsEmpty());
  std::vector<LogEntry> told;
  for (const char* client_group : {"ops", "billing", "ops", ""}) {
    told.push_back(new_log(new_job()));
    told.back().feedback_to = client_group;
  }
  write_log(told);
  EXPECT_THAT(counts(), ElementsAre(::testing::Pair("billing", 1), ::testing::Pair("ops", 2)));
  committed({RemoveFeedback{.client_group = "billing", .ids = {told[1].id}},
             RemoveFeedback{.client_group = "ops", .ids = {told[2].id}}});
  EXPECT_THAT(counts(), ElementsAre(::testing::Pair("ops", 1)));
}

TEST_P(StoreContract, RemovesFeedbackOfTheSameBatchAndCountsItOnce) {
  LogEntry told = new_log(new_job());
  told.feedback_to = "billing";
  LogEntry kept = new_log(new_job());
  kept.feedback_to = "billing";
  const auto added = running(new_job());
  const auto ended = running(new_job());
  const auto end_of = [](const ExecutingJob& job, const LogEntry& entry) {
    return End{.id = job.job.id, .attempt = 1, .group = job.job.group, .log = entry};
  };
  const auto result =
      committed({RemoveFeedback{.client_group = "billing", .ids = {told.id, 1, told.id}},
                 end_of(added, told), end_of(ended, kept)});
  EXPECT_EQ(result.outcomes.front().count, 1);
  EXPECT_THAT(ask<FeedbackAnswer>(ReadFeedback{.client_group = "billing", .limit = 9}).entries,
              ElementsAre(kept));
}

TEST_P(StoreContract, QueuesFeedbackWithTheOutcomeOnly) {
  LogEntry told = new_log(new_job());
  told.count = 3;
  told.final = false;
  told.executor_log = 7;
  told.feedback_to = "billing";
  told.alarms = {{.alarm = 5, .line = 1, .failures = 2, .recipient = "ops@example.com"}};
  committed({AddLog{told}});
  told.alarms.clear();
  told.count = 1;
  told.final = true;
  told.executor_log = 0;
  EXPECT_THAT(ask<FeedbackAnswer>(ReadFeedback{.client_group = "billing", .limit = 9}).entries,
              ElementsAre(told));
}

TEST_P(StoreContract, ReplacesAnEndedAttemptWithItsRetry) {
  const auto running_job = running(new_keyed_job("again"));
  auto retry = running_job.job;
  retry.failures = 1;
  retry.not_before = kNow + 30 * kSecond;

  EXPECT_EQ(outcome(End{.id = retry.id,
                        .attempt = 1,
                        .group = group_,
                        .task_id = "again",
                        .log = new_log(running_job.job),
                        .again = retry}),
            kDone);

  EXPECT_THAT(executing(), IsEmpty());
  EXPECT_THAT(waiting(group_), ElementsAre(retry));
  EXPECT_EQ(waiting(group_).front().trigger_time, kNow);
  EXPECT_EQ(outcome(AddJob{new_keyed_job("again")}), kTaken);

  retry.attempt = 1;
  EXPECT_EQ(outcome(Claim{claimed(retry)}), kDone);
  EXPECT_THAT(executing(), ElementsAre(claimed(retry)));
}

TEST_P(StoreContract, RefusesTheEndOfAnotherAttempt) {
  const auto running_job = running(new_keyed_job("fenced"));
  End late = end_to_run_again(running_job);
  late.attempt = 7;
  late.frees_key = true;

  EXPECT_EQ(outcome(late), kConflict);

  EXPECT_THAT(executing(), ElementsAre(running_job));
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_EQ(outcome(AddJob{new_keyed_job("fenced")}), kTaken);
}

TEST_P(StoreContract, EndsAnAttemptOnlyOnceInABatch) {
  const auto running_job = running(new_job());
  const End end{.id = running_job.job.id, .attempt = 1, .log = new_log(running_job.job)};
  auto second = end;
  second.log->id = ++last_id_;

  EXPECT_THAT(outcomes({end, second}), ElementsAre(kDone, kConflict));
  EXPECT_THAT(history(), ElementsAre(*end.log));
}

TEST_P(StoreContract, DoesNotRequeueAnAttemptThatHasEnded) {
  for (const bool is_one_batch : {false, true}) {
    const auto running_job = running(new_job());
    const End end{.id = running_job.job.id, .attempt = 1, .log = new_log(running_job.job)};
    const End lost = end_to_run_again(running_job);

    if (is_one_batch) {
      EXPECT_THAT(outcomes({end, lost}), ElementsAre(kDone, kConflict));
    } else {
      EXPECT_EQ(outcome(end), kDone);
      EXPECT_EQ(outcome(lost), kConflict);
    }

    EXPECT_THAT(waiting(group_), IsEmpty());
    EXPECT_THAT(executing(), IsEmpty());
    EXPECT_THAT(history(), SizeIs(is_one_batch ? 2 : 1));
  }
}

TEST_P(StoreContract, CancelsTheRetriesOfAnExecutingJob) {
  auto running_job = running(new_job());

  EXPECT_THAT(outcomes({CancelExecuting{running_job.job.id, 1},
                        CancelExecuting{running_job.job.id, 2}, CancelExecuting{JobId{5}, 1}}),
              ElementsAre(kDone, kConflict, kConflict));
  running_job.cancelled = true;
  EXPECT_THAT(executing(), ElementsAre(running_job));
  EXPECT_EQ(outcome(CancelExecuting{running_job.job.id, 1}), kDone);
}

TEST_P(StoreContract, RemovesAWaitingJobWithItsKey) {
  const auto job = new_keyed_job("gone");
  auto log = new_log(job);
  log.state = LogState::kCancelled;
  log.attempt = 0;
  log.exit_code.reset();
  log.started_at = {};
  committed({AddJob{job}});

  EXPECT_EQ(outcome(ChangeWaiting{.from = job, .log = log}), kDone);

  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_THAT(history(), ElementsAre(log));
  EXPECT_EQ(outcome(AddJob{new_keyed_job("gone")}), kDone);
  EXPECT_EQ(outcome(ChangeWaiting{.from = job, .log = new_log(job)}), kConflict);
  EXPECT_THAT(history(), SizeIs(1));
}

TEST_P(StoreContract, KeepsTheDefinitionKeyWhenItsOccurrenceIsRemoved) {
  const auto definition = new_definition("hourly");
  auto occurrence = new_occurrence(definition);
  occurrence.keyed = true;
  committed({AddDefinition{definition, occurrence}});

  EXPECT_EQ(outcome(ChangeWaiting{.from = occurrence}), kDone);
  EXPECT_EQ(outcome(AddJob{new_keyed_job("hourly")}), kTaken);
}

TEST_P(StoreContract, MovesJobsBetweenTheDelayedAndWaitingTables) {
  const auto job = new_keyed_job("mover");
  committed({AddJob{job}});
  auto asleep = job;
  asleep.delayed = true;
  asleep.suspended = true;
  asleep.trigger_time += 3600 * kSecond;

  EXPECT_EQ(outcome(ChangeWaiting{.from = job, .to = asleep}), kDone);
  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_THAT(delayed(), ElementsAre(asleep));
  EXPECT_EQ(outcome(ChangeWaiting{.from = job, .to = asleep}), kConflict);

  EXPECT_EQ(outcome(ChangeWaiting{.from = asleep, .to = job}), kDone);
  EXPECT_THAT(waiting(group_), ElementsAre(job));
  EXPECT_THAT(delayed(), IsEmpty());
  EXPECT_EQ(outcome(AddJob{new_keyed_job("mover")}), kTaken);
}

TEST_P(StoreContract, RefusesToChangeAJobSuspendedOrResumedMeanwhile) {
  const auto awake = delayed_one(new_keyed_job("mover"));
  auto asleep = awake;
  asleep.suspended = true;
  auto promoted = awake;
  promoted.delayed = false;
  committed({AddJob{awake}});

  EXPECT_THAT(
      outcomes({ChangeWaiting{.from = awake, .to = asleep},
                ChangeWaiting{.from = awake, .to = promoted}, ChangeWaiting{.from = awake}}),
      ElementsAre(kDone, kConflict, kConflict));
  EXPECT_THAT(delayed(), ElementsAre(asleep));
  EXPECT_THAT(
      outcomes({ChangeWaiting{.from = asleep, .to = awake}, ChangeWaiting{.from = asleep},
                AddJob{new_keyed_job("mover")}, ChangeWaiting{.from = awake, .to = promoted}}),
      ElementsAre(kDone, kConflict, kTaken, kDone));
  EXPECT_THAT(waiting(group_), ElementsAre(promoted));
}

TEST_P(StoreContract, RequeuesAnEndedAttemptAsDelayedWithItsTaskId) {
  const auto job = running(new_keyed_job("mover")).job;
  auto later = job;
  later.delayed = true;
  later.trigger_time += 3600 * kSecond;

  EXPECT_EQ(outcome(End{.id = job.id,
                        .attempt = job.attempt,
                        .group = group_,
                        .task_id = "mover",
                        .again = later}),
            kDone);
  EXPECT_THAT(executing(), IsEmpty());
  EXPECT_THAT(delayed(), ElementsAre(later));
  EXPECT_EQ(outcome(AddJob{new_keyed_job("mover")}), kTaken);
  EXPECT_EQ(find("mover").waiting, later);

  EXPECT_EQ(outcome(ChangeWaiting{.from = later}), kDone);
  EXPECT_EQ(outcome(AddJob{new_keyed_job("mover")}), kDone);
}

TEST_P(StoreContract, AppliesTwoChangesOfAJobInBatchOrder) {
  const auto first = new_job();
  committed({AddJob{first}});
  auto second = first;
  second.priority = 5;
  second.attempt = 1;
  auto third = second;
  third.priority = 6;

  EXPECT_THAT(outcomes({ChangeWaiting{.from = first, .to = second},
                        ChangeWaiting{.from = second, .to = third},
                        ChangeWaiting{.from = first, .to = first}}),
              ElementsAre(kDone, kDone, kConflict));
  EXPECT_THAT(waiting(group_), ElementsAre(third));
}

TEST_P(StoreContract, ReadsWaitingJobsInTheOrderOfTheirNewPriorities) {
  const auto first = new_job();
  const auto second = new_job();
  auto better = second;
  better.priority = first.priority - 1;
  auto worse = better;
  worse.priority = first.priority + 1;
  committed({AddJob{first}, AddJob{second}});

  EXPECT_EQ(outcome(ChangeWaiting{.from = second, .to = better}), kDone);
  EXPECT_THAT(waiting(group_), ElementsAre(better, first));
  EXPECT_EQ(outcome(ChangeWaiting{.from = better, .to = worse}), kDone);
  EXPECT_THAT(waiting(group_), ElementsAre(first, worse));
}

TEST_P(StoreContract, AppliesBatchOperationsInAFixedOrderOfKinds) {
  // A running job ends, its retry is claimed again, and its freed key is taken: all in one batch,
  // given from the last to the first.
  const auto over = running(new_keyed_job("key"));
  const auto back = running(new_job());
  const auto successor = new_keyed_job("key");
  auto log = new_log(over.job);
  log.id = ++last_id_;

  EXPECT_THAT(
      outcomes({CancelExecuting{back.job.id, 2}, AddJob{successor}, Claim{claimed(back.job)},
                End{.id = back.job.id, .attempt = 1, .again = back.job},
                End{.id = over.job.id,
                    .attempt = 1,
                    .group = group_,
                    .task_id = "key",
                    .frees_key = true,
                    .log = log}}),
      ElementsAre(kDone, kDone, kDone, kDone, kDone));

  auto again = claimed(back.job);
  again.cancelled = true;
  EXPECT_THAT(executing(), ElementsAre(again));
  EXPECT_THAT(waiting(group_), ElementsAre(successor));
}

TEST_P(StoreContract, KeepsEveryFieldOfADefinitionOfEachKind) {
  std::vector<Definition> all;
  std::vector<Operation> adds;
  for (const auto kind : {ScheduleKind::kCron, ScheduleKind::kEvery, ScheduleKind::kFixedDelay,
                          ScheduleKind::kManual}) {
    auto definition = new_definition("d" + std::to_string(static_cast<int>(kind)));
    definition.kind = kind;
    definition.state = DefinitionState::kSuspended;
    definition.version = 12;
    all.push_back(definition);
    adds.push_back(AddDefinition{definition, std::nullopt});
  }
  EXPECT_THAT(outcomes(std::move(adds)), ::testing::Each(kDone));
  EXPECT_EQ(definitions(), all);
}

TEST_P(StoreContract, AddsADefinitionWithItsFirstOccurrence) {
  const auto definition = new_definition("hourly");
  const auto first = new_occurrence(definition);
  EXPECT_EQ(outcome(AddDefinition{definition, first}), kDone);
  EXPECT_THAT(definitions(), ElementsAre(definition));
  EXPECT_THAT(waiting(group_), ElementsAre(first));
}

TEST_P(StoreContract, ChangesADefinitionOnlyAtTheExpectedVersion) {
  const auto definition = new_definition("hourly");
  committed({AddDefinition{definition, std::nullopt}});
  auto to = definition;
  to.generated_through = kNow + 600 * kSecond;
  to.next_fire = kNow + 601 * kSecond;
  to.last_fire = kNow;
  to.fired = 10;
  to.state = DefinitionState::kSuspended;
  to.spec = "ignored";
  const ChangeDefinition generate{.id = definition.id,
                                  .expected_version = 1,
                                  .expected_generated_through = definition.generated_through,
                                  .to = to,
                                  .group = group_,
                                  .add = {new_occurrence(definition), new_occurrence(definition)},
                                  .logs = {new_log(new_occurrence(definition))}};
  auto wrong_version = generate;
  wrong_version.expected_version = 2;

  EXPECT_THAT(outcomes({wrong_version, generate, generate}),
              ElementsAre(kConflict, kDone, kConflict));

  to.spec = definition.spec;
  EXPECT_THAT(definitions(), ElementsAre(to));
  EXPECT_THAT(waiting(group_), UnorderedElementsAre(generate.add[0], generate.add[1]));
  EXPECT_THAT(history(), ElementsAre(generate.logs[0]));
}

TEST_P(StoreContract, VoidsTheOccurrencesOfAnEditedDefinition) {
  const auto definition = new_definition("hourly");
  const auto other = new_definition("daily");
  const auto others = new_occurrence(other);
  committed({AddDefinition{definition, new_occurrence(definition)}, AddDefinition{other, others}});
  committed({AddJob{delayed_one(new_occurrence(definition))}});
  auto to = definition;
  to.version = 2;
  to.kind = ScheduleKind::kEvery;
  to.spec = "edited";
  const auto next = new_occurrence(to);

  EXPECT_EQ(outcome(ChangeDefinition{.id = definition.id,
                                     .expected_version = 1,
                                     .to = to,
                                     .spec_changed = true,
                                     .void_waiting = true,
                                     .group = group_,
                                     .add = {next}}),
            kDone);

  EXPECT_THAT(definitions(), UnorderedElementsAre(to, other));
  EXPECT_THAT(waiting(group_), UnorderedElementsAre(others, next));
  EXPECT_THAT(delayed(), IsEmpty());
}

TEST_P(StoreContract, LogsTheNumberOfDueFiresWhenVoidingThem) {
  const auto definition = new_definition("hourly");
  committed({AddDefinition{definition, std::nullopt}});
  const auto occurrence = [&](WallTime time, std::int32_t attempt) {
    auto job = new_occurrence(definition);
    job.trigger_time = time;
    job.attempt = attempt;
    return job;
  };
  auto run = occurrence(kNow - 5 * kSecond, 1);
  run.not_before = kNow + 4 * kSecond;
  auto delayed_run = delayed_one(occurrence(kNow + 9 * kSecond, 2));
  delayed_run.not_before = kNow + 3600 * kSecond;
  const auto add = [&] {
    committed({AddJob{occurrence(kNow, 0)}, AddJob{delayed_one(occurrence(kNow - 2 * kSecond, 0))},
               AddJob{occurrence(kNow - kSecond, 0)}, AddJob{run}, AddJob{delayed_run},
               AddJob{occurrence(kNow + kSecond, 0)}});
  };
  auto entry = new_log(new_occurrence(definition));
  entry.ended_at = kNow;
  entry.count = 0;
  ChangeDefinition change{.id = definition.id,
                          .expected_version = 1,
                          .to = definition,
                          .void_waiting = true,
                          .voided = entry,
                          .group = group_};

  EXPECT_EQ(outcome(change), kDone);
  EXPECT_THAT(history(), IsEmpty()) << "there were none";

  add();
  EXPECT_EQ(outcome(change), kDone);
  EXPECT_THAT(waiting(group_), IsEmpty());
  auto counted = entry;
  counted.count = 3;
  counted.trigger_time = kNow - 2 * kSecond;
  auto of_run = entry;
  of_run.id += kIdStep;
  of_run.job_id = run.id;
  of_run.trigger_time = run.trigger_time;
  of_run.count = 1;
  auto of_delayed_run = of_run;
  of_delayed_run.id += kIdStep;
  of_delayed_run.job_id = delayed_run.id;
  of_delayed_run.trigger_time = delayed_run.trigger_time;
  EXPECT_THAT(history(), UnorderedElementsAre(counted, of_run, of_delayed_run))
      << "a run that waits ends with a row of its own";

  auto always = new_log(new_occurrence(definition));
  always.ended_at = kNow;
  change.voided = always;
  EXPECT_EQ(outcome(change), kDone);
  EXPECT_THAT(history(), UnorderedElementsAre(counted, of_run, of_delayed_run, always));

  add();
  change.expected_version = 7;
  change.voided->id = ++last_id_;
  EXPECT_EQ(outcome(change), kConflict);
  EXPECT_THAT(waiting(group_), SizeIs(4));
  EXPECT_THAT(delayed(), SizeIs(2));
  EXPECT_THAT(history(), SizeIs(4));
}

TEST_P(StoreContract, LogsVoidedRunsInCreationOrder) {
  const auto definition = new_definition("hourly");
  auto older = new_occurrence(definition);
  older.attempt = 1;
  auto younger = new_occurrence(definition);
  younger.attempt = 3;
  committed({AddDefinition{definition, std::nullopt}, AddJob{younger}, AddJob{older}});
  auto entry = new_log(older);
  entry.count = 0;

  EXPECT_EQ(outcome(ChangeDefinition{.id = definition.id,
                                     .expected_version = 1,
                                     .to = definition,
                                     .void_waiting = true,
                                     .voided = entry,
                                     .group = group_}),
            kDone);

  const auto newest_first = history();
  ASSERT_THAT(newest_first, SizeIs(2));
  EXPECT_EQ(newest_first[0].job_id, younger.id);
  EXPECT_EQ(newest_first[1].job_id, older.id);
}

TEST_P(StoreContract, SubtractsVoidedUntriedOccurrencesFromTheFireCount) {
  auto definition = new_definition("hourly");
  committed({AddDefinition{definition, std::nullopt}});
  auto retry = new_occurrence(definition);
  retry.attempt = 1;
  retry.failures = 1;
  auto lost = new_occurrence(definition);
  lost.attempt = 1;
  lost.lost = 1;
  auto put_off = new_occurrence(definition);
  put_off.attempt = 1;
  put_off.not_before = kNow + kSecond;
  auto given_back = new_occurrence(definition);
  given_back.attempt = 1;
  auto triggered = new_occurrence(definition);
  triggered.triggered = true;
  auto made_up_for = new_occurrence(definition);
  made_up_for.triggered = made_up_for.makes_up = true;
  committed({AddJob{retry}, AddJob{lost}, AddJob{put_off}, AddJob{given_back}, AddJob{triggered},
             AddJob{made_up_for}, AddJob{new_occurrence(definition)},
             AddJob{delayed_one(new_occurrence(definition))}});
  definition.fired = 9;
  const ChangeDefinition change{.id = definition.id,
                                .expected_version = 1,
                                .to = definition,
                                .void_waiting = true,
                                .uncounts_voided = true,
                                .group = group_};

  EXPECT_EQ(committed({change}).outcomes.front().count, 4);
  definition.fired = 5;
  EXPECT_THAT(definitions(), ElementsAre(definition));
  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_THAT(delayed(), IsEmpty());
}

TEST_P(StoreContract, VoidsOccurrencesAddedInTheSameBatch) {
  const auto definition = new_definition("hourly");
  committed({AddDefinition{definition, std::nullopt}});
  const ChangeDefinition fire{.id = definition.id,
                              .expected_version = 1,
                              .to = definition,
                              .group = group_,
                              .add = {new_occurrence(definition)}};
  auto suspend = fire;
  suspend.add.clear();
  suspend.void_waiting = true;

  EXPECT_THAT(outcomes({fire, suspend}), ElementsAre(kDone, kDone));
  EXPECT_THAT(waiting(group_), IsEmpty());
}

TEST_P(StoreContract, RemovesADefinitionWithItsKeyAndOccurrences) {
  const auto definition = new_definition("hourly");
  committed({AddDefinition{definition, new_occurrence(definition)}});
  const ChangeDefinition remove{
      .id = definition.id, .expected_version = 1, .void_waiting = true, .group = group_};

  EXPECT_EQ(outcome(remove), kDone);

  EXPECT_THAT(definitions(), IsEmpty());
  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_EQ(outcome(remove), kConflict);
  EXPECT_EQ(outcome(AddJob{new_keyed_job("hourly")}), kDone);
}

TEST_P(StoreContract, KeepsPayloadsOfAMebibyte) {
  auto job = new_job();
  job.spec.assign(1024 * 1024, '\0');
  for (std::size_t i = 0; i < job.spec.size(); ++i) job.spec[i] = static_cast<char>(i * 7);
  auto definition = new_definition("large");
  definition.spec = job.spec;

  EXPECT_THAT(outcomes({AddJob{job}, AddDefinition{definition, std::nullopt}}),
              ElementsAre(kDone, kDone));
  EXPECT_EQ(outcome(Claim{claimed(job)}), kDone);

  ASSERT_THAT(executing(), SizeIs(1));
  EXPECT_TRUE(executing().front() == claimed(job));
  ASSERT_THAT(definitions(), SizeIs(1));
  EXPECT_TRUE(definitions().front() == definition);
}

TEST_P(StoreContract, SanitizesAndTruncatesMessagesInTheLog) {
  auto bad = new_log(new_job());
  bad.message = "caf\xC3\xA9 \xF0\x9F\x98\x80 \xFF\xC3( end";
  auto long_text = new_log(new_job());
  long_text.message.assign(100'000, 'x');
  auto emoji = new_log(new_job());
  emoji.node = "kn\xC3\xB6tchen \xF0\x9F\x94\xA5";

  write_log({bad, long_text, emoji});

  const auto entries = history();
  ASSERT_THAT(entries, SizeIs(3));
  EXPECT_EQ(entries[2].message, "caf\xC3\xA9 \xF0\x9F\x98\x80 \xEF\xBF\xBD\xEF\xBF\xBD( end");
  EXPECT_EQ(entries[1].message, std::string(4096, 'x'));
  EXPECT_EQ(entries[0], emoji);
}

TEST_P(StoreContract, IgnoresOutputThatIsAlreadyStored) {
  const OutputRow first{
      .job_id = JobId{5}, .attempt = 1, .sequence = 1, .at = kNow, .bytes = "first"};
  auto again = first;
  again.bytes = "again";
  auto second = first;
  second.sequence = 2;
  second.stream = 2;
  second.bytes = std::string{"a\0\xFF", 3};
  committed({AddOutput{first}});

  EXPECT_THAT(outcomes({AddOutput{again}, AddOutput{second}, AddOutput{second}}),
              ElementsAre(kDone, kDone, kDone));
  EXPECT_THAT(ask<OutputAnswer>(ListOutput{.job_id = JobId{5}, .limit = 10}).rows,
              ElementsAre(first, second));
}

TEST_P(StoreContract, MarksAGroupAsServedOnceItHasANode) {
  const GroupId other = make_group("other");
  NodeRow node{.session = SessionId{9},
               .name = "worker-1",
               .group = group_,
               .address = "tcp://10.0.0.7:1234",
               .threads = 8,
               .started_at = kNow,
               .last_seen = kNow};
  committed({PutNode{node}});
  node.last_seen += kSecond;
  node.alive = false;
  committed({PutNode{node}});

  EXPECT_THAT(ask<NodesAnswer>(ListNodes{}).nodes, ElementsAre(node));
  for (const Group& group : ask<StartAnswer>(ReadStart{}).groups) {
    EXPECT_EQ(group.served, group.id != other) << group.name;
  }
}

TEST_P(StoreContract, PurgesTheOldestLogRowsWithTheirOutput) {
  std::vector<LogEntry> entries;
  std::vector<Operation> adds;
  for (int i = 0; i < 6; ++i) {
    auto entry = new_log(new_job());
    entry.attempt = 1;
    entry.ended_at = kNow + i * kSecond;
    entries.push_back(entry);
    adds.push_back(AddOutput{{.job_id = entry.job_id, .attempt = 1, .sequence = 1}});
  }
  adds.push_back(PutNode{{.session = SessionId{1}, .last_seen = kNow, .alive = false}});
  adds.push_back(PutNode{{.session = SessionId{2}, .last_seen = kNow}});
  committed(std::move(adds));
  write_log(entries);
  Purge purge{.log_before = kNow + 4 * kSecond, .limit = 3};

  EXPECT_EQ(committed({purge}).outcomes.front().count, 4);  // with the node that is gone
  EXPECT_THAT(history(), ElementsAre(entries[5], entries[4], entries[3]));
  EXPECT_THAT(ask<NodesAnswer>(ListNodes{}).nodes, SizeIs(1));
  EXPECT_EQ(committed({purge}).outcomes.front().count, 1);
  EXPECT_EQ(committed({purge}).outcomes.front().count, 0);

  const auto output_of = [&](const LogEntry& entry) {
    return ask<OutputAnswer>(ListOutput{.job_id = entry.job_id, .limit = 10}).rows;
  };
  EXPECT_THAT(history(), ElementsAre(entries[5], entries[4]));
  EXPECT_THAT(output_of(entries[3]), IsEmpty());
  EXPECT_THAT(output_of(entries[4]), SizeIs(1));
}

}  // namespace
}  // namespace carillon::jobtracker
