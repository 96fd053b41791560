#include "tests/contract/store_contract.h"

// Commits as a whole: fences, unknown outcomes, numbered requests, operations that cannot succeed.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr auto kAnswered = OutcomeKind::kAnswered;

TEST_P(StoreContract, CommitsNothingForAFencedSession) {
  const auto old_store = std::move(store_);
  const auto old_number = number_;
  open_session();

  const auto result =
      old_store->commit({.number = old_number + 1, .operations = {AddJob{new_job()}}});

  const auto* back = std::get_if<RolledBack>(&result);
  ASSERT_NE(back, nullptr);
  EXPECT_TRUE(back->fenced);
  EXPECT_THAT(back->error.message, ::testing::HasSubstr("fenced"));
  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_EQ(outcome(AddJob{new_job()}), kDone);

  const auto settled = old_store->settle(old_number + 1);
  ASSERT_FALSE(settled.ok());
  EXPECT_EQ(settled.error().code, ErrorCode::kDenied);
}

TEST_P(StoreContract, RefusesEveryGroupSplitOfAFencedSession) {
  make_group("other");
  committed({PutExecutorGroup{{.group = make_group("executors")}}});
  const auto old_store = std::move(store_);
  open_session();
  for (const char* name : {"other", "executors", "nobody's"}) {
    const auto split = old_store->read(SplitGroup{{.group = name, .parts = 2}});
    ASSERT_FALSE(split.ok());
    EXPECT_EQ(split.error().code, ErrorCode::kDenied) << split.error().message;
  }
  EXPECT_THAT(ask<StartAnswer>(ReadStart{}).groups, SizeIs(3));
}

TEST_P(StoreContract, RefusesACommitWithAnOutOfSequenceNumber) {
  committed({});
  for (const std::int64_t number : {number_, number_ + 2}) {
    const auto result = store_->commit({.number = number, .operations = {AddJob{new_job()}}});
    const auto* back = std::get_if<RolledBack>(&result);
    ASSERT_NE(back, nullptr);
    EXPECT_TRUE(back->fenced);
  }
  EXPECT_THAT(waiting(group_), IsEmpty());
}

TEST_P(StoreContract, HandsThePreviousSessionsStateToTheNext) {
  auto fresh = ask<StartAnswer>(ReadStart{});
  EXPECT_EQ(fresh.last_alive, WallTime{});
  EXPECT_EQ(fresh.id_high, 0);
  const auto running_job = running(new_job());
  const auto definition = new_definition("hourly");
  committed({AddDefinition{definition, std::nullopt}});
  auto retry = new_occurrence(definition);
  retry.attempt = 2;
  auto retry_of_one_shot = new_job();
  retry_of_one_shot.attempt = 1;
  auto far_retry = delayed_one(new_occurrence(definition));
  far_retry.attempt = 1;
  auto retry_of_gone = new_occurrence(definition);
  retry_of_gone.definition = DefinitionId{definition.id.value + 5};
  retry_of_gone.attempt = 1;
  committed({AddJob{retry}, AddJob{retry_of_one_shot}, AddJob{new_occurrence(definition)},
             AddJob{far_retry}, AddJob{delayed_one(new_occurrence(definition))},
             AddJob{retry_of_gone}});
  const auto id_high = last_id_;

  open_session();
  open_session();  // a session that committed nothing hides nothing

  const auto start = ask<StartAnswer>(ReadStart{});
  EXPECT_EQ(start.id_high, id_high);
  EXPECT_EQ(start.last_alive, kNow);
  EXPECT_THAT(start.executing, ElementsAre(running_job));
  EXPECT_THAT(start.definitions, ElementsAre(definition));
  EXPECT_THAT(start.retries, ElementsAre(retry, far_retry, retry_of_gone));
  ASSERT_THAT(start.groups, SizeIs(1));
  EXPECT_EQ(start.groups.front().name, "default");
}

