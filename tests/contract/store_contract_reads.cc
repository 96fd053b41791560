#include <algorithm>
#include <limits>

#include "shared/job/bucket.h"
#include "tests/contract/store_contract.h"

// Groups, and every question that can be asked.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

TEST_P(StoreContract, CreatesAGroupOnceRegardlessOfCase) {
  const auto first = ask<GroupAnswer>(MakeGroup{"Mail.EU"}).group;
  EXPECT_EQ(first.name, "Mail.EU");
  EXPECT_EQ(first.table, "lts_wjq_mail_eu");
  EXPECT_EQ(first.created_at, clock_.wall_now());
  EXPECT_EQ(ask<GroupAnswer>(MakeGroup{"mail.eu"}).group, first);
  EXPECT_EQ(ask<GroupAnswer>(MakeGroup{"MAIL.EU"}).group, first);
  EXPECT_EQ(ask<GroupAnswer>(MakeGroup{"Mail.EU"}).group, first);
  EXPECT_EQ(ask<GroupAnswer>(FindGroup{"mail.EU"}).group, first);
  const auto none = store_->read(FindGroup{"mail.us"});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, ErrorCode::kNotFound);
  EXPECT_EQ(none.error().message, "there is no group 'mail.us'");
}

TEST_P(StoreContract, SplitsAGroupWithAllItsJobsAndDefinitions) {
  std::vector<Operation> adds;
  std::vector<std::string> tasks;
  const auto name = [&](const char* kind, int i) {
    tasks.push_back(std::string{kind} + "-" + std::to_string(i));
    return tasks.back();
  };
  for (int i = 0; i < 16; ++i) {
    adds.push_back(AddJob{new_keyed_job(name("waiting", i))});
    auto delayed = new_keyed_job(name("delayed", i));
    delayed.delayed = true;
    delayed.trigger_time = kNow + 3600 * kSecond;
    adds.push_back(AddJob{delayed});
    adds.push_back(AddExecuting{claimed(new_keyed_job(name("executing", i)))});
    adds.push_back(AddDefinition{.definition = new_definition(name("defined", i))});
  }
  committed(std::move(adds));
  const GroupId other = make_group("other");
  const auto found_of = [&](GroupId group, const std::string& task) {
    const auto found = ask<FindAnswer>(Find{.group = group, .task_id = task});
    return found.waiting || found.executing || found.definition;
  };

  const auto whole = ask<GroupAnswer>(SplitGroup{{.group = "DEFAULT", .parts = 4}}).group;
  EXPECT_EQ(whole.id, group_);
  const auto start = ask<StartAnswer>(ReadStart{});
  ASSERT_THAT(start.groups, SizeIs(5));
  EXPECT_EQ(start.groups[1].id, other);
  std::vector<GroupId> parts{group_};
  for (std::size_t i = 2; i < 5; ++i) {
    parts.push_back(start.groups[i].id);
    EXPECT_EQ(start.groups[i].name, "default/" + std::to_string(i - 1));
  }
  for (const std::string& task : tasks) {
    const auto its = static_cast<std::size_t>(part_of_bucket(bucket_of(task), 4));
    for (std::size_t part = 0; part < 4; ++part) {
      EXPECT_EQ(found_of(parts[part], task), part == its) << task << " in part " << part;
    }
  }
  std::size_t waiting_rows = 0;
  std::size_t delayed_rows = 0;
  for (const GroupId part : parts) {
    waiting_rows += waiting(part).size();
    delayed_rows += waiting(part, true).size();
  }
  EXPECT_EQ(waiting_rows, 16U);
  EXPECT_EQ(delayed_rows, 16U);
  EXPECT_THAT(ask<ExecutingAnswer>(ListExecuting{.groups = parts, .limit = 100}).jobs, SizeIs(16));

  const auto again = store_->read(SplitGroup{{.group = "default", .parts = 4}});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, ErrorCode::kInvalidArgument);
  // What is done with a part from then on, is done with it alone.
  const auto kept = std::find_if(tasks.begin(), tasks.end(), [](const std::string& task) {
    return part_of_bucket(bucket_of(task), 4) == 3;
  });
  auto twice = new_keyed_job(*kept);
  twice.group = parts[3];
  EXPECT_THAT(outcomes({AddJob{twice}}), ElementsAre(OutcomeKind::kTaken));
}

