#include "tests/contract/store_contract.h"

// What is counted of the log, and what people delete from it.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kAllRows = 1'000'000'000;

TEST_P(StoreContract, CountsLogRowsPerHalfHourIncludingPurgedRows) {
  const GroupId other = make_group("other");
  const auto ended = [&](LogState state, WallTime at, std::int64_t count = 1, bool final = true) {
    LogEntry entry = new_log(new_job());
    entry.state = state;
    entry.ended_at = at;
    entry.count = count;
    entry.final = final;
    return entry;
  };
  LogEntry elsewhere = ended(LogState::kFailed, kNow);
  elsewhere.group = other;
  committed({AddLog{ended(LogState::kSucceeded, kNow)}, AddLog{elsewhere},
             AddLog{ended(LogState::kFailed, kNow + 1799 * kSecond, 1, false)}});
  committed({AddLog{ended(LogState::kSucceeded, kNow + 60 * kSecond)},
             AddLog{ended(LogState::kMissed, kNow + 60 * kSecond, 7)},
             AddLog{ended(LogState::kSucceeded, kNow + 1800 * kSecond)}});
  const auto counts = [this](WallTime from, WallTime until, std::vector<GroupId> groups = {}) {
    return ask<LogCountAnswer>(CountLog{.from = from, .until = until, .groups = groups}).counts;
  };
  const WallTime half = kNow + kCountSlot;
  const LogCount succeeded{.group = group_, .state = LogState::kSucceeded, .ends = 2};
  const LogCount retried{.group = group_, .state = LogState::kFailed, .final = false, .ends = 1};
  const LogCount missed{.group = group_, .state = LogState::kMissed, .ends = 7};
  const LogCount failed{.group = other, .state = LogState::kFailed, .ends = 1};
  EXPECT_THAT(counts(kNow, half), ElementsAre(succeeded, retried, missed, failed));
  EXPECT_THAT(counts(kNow, half, {other}), ElementsAre(failed));
  const LogCount later{.group = group_, .state = LogState::kSucceeded, .ends = 1};
  EXPECT_THAT(counts(half, half + kCountSlot), ElementsAre(later));

  committed({Purge{.log_before = half + kCountSlot, .limit = 100}});
  EXPECT_THAT(history(), IsEmpty());
  EXPECT_THAT(counts(kNow, half), SizeIs(4));
  committed({Purge{.counts_before = half}});
  EXPECT_THAT(counts(kNow, half), IsEmpty());
  EXPECT_THAT(counts(half, half + kCountSlot), ElementsAre(later));
}

// Whatever the index has of it: nothing, some of it, or all but what goes.
TEST_P(StoreContract, LogIndexDoesNotChangeHistoryResults) {
  const std::vector<GroupId> groups{group_, make_group("other")};
  std::vector<LogEntry> all;
  for (int i = 0; i < 90; ++i) {
    LogEntry entry = new_log(new_job());
    if (i % 3 != 0) entry.task_id = "task " + std::to_string(i % 7);
    entry.group = groups[i % 2];
    entry.state = static_cast<LogState>(i % 11);
    entry.ended_at = kNow + i * kSecond;
    all.insert(all.begin(), entry);
  }
  write_log(all);
  const auto expect_same = [&](const ListHistory& question) {
    std::vector<LogEntry> expected;
    for (const LogEntry& entry : all) {
      const bool fits = (question.task_id.empty() || entry.task_id == question.task_id) &&
                        (!question.job_id || entry.job_id == question.job_id) &&
                        is_of(question.groups, entry.group) &&
                        is_one_of(question.states, entry.state) &&
                        entry.ended_at >= question.since &&
                        (question.before_id == 0 || entry.id < question.before_id);
      if (fits && static_cast<std::int64_t>(expected.size()) < question.limit)
        expected.push_back(entry);
    }
    EXPECT_EQ(ask<HistoryAnswer>(question).entries, expected);
  };
  const auto expect_all_the_same = [&] {
    const JobId job = all[all.size() / 2].job_id;
    const std::vector<LogState> states{LogState::kFailed, LogState::kKilled};
    for (const std::int64_t limit : {1, 5, 100}) {
      expect_same({.task_id = "task 1", .limit = limit});
      expect_same({.task_id = "task 2", .states = states, .limit = limit});
      expect_same({.job_id = job, .limit = limit});
      expect_same({.states = states, .limit = limit});
      expect_same({.groups = {groups[1]}, .limit = limit});
      expect_same({.groups = groups, .states = states, .limit = limit});
      expect_same({.groups = groups, .since = kNow + 20 * kSecond, .limit = limit});
      expect_same({.task_id = "task 3", .before_id = all[30].id, .limit = limit});
      expect_same({.limit = limit});
    }
  };
  expect_all_the_same();
  log_settled_ = all[10].id;
  const IndexLog step{.rows = 8, .slice_rows = 20};
  // A slice ends with a step of 4 rows. Then all that is settled is in the index.
  for (const std::int64_t rows : {8, 8, 4, 8, 8, 4, 8, 8, 4, 8, 8, 4, 0}) {
    EXPECT_EQ(committed({step}).outcomes.front().count, rows);
    expect_all_the_same();
  }
  committed({CleanLog{.task_id = "task 1", .before = kAllRows, .limit = 50}});
  std::erase_if(all, [&](const LogEntry& entry) {
    return entry.task_id == "task 1" && entry.ended_at < kNow + 50 * kSecond;
  });
  expect_all_the_same();
  for (int i = 0; i < 40; ++i) {
    committed({Purge{.log_before = kNow + 60 * kSecond, .limit = 5}});
    std::size_t left = 5;
    while (left-- > 0 && !all.empty() && all.back().ended_at < kNow + 60 * kSecond) all.pop_back();
    expect_all_the_same();
  }
}