TEST_P(StoreContract, ReadsOnlyUnsettledDefinitionsOfKnownPartitions) {
  const auto known = new_definition("known");
  const auto unsettled = new_definition("unsettled");
  auto unknown = new_definition("unknown");
  unknown.group = make_group("other");
  ASSERT_NE(partition_of(unknown.group), partition_of(group_));
  committed({AddDefinition{known, std::nullopt}, AddDefinition{unsettled, std::nullopt},
             AddDefinition{unknown, std::nullopt}});
  std::vector<WaitingJob> retries;
  for (const Definition& one : {known, unsettled, unknown}) {
    retries.push_back(new_occurrence(one));
    retries.back().attempt = 1;
    retries.push_back(delayed_one(new_occurrence(one)));
    retries.back().attempt = 1;
  }
  for (std::size_t i = 4; i < retries.size(); ++i) retries[i].group = unknown.group;
  for (const WaitingJob& retry : retries) committed({AddJob{retry}});

  ReadStart question{.unsettled = {unsettled.id}};
  question.known.set(static_cast<std::size_t>(partition_of(group_)));
  const auto start = ask<StartAnswer>(question);

  EXPECT_THAT(start.definitions, ElementsAre(unsettled, unknown));
  EXPECT_THAT(start.retries, ElementsAre(retries[2], retries[3], retries[4], retries[5]));
}

TEST_P(StoreContract, RemembersTheHighestDefinitionIdAfterItsRemoval) {
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).definition_high, DefinitionId{});
  const auto kept = new_definition("kept");
  const auto removed = new_definition("removed");
  committed({AddDefinition{kept, std::nullopt}, AddDefinition{removed, std::nullopt}});
  committed({ChangeDefinition{.id = removed.id, .expected_version = 1, .group = group_}});
  open_session();
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).definition_high, std::max(kept.id, removed.id));
}

TEST_P(StoreContract, UnrecoveredSessionDoesNotAdvanceTheLastAliveTime) {
  committed({});
  now_ = kNow + 100 * kSecond;
  recovered_ = false;
  open_session();
  committed({});
  open_session();
  committed({});
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).last_alive, kNow);

  recovered_ = true;
  committed({});
  recovered_ = false;
  committed({});
  open_session();
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).last_alive, kNow + 100 * kSecond);
}

TEST_P(StoreContract, ClockMovedBackLowersTheLastAliveTime) {
  now_ = kNow + 100 * kSecond;
  committed({});
  now_ = kNow;
  recovered_ = false;
  open_session();
  committed({});
  open_session();
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).last_alive, kNow);

  now_ = kNow + 100 * kSecond;
  recovered_ = true;
  committed({});
  now_ = kNow + kSecond;
  open_session();
  committed({});
  open_session();
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).last_alive, kNow + kSecond);
}

// Whoever gave it: a session that has begun but committed nothing hides nothing.
TEST_P(StoreContract, ReportsTheLongestLeaseThatMayStillBeValid) {
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).lease, Duration{}) << "of an older program";
  session_.lease = std::chrono::seconds{10};
  open_session();
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).lease, std::chrono::seconds{10});
  committed({});
  session_.lease = std::chrono::seconds{2};
  open_session();
  open_session();
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).lease, std::chrono::seconds{10});
  committed({});
  open_session();
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).lease, std::chrono::seconds{10});

  const Batch over{.number = ++number_, .lease = session_.lease, .now = now_};
  ASSERT_TRUE(std::holds_alternative<Committed>(store_->commit(over)));
  open_session();
  EXPECT_EQ(ask<StartAnswer>(ReadStart{}).lease, std::chrono::seconds{2});
}

TEST_P(StoreContract, SettlesACommitWhoseAnswerWasLost) {
  committed({});
  const auto job = new_job();
  database_->cut_next_commit(true);

  const auto result = commit({AddJob{job}});

  const auto* unknown = std::get_if<Unknown>(&result);
  ASSERT_NE(unknown, nullptr);
  EXPECT_THAT(unknown->if_committed.outcomes, ElementsAre(Outcome{}));
  const auto settled = store_->settle(number_ + 1);
  ASSERT_TRUE(settled.ok()) << settled.error().message;
  EXPECT_TRUE(settled.value());
  ++number_;
  EXPECT_THAT(waiting(group_), ElementsAre(job));
  EXPECT_EQ(outcome(AddJob{new_job()}), kDone);
}

TEST_P(StoreContract, SettlesACommitThatNeverArrived) {
  committed({});
  const auto job = new_job();
  database_->cut_next_commit(false);

  ASSERT_TRUE(std::holds_alternative<Unknown>(commit({AddJob{job}})));

  const auto settled = store_->settle(number_ + 1);
  ASSERT_TRUE(settled.ok()) << settled.error().message;
  EXPECT_FALSE(settled.value());
  EXPECT_THAT(waiting(group_), IsEmpty());
  EXPECT_EQ(outcome(AddJob{job}), kDone);
  EXPECT_THAT(waiting(group_), ElementsAre(job));
}