TEST_P(StoreContract, GivesGroupsWithSimilarNamesSeparateTables) {
  const std::string long_name(60, 'x');
  std::vector<std::string> tables;
  for (const std::string& name : {std::string{"a-b"}, std::string{"a.b"}, std::string{"a_b"},
                                  long_name + "1234", long_name + "5678"}) {
    const auto group = ask<GroupAnswer>(MakeGroup{name}).group;
    EXPECT_EQ(group.name, name);
    EXPECT_LE(group.table.size(), 64U);
    tables.push_back(group.table);

    auto job = new_job();
    job.group = group.id;
    EXPECT_EQ(outcome(AddJob{job}), OutcomeKind::kDone);
    EXPECT_THAT(waiting(group.id), ElementsAre(job));
  }
  EXPECT_THAT(tables, ElementsAre("lts_wjq_a_b", "lts_wjq_a_b_2", "lts_wjq_a_b_3",
                                  "lts_wjq_" + std::string(56, 'x'),
                                  "lts_wjq_" + std::string(54, 'x') + "_2"));
}

TEST_P(StoreContract, RefusesInvalidGroupNames) {
  for (const std::string& name : {std::string{}, std::string{"a b"}, std::string{"x;drop table"},
                                  std::string(65, 'x'), std::string{"gr\xC3\xBCn"}}) {
    const auto answer = store_->read(MakeGroup{name});
    ASSERT_FALSE(answer.ok()) << name;
    EXPECT_EQ(answer.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST_P(StoreContract, DoesNotFindAGroupThatWasNeverCreated) {
  const GroupId none{99};
  for (const Read& question :
       {Read{ReadDue{.group = none, .limit = 1}}, Read{ReadUpcoming{.group = none, .limit = 1}},
        Read{ListWaiting{.group = none, .limit = 1}}, Read{Find{.group = none, .task_id = "x"}},
        Read{ReadDefinition{.group = none, .task_id = "x"}},
        Read{ReadOccurrences{.group = none, .limit = 1}}}) {
    const auto answer = store_->read(question);
    ASSERT_FALSE(answer.ok()) << question.index();
    EXPECT_EQ(answer.error().code, ErrorCode::kNotFound) << answer.error().message;
  }
}

TEST_P(StoreReads, ReadsDueJobsPageByPageInHandOutOrder) {
  auto expected = add_many(300);
  std::erase_if(expected, [](const WaitingJob& job) { return due_time(job) > kNow; });
  sort_by_order(expected);

  std::vector<WaitingJob> read;
  std::optional<HandOutKey> after;
  for (;;) {
    const auto page =
        ask<JobsAnswer>(ReadDue{.group = group_, .now = kNow, .after = after, .limit = 7}).jobs;
    read.insert(read.end(), page.begin(), page.end());
    if (page.size() < 7) break;
    after = hand_out_key(page.back());
  }
  EXPECT_EQ(read, expected);
  EXPECT_EQ(ask<JobsAnswer>(ReadDue{.group = group_, .now = kNow, .limit = 1000}).jobs, expected);
}

TEST_P(StoreReads, ReadsUpcomingJobsPageByPageByTime) {
  auto expected = add_many(300);
  std::erase_if(expected, [](const WaitingJob& job) {
    return due_time(job) <= kNow || due_time(job) > kNow + 2 * kSecond;
  });
  std::sort(expected.begin(), expected.end(),
            [](const WaitingJob& a, const WaitingJob& b) { return due_key(a) < due_key(b); });
  ASSERT_THAT(expected, ::testing::Not(IsEmpty()));

  std::vector<WaitingJob> read;
  ReadUpcoming question{.group = group_,
                        .after_time = kNow,
                        .after_id = JobId{std::numeric_limits<std::int64_t>::max()},
                        .through = kNow + 2 * kSecond,
                        .limit = 7};
  for (;;) {
    const auto page = ask<JobsAnswer>(question).jobs;
    read.insert(read.end(), page.begin(), page.end());
    if (page.size() < 7) break;
    question.after_time = due_time(page.back());
    question.after_id = page.back().id;
  }
  EXPECT_EQ(read, expected);
}

TEST_P(StoreReads, ListsAllWaitingJobsPageByPage) {
  auto expected = add_many(100);
  sort_by_order(expected);
  std::vector<WaitingJob> read;
  std::optional<HandOutKey> after;
  for (;;) {
    const auto page =
        ask<JobsAnswer>(ListWaiting{.group = group_, .after = after, .limit = 9}).jobs;
    read.insert(read.end(), page.begin(), page.end());
    if (page.size() < 9) break;
    after = hand_out_key(page.back());
  }
  EXPECT_EQ(read, expected);
}

TEST_P(StoreReads, ReadsDelayedJobsExceptSuspendedOnes) {
  auto early = delayed_one(new_job());
  early.trigger_time = kNow + kSecond;
  auto late = delayed_one(new_job());
  late.not_before = kNow + 3 * kSecond;
  late.group = make_group("other");
  auto asleep = delayed_one(new_job());
  asleep.trigger_time = kNow - kSecond;
  asleep.suspended = true;
  auto far = delayed_one(new_job());
  far.trigger_time = kNow + 60 * kSecond;
  committed({AddJob{late}, AddJob{far}, AddJob{asleep}, AddJob{early}});

  const auto due = [&](std::int64_t limit) {
    return ask<JobsAnswer>(ReadDelayed{.through = kNow + 3 * kSecond, .limit = limit}).jobs;
  };
  EXPECT_THAT(due(10), ElementsAre(early, late));
  EXPECT_THAT(due(1), ElementsAre(early));
}

TEST_P(StoreReads, ListsDelayedJobsByTimeIncludingSuspendedOnes) {
  std::vector<WaitingJob> mine;
  std::vector<Operation> adds;
  const GroupId other = make_group("other");
  for (int i = 0; i < 20; ++i) {
    auto job = new_job();
    const WallTime due = kNow + (i / 4) * kSecond;
    job.trigger_time = i % 3 == 0 ? kNow - kSecond : due;
    job.not_before = due;
    job.suspended = i % 2 == 0;
    job.group = i % 5 == 0 ? other : group_;
    job.delayed = true;
    adds.push_back(AddJob{job});
    if (job.group == group_) mine.push_back(job);
  }
  committed(std::move(adds));

  std::vector<WaitingJob> read;
  std::optional<HandOutKey> after;
  for (;;) {
    const auto page =
        ask<JobsAnswer>(ListWaiting{.group = group_, .delayed = true, .after = after, .limit = 3})
            .jobs;
    read.insert(read.end(), page.begin(), page.end());
    if (page.size() < 3) break;
    after = hand_out_key(page.back());
  }
  EXPECT_EQ(read, mine);
  EXPECT_THAT(delayed(), SizeIs(20));
}

TEST_P(StoreReads, FindsTheHolderOfATaskIdInAnyTable) {
  const auto waiting_job = new_keyed_job("waiting");
  const auto delayed_job = delayed_one(new_keyed_job("delayed"));
  const auto definition = new_definition("defined");
  const auto executing_job = running(new_keyed_job("executing"));
  committed({AddJob{waiting_job}, AddJob{delayed_job}, AddDefinition{definition, {}}});

  EXPECT_EQ(find("waiting").waiting, waiting_job);
  EXPECT_EQ(find("delayed").waiting, delayed_job);
  EXPECT_EQ(find("executing").executing, executing_job);
  EXPECT_EQ(find("defined").definition, definition.id);
  const auto nothing = find("nobody");
  EXPECT_FALSE(nothing.waiting || nothing.executing || nothing.definition);

  const auto anywhere = ask<FindAnswer>(Find{.task_id = "waiting"});
  EXPECT_EQ(anywhere.waiting, waiting_job);
  const auto elsewhere = ask<FindAnswer>(Find{.group = make_group("other"), .task_id = "waiting"});
  EXPECT_FALSE(elsewhere.waiting);
}

TEST_P(StoreReads, FindsJobsByGeneratedTaskIdAndByJobId) {
  const auto made_up = new_job();
  const auto keyed = new_keyed_job("mine");
  committed({AddJob{made_up}, AddJob{keyed}});

  EXPECT_EQ(find(made_up.task_id).waiting, made_up);
  EXPECT_FALSE(find("job-" + std::to_string(keyed.id.value)).waiting);
  EXPECT_FALSE(find("job-0" + std::to_string(made_up.id.value)).waiting);
  EXPECT_EQ(ask<FindAnswer>(Find{.job_id = keyed.id}).waiting, keyed);
  EXPECT_EQ(ask<FindAnswer>(Find{.group = group_, .job_id = keyed.id}).waiting, keyed);
  EXPECT_FALSE(ask<FindAnswer>(Find{.group = make_group("other"), .job_id = keyed.id}).waiting);
}

TEST_P(StoreReads, ReadsADefinitionByItsTaskId) {
  const auto hourly = new_definition("hourly");
  committed({AddDefinition{hourly, {}}, AddJob{new_keyed_job("job")}});
  const auto read = [&](GroupId group, const std::string& task_id) {
    return ask<DefinitionAnswer>(ReadDefinition{.group = group, .task_id = task_id}).definition;
  };
  EXPECT_EQ(read(group_, "hourly"), hourly);
  EXPECT_FALSE(read(group_, "job"));
  EXPECT_FALSE(read(group_, "nobody"));
  EXPECT_FALSE(read(make_group("other"), "hourly"));
}

TEST_P(StoreReads, ListsDefinitionsOfAllKindsPageByPage) {
  const GroupId other = make_group("other");
  std::vector<Operation> adds;
  std::vector<Definition> all;
  for (int i = 0; i < 10; ++i) {
    auto one = new_definition("task " + std::to_string(i));
    if (i % 2 == 0) one.kind = ScheduleKind::kEvery;
    if (i % 3 == 0) one.group = other;
    all.push_back(one);
    adds.push_back(AddDefinition{one, {}});
  }
  std::reverse(adds.begin(), adds.end());
  committed(std::move(adds));

  const auto list = [&](std::vector<GroupId> groups, DefinitionId after, std::int64_t limit) {
    return ask<DefinitionsAnswer>(
        ListDefinitions{.groups = std::move(groups), .after = after, .limit = limit});
  };
  EXPECT_EQ(list({}, {}, 100).definitions, all);
  EXPECT_EQ(list({}, {}, 100).next, DefinitionId{}) << "that was all";
  EXPECT_THAT(list({}, all[3].id, 3).definitions, ElementsAre(all[4], all[5], all[6]));
  EXPECT_EQ(list({}, all[3].id, 3).next, all[6].id);
  EXPECT_THAT(list({}, all[9].id, 3).definitions, IsEmpty());
  EXPECT_EQ(list({}, all[9].id, 3).next, DefinitionId{});
  EXPECT_THAT(list({other}, all[0].id, 2).definitions, ElementsAre(all[3], all[6]));
  EXPECT_THAT(list({other}, all[6].id, 2).definitions, ElementsAre(all[9]));
  EXPECT_EQ(list({other, group_}, {}, 100).definitions, all);
  EXPECT_THAT(list({make_group("empty")}, {}, 100).definitions, IsEmpty());
}

TEST_P(StoreReads, ListsMoreDefinitionsThanOneStatementReads) {
  std::vector<Operation> adds;
  for (int i = 0; i < 700; ++i) {
    auto one = new_definition("task " + std::to_string(i));
    if (i % 3 == 0) one.kind = ScheduleKind::kManual;
    adds.push_back(AddDefinition{one, {}});
  }
  committed(std::move(adds));
  const auto answer = ask<DefinitionsAnswer>(ListDefinitions{.limit = 650});
  auto first = definitions();
  first.resize(650);
  EXPECT_EQ(answer.definitions, first);
  EXPECT_EQ(answer.next, first.back().id);
}

TEST_P(StoreReads, ListsTheDefinitionsOfATaskId) {
  std::vector<Definition> of_task;
  std::vector<GroupId> groups{group_, make_group("second"), make_group("third")};
  std::vector<Operation> adds;
  for (const GroupId group : groups) {
    for (const char* task : {"nightly", "nightly ", "hourly"}) {
      auto one = new_definition(task);
      one.group = group;
      if (group == groups[1]) one.kind = ScheduleKind::kFixedDelay;
      if (one.task_id == "nightly") of_task.push_back(one);
      adds.push_back(AddDefinition{one, {}});
    }
  }
  adds.push_back(AddJob{new_keyed_job("once")});
  committed(std::move(adds));

  const auto list = [&](std::vector<GroupId> some, const std::string& task, DefinitionId after,
                        std::int64_t limit) {
    return ask<DefinitionsAnswer>(ListDefinitions{
        .groups = std::move(some), .task_id = task, .after = after, .limit = limit});
  };
  EXPECT_EQ(list({}, "nightly", {}, 9).definitions, of_task);
  EXPECT_EQ(list({}, "nightly", {}, 9).next, DefinitionId{});
  EXPECT_THAT(list({}, "nightly", of_task[0].id, 1).definitions, ElementsAre(of_task[1]));
  EXPECT_EQ(list({}, "nightly", of_task[0].id, 1).next, of_task[1].id);
  EXPECT_THAT(list({groups[2]}, "nightly", {}, 9).definitions, ElementsAre(of_task[2]));
  EXPECT_THAT(list({}, "once", {}, 9).definitions, IsEmpty()) << "it is none";
  EXPECT_THAT(list({}, "nobody's", {}, 9).definitions, IsEmpty());
}

TEST_P(StoreReads, ReadsTheOccurrencesOfADefinition) {
  const auto definition = new_definition("hourly");
  const auto other = new_definition("daily");
  const auto first = new_occurrence(definition);
  auto second = new_occurrence(definition);
  second.attempt = 1;
  const auto third = new_occurrence(definition);
  committed({AddDefinition{definition, first}, AddDefinition{other, new_occurrence(other)}});
  committed({AddJob{second}, AddJob{third}, Claim{claimed(first)}});

  const auto read = [&](std::int64_t limit) {
    return ask<JobsAnswer>(
               ReadOccurrences{.definition = definition.id, .group = group_, .limit = limit})
        .jobs;
  };
  EXPECT_THAT(read(10), ElementsAre(second, third)) << "the first executes";
  EXPECT_THAT(read(1), ElementsAre(second)) << "it is tried again";
}

TEST_P(StoreReads, ReadsTheUntriedOccurrencesOfADefinitionPageByPage) {
  const auto definition = new_definition("hourly");
  const auto other = new_definition("daily");
  const auto first = new_occurrence(definition);
  auto tried = new_occurrence(definition);
  tried.attempt = 1;
  auto delayed = new_occurrence(definition);
  delayed.delayed = true;
  const auto third = new_occurrence(definition);
  committed({AddDefinition{definition, first}, AddDefinition{other, new_occurrence(other)}});
  committed({AddJob{tried}, AddJob{delayed}, AddJob{third}});

  const auto read = [&](JobId before, std::int64_t limit) {
    return ask<JobsAnswer>(ReadOccurrences{.definition = definition.id,
                                           .group = group_,
                                           .limit = limit,
                                           .untried_before = before})
        .jobs;
  };
  const JobId all{std::numeric_limits<std::int64_t>::max()};
  EXPECT_THAT(read(all, 10), ElementsAre(third, delayed, first));
  EXPECT_THAT(read(all, 2), ElementsAre(third, delayed));
  EXPECT_THAT(read(delayed.id, 2), ElementsAre(first));
  EXPECT_THAT(read(first.id, 2), IsEmpty());
}

TEST_P(StoreReads, ListsExecutingJobsPageByPage) {
  const GroupId other = make_group("other");
  std::vector<Operation> adds;
  std::vector<Operation> claims;
  std::vector<ExecutingJob> all;
  for (int i = 0; i < 10; ++i) {
    auto job = new_job();
    if (i % 3 == 0) job.group = other;
    adds.push_back(AddJob{job});
    claims.push_back(Claim{claimed(job)});
    all.push_back(claimed(job));
  }
  committed(std::move(adds));
  committed(std::move(claims));

  const auto list = [&](std::vector<GroupId> groups, JobId after, std::int64_t limit) {
    return ask<ExecutingAnswer>(
               ListExecuting{.groups = std::move(groups), .after = after, .limit = limit})
        .jobs;
  };
  EXPECT_EQ(list({}, {}, 100), all);
  EXPECT_THAT(list({}, all[3].job.id, 2), ElementsAre(all[4], all[5]));
  EXPECT_THAT(list({other}, all[3].job.id, 10), ElementsAre(all[6], all[9]));
  EXPECT_EQ(list({other, all[1].job.group}, {}, 100), all);
}

TEST_P(StoreReads, ListsHistoryNewestFirstAndFiltered) {
  const GroupId other = make_group("other");
  std::vector<LogEntry> all;
  for (int i = 0; i < 12; ++i) {
    auto job = new_keyed_job(i % 2 == 0 ? "even" : "odd");
    if (i % 3 == 0) job.group = other;
    auto entry = new_log(job);
    entry.ended_at = kNow + i * kSecond;
    entry.state = static_cast<LogState>(i % 11);
    entry.final = i % 2 == 0;
    entry.count = i;
    if (i % 4 == 0) entry.exit_code.reset();
    all.insert(all.begin(), entry);
  }
  write_log(all);

  const auto list = [&](ListHistory question) {
    if (question.limit == 0) question.limit = 100;
    return ask<HistoryAnswer>(question).entries;
  };
  EXPECT_EQ(list({}), all);
  EXPECT_THAT(list({.limit = 2}), ElementsAre(all[0], all[1]));
  EXPECT_THAT(list({.before_id = all[1].id, .limit = 2}), ElementsAre(all[2], all[3]));
  EXPECT_THAT(list({.since = kNow + 10 * kSecond}), ElementsAre(all[0], all[1]));
  EXPECT_THAT(list({.groups = {other}, .task_id = "even"}), ElementsAre(all[5], all[11]));
  EXPECT_THAT(list({.job_id = all[4].job_id}), ElementsAre(all[4]));
  EXPECT_THAT(list({.task_id = "even "}), IsEmpty());
}

// MySQL takes them for the same.
TEST_P(StoreReads, ListsATasksHistoryDespiteIdsDifferingInTrailingBlanks) {
  const auto wanted = new_log(new_keyed_job("a"));
  write_log({wanted, new_log(new_keyed_job("a ")), new_log(new_keyed_job("a "))});

  EXPECT_THAT(ask<HistoryAnswer>(ListHistory{.task_id = "a", .limit = 1}).entries,
              ElementsAre(wanted));
}

TEST_P(StoreReads, FindsAnOldLogRowBehindThousandsOfOthers) {
  const auto job = new_job();
  const auto wanted = new_log(job);
  std::vector<LogEntry> entries{wanted};
  for (int i = 0; i < 7000; ++i) entries.push_back(new_log(new_job()));
  write_log(std::move(entries));

  EXPECT_THAT(ask<HistoryAnswer>(ListHistory{.job_id = job.id, .since = kNow, .limit = 5}).entries,
              ElementsAre(wanted));
}

TEST_P(StoreReads, SearchesAJobsHistoryOnlyAboveItsJobId) {
  const auto job = new_job();
  auto before = new_log(job);
  before.id = job.id.value - 1;
  const auto after = new_log(job);
  write_log({before, after});

  EXPECT_THAT(ask<HistoryAnswer>(ListHistory{.job_id = job.id, .limit = 5}).entries,
              ElementsAre(after));
}

TEST_P(StoreReads, ListsOutputPageByPage) {
  std::vector<OutputRow> all;
  std::vector<Operation> adds;
  for (int attempt = 1; attempt <= 2; ++attempt) {
    for (int sequence = 1; sequence <= 3; ++sequence) {
      all.push_back({.job_id = JobId{5},
                     .attempt = attempt,
                     .sequence = sequence,
                     .stream = sequence,
                     .at = kNow + sequence * kSecond,
                     .bytes = "line"});
      adds.push_back(AddOutput{all.back()});
    }
  }
  adds.push_back(AddOutput{{.job_id = JobId{6}, .attempt = 1, .sequence = 1}});
  committed(std::move(adds));

  const auto list = [&](std::int32_t attempt, std::int64_t sequence, std::int64_t limit) {
    return ask<OutputAnswer>(ListOutput{.job_id = JobId{5},
                                        .after_attempt = attempt,
                                        .after_sequence = sequence,
                                        .limit = limit})
        .rows;
  };
  EXPECT_EQ(list(0, 0, 100), all);
  EXPECT_THAT(list(1, 2, 2), ElementsAre(all[2], all[3]));
  EXPECT_THAT(list(2, 3, 2), IsEmpty());
}

TEST_P(StoreReads, CountsWaitingAndDueJobsPerGroup) {
  const GroupId other = make_group("other");
  auto future = new_job();
  future.not_before = kNow + kSecond;
  auto asleep = delayed_one(new_job());
  asleep.group = other;
  committed({AddJob{new_job()}, AddJob{new_job()}, AddJob{future}, AddJob{asleep}});

  const auto groups = ask<CountAnswer>(CountWaiting{.now = kNow}).groups;
  ASSERT_THAT(groups, SizeIs(2));
  EXPECT_EQ(groups[0].group, group_);
  EXPECT_EQ(groups[0].waiting, 3);
  EXPECT_EQ(groups[0].due, 2);
  EXPECT_EQ(groups[1].waiting, 1);
  EXPECT_EQ(groups[1].due, 0);
  EXPECT_EQ(groups[1].due_since, WallTime{});
  const auto due = ask<CountAnswer>(CountWaiting{.now = kNow, .only_due = true}).groups;
  ASSERT_THAT(due, SizeIs(2));
  EXPECT_EQ(due[0],
            (CountAnswer::PerGroup{
                .group = group_, .waiting = 2, .due = 2, .due_since = groups[0].due_since}));
  EXPECT_EQ(due[1], CountAnswer::PerGroup{.group = other});
}

TEST_P(StoreReads, FindsTheGroupsThatHaveWaitingJobsAmongEmptyOnes) {
  std::vector<GroupId> groups{group_};
  for (int i = 1; i < 20; ++i) groups.push_back(make_group("group-" + std::to_string(i)));
  std::vector<WaitingJob> jobs;
  for (const std::size_t at : {3, 4, 15}) {
    jobs.push_back(new_job());
    jobs.back().group = groups[at];
    committed({AddJob{jobs.back()}});
  }
  const auto expect_found = [&](const std::vector<WaitingJob>& expected) {
    std::map<GroupId, std::int64_t> waiting;
    for (const WaitingJob& job : expected) ++waiting[job.group];
    for (const auto& one : ask<CountAnswer>(CountWaiting{.now = kNow}).groups)
      EXPECT_EQ(one.waiting, waiting[one.group]) << one.group.value;
    std::vector<WaitingJob> listed;
    ListWaiting question{.group = group_, .and_later_groups = true, .limit = 2};
    for (auto page = ask<JobsAnswer>(question).jobs; !page.empty();
         page = ask<JobsAnswer>(question).jobs) {
      listed.insert(listed.end(), page.begin(), page.end());
      question.group = page.back().group;
      question.after = hand_out_key(page.back());
    }
    EXPECT_EQ(listed, expected);
    for (const WaitingJob& job : expected)
      EXPECT_EQ(ask<FindAnswer>(Find{.job_id = job.id}).waiting, job);
  };
  expect_found(jobs);
  committed({ChangeWaiting{.from = jobs[1]}});
  for (int i = 0; i < 9; ++i) {
    clock_.advance(kSecond);
    committed({});
    expect_found({jobs[0], jobs[2]});
  }
  jobs[1].id = new_job().id;
  committed({AddJob{jobs[1]}});
  expect_found(jobs);
  open_session();
  expect_found(jobs);
}

TEST_P(StoreReads, CountsRequestedGroupsAndReportsTheOldestDueTime) {
  const GroupId other = make_group("other");
  auto urgent = new_job();
  urgent.priority = 1;
  auto tried_again = new_job();
  tried_again.trigger_time = kNow - 9 * kSecond;
  tried_again.not_before = kNow - 2 * kSecond;
  auto late = new_job();
  late.trigger_time = kNow - 5 * kSecond;
  auto elsewhere = new_job();
  elsewhere.group = other;
  committed({AddJob{urgent}, AddJob{tried_again}, AddJob{late}, AddJob{elsewhere}});

  const auto groups = ask<CountAnswer>(CountWaiting{.now = kNow, .groups = {group_}}).groups;
  EXPECT_THAT(groups,
              ElementsAre(CountAnswer::PerGroup{
                  .group = group_, .waiting = 3, .due = 3, .due_since = kNow - 5 * kSecond}));
}

TEST_P(StoreReads, AnswersQueriesOnASeparateReadOnlyConnection) {
  auto reader = database_->open_reader();
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  const auto job = new_job();
  committed({AddJob{job}});
  const GroupId later = make_group("later");
  auto other = new_job();
  other.group = later;
  committed({AddJob{other}});

  EXPECT_THAT(ask_of<JobsAnswer>(*reader.value(), ListWaiting{.group = group_, .limit = 5}).jobs,
              ElementsAre(job));
  EXPECT_THAT(ask_of<JobsAnswer>(*reader.value(), ListWaiting{.group = later, .limit = 5}).jobs,
              ElementsAre(other));
  const auto refused = reader.value()->read(MakeGroup{"mine"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace carillon::jobtracker
