#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/job/bucket.h"
#include "tests/support/query_pages.h"

// What is defined, of one job tracker that has all of it in memory, and of two that have some each.
namespace carillon::jobtracker {
namespace {

using carillon::testing::every_page;
using carillon::testing::job_cron;
using carillon::testing::job_every;
using carillon::testing::job_fixed_delay;
using carillon::testing::job_manual;
using carillon::testing::text_of;
using carillon::testing::texts_of;
using carillon::testing::TrackerBundle;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::IsEmpty;
using ::testing::SizeIs;

JobSpec of_group(const std::string& group, JobSpec job) {
  job.group = group;
  return job;
}

wire::Rows first_page(TrackerBundle& bundle, const wire::Query& query) {
  const auto correlation = bundle.client.query(query);
  bundle.run_until([&] { return bundle.client.answer_to_query(correlation) != nullptr; });
  return std::get<wire::Rows>(*bundle.client.answer_to_query(correlation));
}

// The first looks after "ours" and the first part of "large", the second after all else.
struct TwoOwners {
  TwoOwners()
      : first({.start = false, .wanted = Partitions{}}),
        second({.start = false, .wanted = Partitions{}, .beside = &first}) {
    Partitions owned;
    for (const char* name : {"ours", "large", "theirs"}) {
      const auto group = first.database.make_group(name, first.now()).value().id;
      if (name != std::string{"theirs"}) owned.set(static_cast<std::size_t>(partition_of(group)));
    }
    EXPECT_TRUE(
        first.database.split_group({.group = "large", .parts = 2}, all_partitions(), first.now())
            .ok());
    first.want(owned);
    second.want(~owned);
    for (TrackerBundle* one : {&first, &second}) {
      one->start_tracker();
      one->run_until([one] { return one->tracker().is_ready(); });
    }
    first.run_for(seconds{1});
  }

  void define(JobSpec job) {
    const bool is_of_first =
        job.group == "ours" ||
        (job.group == "large" && part_of_bucket(bucket_of(job.task_id), 2) == 0);
    EXPECT_EQ((is_of_first ? first : second).submit(job).reason, "") << job.task_id;
  }
  void define_some() {
    for (int i = 0; i < 10; ++i) {
      for (const char* group : {"large", "ours", "theirs"}) {
        const std::string task = std::string{group} + "-" + std::to_string(i);
        define(of_group(group, i % 2 == 0 ? job_cron(task, "0 0 3 * * ?") : job_manual(task)));
      }
    }
  }
  // In the order of their ids.
  std::vector<std::string> stored(const std::string& of = "") const {
    std::vector<std::string> tasks;
    for (const auto& [id, one] : first.tables().definitions) {
      if (one.task_id.starts_with(of)) tasks.push_back(one.task_id);
    }
    return tasks;
  }