TEST_P(StoreContract, MoveWhoseCommitNeverArrivedLeavesRowsInPlace) {
  const auto waiting_job = new_job();
  committed({AddJob{waiting_job}});
  const auto running_job = running(new_job());
  auto delayed = waiting_job;
  delayed.delayed = true;
  const End end = end_to_run_again(running_job);

  const std::vector<Operation> moves{Claim{claimed(waiting_job)}, end,
                                     ChangeWaiting{.from = waiting_job, .to = delayed}};
  for (const Operation& move : moves) {
    database_->cut_next_commit(false);

    ASSERT_TRUE(std::holds_alternative<Unknown>(commit({move})));

    const auto settled = store_->settle(number_ + 1);
    ASSERT_TRUE(settled.ok()) << settled.error().message;
    EXPECT_FALSE(settled.value());
    EXPECT_THAT(waiting(group_), ElementsAre(waiting_job));
    EXPECT_THAT(executing(), ElementsAre(running_job));
    EXPECT_THAT(history(), IsEmpty());
  }
  EXPECT_THAT(outcomes(moves), ElementsAre(OutcomeKind::kConflict, kDone, kDone));
}

TEST_P(StoreContract, AnswersAResentRequestWithTheStoredAnswer) {
  const auto job = new_keyed_job("once");
  const auto blocked = new_keyed_job("once");
  const NumberedRequest request{
      .client = 5, .sequence = 1, .answer = std::string{"yes\0\xFF", 5}, .operation_count = 2};

  const auto first = committed({AddJob{job}, AddJob{blocked}}, {request});
  const auto resent =
      committed({AddJob{job}, AddJob{blocked}, AddJob{new_job()}},
                {{.client = 5, .sequence = 1, .answer = "another", .operation_count = 2}});

  const Outcome held{.kind = kTaken, .existing_job = job.id};
  EXPECT_THAT(first.outcomes, ElementsAre(Outcome{}, held));
  ASSERT_THAT(first.requests, SizeIs(1));
  EXPECT_FALSE(first.requests[0].answered_before);
  EXPECT_THAT(resent.outcomes,
              ElementsAre(Outcome{.kind = kAnswered}, Outcome{.kind = kAnswered}, Outcome{}));
  ASSERT_THAT(resent.requests, SizeIs(1));
  EXPECT_TRUE(resent.requests[0].answered_before);
  EXPECT_EQ(resent.requests[0].answer, request.answer);
  EXPECT_THAT(resent.requests[0].outcomes, ElementsAre(Outcome{}, held));
  EXPECT_THAT(waiting(group_), SizeIs(2));
}

TEST_P(StoreContract, AnswersResentRequestsAcrossSessionsAndAfterTheJobEnded) {
  const auto job = new_keyed_job("once");
  committed({AddJob{job}}, {{.client = 5, .sequence = 1, .answer = "yes", .operation_count = 1}});
  committed({ChangeWaiting{.from = job}});
  open_session();

  const auto resent =
      committed({AddJob{job}}, {{.client = 5, .sequence = 1, .operation_count = 1}});

  EXPECT_EQ(resent.requests.at(0).answer, "yes");
  EXPECT_THAT(waiting(group_), IsEmpty());
}

TEST_P(StoreContract, RemembersSixteenAnswersPerClient) {
  for (std::int64_t sequence = 1; sequence <= 18; ++sequence) {
    committed({}, {{.client = 5, .sequence = sequence, .answer = std::to_string(sequence)}});
  }
  const auto again = [&](std::int64_t client, std::int64_t sequence) {
    return committed({}, {{.client = client, .sequence = sequence, .answer = "new"}})
        .requests.at(0);
  };
  EXPECT_EQ(again(5, 18).answer, "18");
  EXPECT_EQ(again(5, 3).answer, "3");
  EXPECT_TRUE(again(5, 2).answered_before);
  EXPECT_EQ(again(5, 2).answer, "");
  EXPECT_FALSE(again(6, 2).answered_before);
  EXPECT_FALSE(again((std::int64_t{1} << 59) - 1, 2).answered_before);
  EXPECT_EQ(again((std::int64_t{1} << 59) - 1, 2).answer, "new");
}