TEST_P(StoreContract, CountsEveryLogStateInOneBatch) {
  std::vector<Operation> adds;
  for (int state = 0; state <= static_cast<int>(LogState::kCancelled); ++state) {
    for (int slot = 0; slot < 13; ++slot) {
      LogEntry entry = new_log(new_job());
      entry.state = static_cast<LogState>(state);
      entry.ended_at = kNow + slot * kCountSlot;
      adds.push_back(AddLog{entry});
    }
  }
  committed(std::move(adds));
  std::int64_t all = 0;
  const CountLog question{.from = kNow, .until = kNow + 13 * kCountSlot};
  for (const LogCount& one : ask<LogCountAnswer>(question).counts) all += one.ends;
  EXPECT_EQ(all, 11 * 13);
}

TEST_P(StoreContract, CleansTheLogOfAGroupOrTaskInSteps) {
  const GroupId other = make_group("other");
  std::vector<LogEntry> entries;
  std::vector<Operation> adds;
  for (int i = 0; i < 6; ++i) {
    LogEntry entry = new_log(new_job());
    entry.attempt = 1;
    entry.task_id = i % 2 == 0 ? "even" : "odd";
    if (i == 5) entry.group = other;
    entries.push_back(entry);
    adds.push_back(AddOutput{{.job_id = entry.job_id, .attempt = 1, .sequence = 1}});
    adds.push_back(AddLog{entry});
  }
  committed(std::move(adds));
  const auto step = [this](CleanLog clean) {
    const Outcome outcome = committed({clean}).outcomes.front();
    return std::pair{outcome.count, outcome.next};
  };
  CleanLog odd{.groups = {group_}, .task_id = "odd", .before = kAllRows, .limit = 3};
  EXPECT_EQ(step(odd), std::pair(std::int64_t{1}, entries[2].id));
  odd.after = entries[2].id;
  EXPECT_EQ(step(odd), std::pair(std::int64_t{1}, entries[5].id));
  odd.after = entries[5].id;
  EXPECT_EQ(step(odd), std::pair(std::int64_t{0}, std::int64_t{0}));
  EXPECT_THAT(history(), ElementsAre(entries[5], entries[4], entries[2], entries[0]));
  const auto output_of = [&](const LogEntry& entry) {
    return ask<OutputAnswer>(ListOutput{.job_id = entry.job_id, .limit = 10}).rows;
  };
  EXPECT_THAT(output_of(entries[1]), IsEmpty());
  EXPECT_THAT(output_of(entries[2]), SizeIs(1));

  EXPECT_EQ(step({.before = entries[4].id, .limit = 100}).first, 2);
  EXPECT_THAT(history(), ElementsAre(entries[5], entries[4]));
  EXPECT_EQ(step({.before = kAllRows, .limit = 100}).first, 2);
  EXPECT_THAT(history(), IsEmpty());
}

TEST_P(StoreContract, CleaningKeepsLogRowsOfWaitingAndExecutingJobs) {
  const WaitingJob waits = new_job();
  const WaitingJob later = delayed_one(new_job());
  const WaitingJob ended = new_job();
  const ExecutingJob runs = running(new_job());
  committed({AddJob{waits}, AddJob{later}});
  std::vector<LogEntry> entries;
  for (const WaitingJob& job : {waits, later, runs.job, ended}) {
    LogEntry entry = new_log(job);
    entry.attempt = 1;
    entry.final = false;
    entries.push_back(entry);
    committed({AddLog{entry}});
  }
  const CleanLog all{.before = kAllRows, .limit = 100};
  EXPECT_EQ(committed({all}).outcomes.front().count, 1);
  EXPECT_THAT(history(), ElementsAre(entries[2], entries[1], entries[0]));
  committed({End{.id = runs.job.id, .attempt = runs.job.attempt, .group = group_}});
  EXPECT_EQ(committed({all}).outcomes.front().count, 1);
}

TEST_P(StoreContract, CleaningKeepsLogRowsOfJobsWaitingInSplitGroups) {
  std::vector<Operation> operations;
  for (int i = 0; i < 16; ++i) {
    const WaitingJob job = new_keyed_job("task-" + std::to_string(i));
    operations.push_back(AddJob{job});
    operations.push_back(AddLog{new_log(job)});
  }
  committed(std::move(operations));
  ask<GroupAnswer>(SplitGroup{{.group = "DEFAULT", .parts = 4}});
  open_session();
  const CleanLog all{.before = kAllRows, .limit = 100};
  EXPECT_EQ(committed({all}).outcomes.front().count, 0);
  EXPECT_THAT(history(), SizeIs(16));
}

}  // namespace
}  // namespace carillon::jobtracker