  TrackerBundle first;
  TrackerBundle second;
};

TEST(ListOfTwoJobTrackers, MergesOwnAndOtherDefinitionsAtAnyPageSize) {
  TwoOwners owners;
  owners.define_some();
  ASSERT_THAT(owners.stored(), SizeIs(30));
  for (TrackerBundle* asked : {&owners.first, &owners.second}) {
    for (const std::int64_t limit : {1, 7, 30, 0}) {
      const auto rows = every_page(*asked, {.what = "list", .limit = limit});
      EXPECT_THAT(texts_of(rows, "task_id"), ElementsAreArray(owners.stored())) << limit;
    }
    const auto large = every_page(*asked, {.what = "list", .group = "large", .limit = 3});
    EXPECT_THAT(texts_of(large, "task_id"), ElementsAreArray(owners.stored("large")));
    EXPECT_THAT(texts_of(large, "group"), ::testing::Each("large"));
  }
}

TEST(ListOfTwoJobTrackers, ReadsOnlyTheDefinitionsOfThePage) {
  TwoOwners owners;
  owners.define_some();
  std::vector<std::size_t> read;
  owners.first.on_read = [&](const Result<ReadAnswer>& answer) {
    ASSERT_TRUE(std::holds_alternative<DefinitionsAnswer>(answer.value()));
    read.push_back(std::get<DefinitionsAnswer>(answer.value()).definitions.size());
  };
  EXPECT_THAT(first_page(owners.first, {.what = "list", .limit = 4}).rows, SizeIs(4));
  EXPECT_THAT(read, ElementsAre(4));
  read.clear();
  EXPECT_THAT(every_page(owners.first, {.what = "list", .limit = 12}), SizeIs(30));
  EXPECT_THAT(read, ElementsAre(12, 12, 6)) << "each once";
  read.clear();
  EXPECT_THAT(every_page(owners.first, {.what = "list", .group = "large", .limit = 6}), SizeIs(10));
  EXPECT_THAT(read, ElementsAre(6, 4)) << "of the group only";
  read.clear();
  EXPECT_THAT(every_page(owners.first, {.what = "list", .task_id = "theirs-3"}), SizeIs(1));
  EXPECT_THAT(read, ElementsAre(1)) << "of the task only";
}

TEST(ListOfTwoJobTrackers, ShowsADefinitionExactlyAsItsOwnerDoes) {
  TwoOwners owners;
  JobSpec ahead = job_cron("ahead", "0/5 * * * * ?");
  ahead.overlap = Overlap::kParallel;
  JobSpec counted = job_every("counted", seconds{20});
  counted.schedule.count = 2;
  JobSpec described = job_cron("described", "0 30 2 * * ?");
  described.schedule.tz = "Europe/Berlin";
  described.priority = 7;
  described.description = "at night";
  described.owner = "ops";
  for (const JobSpec& job : {ahead, counted, described, job_fixed_delay("again", minutes{1}),
                             job_every("held", minutes{3}), job_manual("manual")}) {
    owners.define(of_group("theirs", job));
  }
  owners.second.act({.verb = wire::Verb::kSuspend, .group = "theirs", .task_id = "held"});
  owners.first.run_for(minutes{2});

  const auto its_owners = every_page(owners.second, {.what = "list"});
  const auto others = every_page(owners.first, {.what = "list"});
  ASSERT_THAT(others, SizeIs(6));
  EXPECT_EQ(others, its_owners);
  std::map<std::string, std::string> states;
  for (const wire::Row& row : others) states[text_of(row, "task_id")] = text_of(row, "state");
  EXPECT_EQ(states["held"], "suspended");
  EXPECT_EQ(states["ahead"], "active");
}

TEST(ListOfTwoJobTrackers, FindsATaskIdInGroupsOfBothJobTrackers) {
  TwoOwners owners;
  owners.define_some();
  for (const char* group : {"theirs", "large", "ours"}) {
    owners.define(of_group(group, job_manual("same")));
  }
  for (TrackerBundle* asked : {&owners.first, &owners.second}) {
    const auto groups = [&](const std::string& group, std::int64_t limit) {
      auto rows =
          every_page(*asked, {.what = "list", .group = group, .task_id = "same", .limit = limit});
      auto names = texts_of(rows, "group");
      std::sort(names.begin(), names.end());
      return names;
    };
    EXPECT_THAT(groups("", 0), ElementsAre("large", "ours", "theirs"));
    EXPECT_THAT(groups("", 1), ElementsAre("large", "ours", "theirs"));
    EXPECT_THAT(groups("large", 0), ElementsAre("large"));
    EXPECT_THAT(every_page(*asked, {.what = "list", .task_id = "nobody's"}), IsEmpty());
  }
}

// Asks like a client: when the first is not the owner, the other one is asked. No addresses are
// known here, so the answer is not Redirect.
std::vector<wire::Row> rows_of(TrackerBundle& asked, TrackerBundle& other, wire::Query query) {
  std::vector<wire::Row> rows;
  do {
    const auto answer_of = [&query](TrackerBundle& bundle) {
      const auto correlation = bundle.client.query(query);
      bundle.run_until([&] { return bundle.client.answer_to_query(correlation) != nullptr; });
      return *bundle.client.answer_to_query(correlation);
    };
    wire::Message answer = answer_of(asked);
    if (!std::holds_alternative<wire::Rows>(answer)) answer = answer_of(other);
    auto& page = std::get<wire::Rows>(answer);
    rows.insert(rows.end(), page.rows.begin(), page.rows.end());
    query.after = page.next;
  } while (!query.after.empty());
  return rows;
}

TEST(NodesAndGroups, AreTheSameAtEachOfTwoJobTrackers) {
  TwoOwners owners;
  owners.first.add_worker({.name = "w1", .group = "ours"});
  owners.second.add_worker({.name = "w2", .group = "theirs"});
  owners.first.run_for(seconds{1});
  for (const char* what : {"groups", "nodes"}) {
    const auto at_first = rows_of(owners.first, owners.second, {.what = what});
    EXPECT_EQ(rows_of(owners.second, owners.first, {.what = what}), at_first) << what;
    EXPECT_THAT(texts_of(at_first, "group"), ::testing::IsSupersetOf({"ours", "theirs"})) << what;
  }
}

TEST(List, FindsATaskIdInEachGroup) {
  TrackerBundle bundle;
  for (const char* group : {"a", "b", "c"}) {
    bundle.submit({of_group(group, job_manual("same")), of_group(group, job_manual("other"))});
  }
  for (const std::int64_t limit : {0, 1, 2}) {
    const auto rows = every_page(bundle, {.what = "list", .task_id = "same", .limit = limit});
    EXPECT_THAT(texts_of(rows, "group"), ElementsAre("a", "b", "c")) << limit;
  }
  const auto rows = every_page(bundle, {.what = "list", .group = "b", .task_id = "same"});
  EXPECT_THAT(texts_of(rows, "group"), ElementsAre("b"));
}

TEST(List, BoundsTheDefinitionsScannedPerPage) {
  TrackerBundle bundle;
  bundle.submit(of_group("few", job_manual("first")));
  for (int i = 0; i < 10; ++i) {
    std::vector<JobSpec> jobs;
    for (int j = 0; j < 1'000; ++j)
      jobs.push_back(of_group("many", job_manual(std::to_string(i) + "-" + std::to_string(j))));
    bundle.submit(std::move(jobs));
  }
  bundle.submit(of_group("few", job_manual("last")));
  const wire::Query few{.what = "list", .group = "few"};
  const auto page = first_page(bundle, few);
  EXPECT_THAT(texts_of(page.rows, "task_id"), ElementsAre("first"));
  EXPECT_NE(page.next, "") << "there may be more";
  EXPECT_THAT(texts_of(every_page(bundle, few), "task_id"), ElementsAre("first", "last"));
  const auto many = every_page(bundle, {.what = "list", .group = "many"});
  EXPECT_THAT(many, SizeIs(10'000));
}

TEST(ListOfTwoJobTrackers, FiltersAreTheSameAtEach) {
  TwoOwners owners;
  owners.define_some();
  for (TrackerBundle* asked : {&owners.first, &owners.second}) {
    for (const std::int64_t limit : {1, 4, 0}) {
      const auto found = [&](wire::Query query) {
        query.what = "list";
        query.limit = limit;
        return every_page(*asked, query).size();
      };
      EXPECT_EQ(found({.states = {"active"}}), 30U);
      EXPECT_EQ(found({.states = {"suspended"}}), 0U);
      EXPECT_EQ(found({.kinds = {"cron"}}), 15U);
      EXPECT_EQ(found({.text = "S-3"}), 2U);
      EXPECT_EQ(found({.task_prefix = "large"}), 10U);
      EXPECT_EQ(found({.owner = "nobody"}), 0U);
    }
  }
}

TEST(Parents, AreFoundInGroupsOfBothJobTrackers) {
  TwoOwners owners;
  owners.define_some();
  for (const char* group : {"theirs", "large", "ours"}) {
    JobSpec parent = job_manual(std::string{"parent-"} + group);
    parent.children = {{.group = "large", .task_id = "large-1"}};
    owners.define(of_group(group, parent));
  }
  for (TrackerBundle* asked : {&owners.first, &owners.second}) {
    auto found = texts_of(
        every_page(*asked, {.what = "parents", .group = "large", .task_id = "large-1"}), "task_id");
    std::sort(found.begin(), found.end());
    EXPECT_THAT(found, ElementsAre("parent-large", "parent-ours", "parent-theirs"));
    EXPECT_THAT(every_page(*asked, {.what = "parents", .group = "ours", .task_id = "large-1"}),
                IsEmpty());
  }
}

// Fires by minute since 1970, of all rows of a calendar.
std::map<std::int64_t, std::int64_t> fires_by_minute(const std::vector<wire::Row>& rows) {
  std::map<std::int64_t, std::int64_t> fires;
  for (const std::string& counts : texts_of(rows, "minutes")) {
    std::istringstream words{counts};
    for (std::string word; words >> word;)
      fires[std::stoll(word)] += std::stoll(word.substr(word.find(':') + 1));
  }
  return fires;
}

TEST(CalendarOfTwoJobTrackers, CountsTheFiresOfBoth) {
  TwoOwners owners;
  const WallTime from =
      std::chrono::ceil<std::chrono::hours>(owners.first.now()) + std::chrono::hours{1};
  for (const char* group : {"theirs", "large", "ours"}) {
    const std::string name = group;
    owners.define(of_group(group, job_cron(name + "-cron", "0 */15 * * * ?")));
    owners.define(of_group(group, job_every(name + "-every", minutes{30})));
    owners.define(of_group(group, job_manual(name + "-manual")));
  }
  owners.define(of_group("ours", job_cron("held", "0 */15 * * * ?")));
  owners.first.act({.verb = wire::Verb::kSuspend, .group = "ours", .task_id = "held"});
  const auto minute = std::chrono::floor<minutes>(from.time_since_epoch()).count();
  wire::Query query{.what = "calendar",
                    .since_us = from.time_since_epoch().count(),
                    .until_us = (from + minutes{60}).time_since_epoch().count()};
  for (TrackerBundle* asked : {&owners.first, &owners.second}) {
    TrackerBundle& other = asked == &owners.first ? owners.second : owners.first;
    query.what = "calendar";
    std::int64_t of_cron = 0;
    std::int64_t all = 0;
    for (const auto& [at, fires] : fires_by_minute(rows_of(*asked, other, query))) {
      all += fires;
      if ((at - minute) % 15 == 0 && at < minute + 60) of_cron += std::min<std::int64_t>(fires, 3);
    }
    EXPECT_EQ(of_cron, 12) << "each quarter of an hour, in three groups";
    EXPECT_EQ(all, 18) << "and two of each interval";
    query.what = "fires";
    query.limit = 5;
    EXPECT_THAT(rows_of(*asked, other, query), SizeIs(18));
    query.limit = 0;
  }
}

}  // namespace
}  // namespace carillon::jobtracker