TEST_P(StoreContract, AcceptsSeveralRequestsOfAClientInOneBatch) {
  const auto result = committed(
      {AddJob{new_job()}, AddJob{new_job()}, AddJob{new_job()}},
      {{.client = 5, .sequence = 1, .answer = "a", .first_operation = 0, .operation_count = 1},
       {.client = 5, .sequence = 17, .answer = "b", .first_operation = 1, .operation_count = 1},
       {.client = 5, .sequence = 1, .answer = "c", .first_operation = 2, .operation_count = 1}});

  EXPECT_FALSE(result.requests.at(0).answered_before);
  EXPECT_FALSE(result.requests.at(1).answered_before);
  EXPECT_TRUE(result.requests.at(2).answered_before);
  EXPECT_THAT(waiting(group_), SizeIs(2));
  EXPECT_EQ(committed({}, {{.client = 5, .sequence = 17}}).requests.at(0).answer, "b");
}

TEST_P(StoreContract, ForgetsClientsAfterLongSilence) {
  committed({}, {{.client = 5, .sequence = 1, .answer = "old"}});
  EXPECT_EQ(committed({Purge{.clients_before = kNow}}).outcomes.at(0).count, 0);
  EXPECT_EQ(committed({Purge{.clients_before = kNow + kSecond}}).outcomes.at(0).count, 1);
  EXPECT_FALSE(committed({}, {{.client = 5, .sequence = 1}}).requests.at(0).answered_before);
}

// Halves a batch as the batcher does, until the operations that can never succeed stand alone.
struct Halved {
  std::vector<std::size_t> refused{};
  std::size_t done = 0;
};

TEST_P(StoreContract, FindsTheOneBadOperationAmongAHundred) {
  const auto stored = new_job();
  committed({AddJob{stored}});
  std::vector<Operation> operations;
  for (int i = 0; i < 100; ++i) operations.push_back(AddJob{i == 37 ? stored : new_job()});

  Halved halved;
  const std::function<void(std::size_t, std::size_t)> run = [&](std::size_t first,
                                                                std::size_t last) {
    const auto result = commit({operations.begin() + static_cast<std::ptrdiff_t>(first),
                                operations.begin() + static_cast<std::ptrdiff_t>(last)});
    if (std::holds_alternative<Committed>(result)) {
      halved.done += last - first;
      return;
    }
    const auto& back = std::get<RolledBack>(result);
    EXPECT_EQ(back.error.code, ErrorCode::kInvalidArgument) << back.error.message;
    EXPECT_FALSE(back.fenced);
    EXPECT_TRUE(back.culprit || last - first > 1);
    if (back.culprit) {
      const std::size_t bad = first + *back.culprit;
      halved.refused.push_back(bad);
      if (bad > first) run(first, bad);
      if (bad + 1 < last) run(bad + 1, last);
      return;
    }
    run(first, (first + last) / 2);
    run((first + last) / 2, last);
  };
  run(0, operations.size());

  EXPECT_THAT(halved.refused, ElementsAre(37U));
  EXPECT_EQ(halved.done, 99U);
  EXPECT_THAT(waiting(group_), SizeIs(100));
}

TEST_P(StoreContract, DoesNotBlameAnInnocentOperationForAFailedBatch) {
  const auto one = new_job();
  const auto other = new_job();
  committed({AddJob{one}, AddJob{other}});
  LogEntry entry = new_log(one);
  entry.feedback_to = "billing";
  const ChangeWaiting ends{.from = one, .log = entry};
  const ChangeWaiting ends_with_its_row{.from = other, .log = entry};
  const std::vector<Operation> innocent = {RemoveFeedback{.client_group = "billing", .ids = {1}},
                                           RemoveAlarm{1}, Purge{.log_before = kNow},
                                           CleanLog{.before = 1}};
  for (const Operation& operation : innocent) {
    const auto result = commit({operation, ends, ends_with_its_row});
    const auto* back = std::get_if<RolledBack>(&result);
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(back->error.code, ErrorCode::kInvalidArgument);
    EXPECT_NE(back->culprit, 0U) << operation.index();
  }
}

TEST_P(StoreContract, NamesTheOperationOnAnUnknownGroup) {
  auto lost = new_job();
  lost.group = GroupId{99};
  const std::vector<Operation> bad = {AddJob{lost}, AddJob{delayed_one(lost)}, Claim{claimed(lost)},
                                      ChangeWaiting{.from = lost}};
  for (const Operation& operation : bad) {
    const auto result = commit({AddJob{new_job()}, operation, AddJob{new_job()}});
    const auto* back = std::get_if<RolledBack>(&result);
    ASSERT_NE(back, nullptr);
    EXPECT_EQ(back->error.code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(back->error.message, ::testing::HasSubstr("group 99"));
    EXPECT_EQ(back->culprit, 1U);
  }
  EXPECT_THAT(waiting(group_), IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
