#include "jobtracker/store/memory_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::jobtracker {
namespace {

struct Bundle {
  ManualClock clock;
  MemoryDatabase database;
  MemoryStore store{database, {.session = SessionId{1}, .name = "tracker"}, clock};
  GroupId group = std::get<GroupAnswer>(store.read(MakeGroup{"default"}).value()).group.id;

  Batch batch(std::int64_t number, std::int64_t job) const {
    return {.number = number, .operations = {AddJob{{.id = JobId{job}, .group = group}}}};
  }
  std::size_t waiting() const { return database.tables().waiting.at(group).size(); }
};

TEST(MemoryStore, FailsOneCallPerInjectedFault) {
  Bundle bundle;
  bundle.store.fail_next(MemoryFault::kUnavailable);
  bundle.store.fail_next(MemoryFault::kUnavailable);

  const auto result = bundle.store.commit(bundle.batch(1, 1));
  EXPECT_EQ(std::get<RolledBack>(result).error.code, ErrorCode::kUnavailable);
  EXPECT_EQ(bundle.store.read(ReadStart{}).error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(bundle.waiting(), 0U);

  EXPECT_TRUE(std::holds_alternative<Committed>(bundle.store.commit(bundle.batch(1, 1))));
}

TEST(MemoryStore, RollsBackALostCommit) {
  Bundle bundle;
  bundle.store.fail_next(MemoryFault::kUnknownLost);

  EXPECT_TRUE(std::holds_alternative<Unknown>(bundle.store.commit(bundle.batch(1, 1))));
  EXPECT_EQ(bundle.waiting(), 0U);
  EXPECT_FALSE(bundle.store.settle(1).value());
  EXPECT_TRUE(std::holds_alternative<Committed>(bundle.store.commit(bundle.batch(1, 1))));
  EXPECT_TRUE(bundle.store.settle(1).value());
}

TEST(MemoryStore, RollsBackABatchWithABadOperation) {
  Bundle bundle;
  const WaitingJob kept{.id = JobId{1}, .group = bundle.group, .task_id = "a", .keyed = true};
  bundle.store.commit({.number = 1, .operations = {AddJob{kept}}});
  auto moved = kept;
  moved.priority = 7;

  const auto result = bundle.store.commit(
      {.number = 2,
       .operations = {ChangeWaiting{.from = kept, .to = moved},
                      AddDefinition{.definition = {.id = DefinitionId{1}, .group = bundle.group}},
                      PutNode{{.session = SessionId{1}, .group = bundle.group}},
                      AddJob{{.id = JobId{1}, .group = bundle.group}}},
       .requests = {{.client = 1, .sequence = 1, .answer = "a"}}});

  EXPECT_EQ(std::get<RolledBack>(result).culprit, 3U);
  const MemoryTables& tables = bundle.database.tables();
  EXPECT_EQ(*tables.waiting.at(bundle.group).find(JobId{1}), kept);
  EXPECT_TRUE(tables.definitions.empty());
  EXPECT_EQ(tables.keys.size(), 1U);
  EXPECT_TRUE(tables.nodes.empty());
  EXPECT_FALSE(tables.groups.at(bundle.group).served);
  EXPECT_TRUE(tables.answers.empty());
}

TEST(MemoryStore, RefusesAJobStoredInAnyTable) {
  Bundle bundle;
  const WaitingJob job{.id = JobId{1}, .group = bundle.group};
  auto claimed = job;
  claimed.attempt = 1;
  bundle.store.commit({.number = 1, .operations = {AddJob{job}}});
  bundle.store.commit({.number = 2, .operations = {Claim{{.job = claimed}}}});
  auto again = job;
  again.delayed = true;

  const auto result = bundle.store.commit({.number = 3, .operations = {AddJob{again}}});
  EXPECT_EQ(std::get<RolledBack>(result).error.code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace carillon::jobtracker
