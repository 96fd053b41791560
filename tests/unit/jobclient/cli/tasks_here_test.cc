#include "jobclient/cli/tasks_here.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon::cli {
namespace {

using ::testing::ElementsAre;

constexpr int kHistoryRows = 1000;
constexpr int kHistoryPage = 100;

std::string task_name(int i) { return "task-" + std::to_string(i); }

// The history of group ops: a row of each task, in pages. Of other groups nothing is known.
wire::Message history_of_ops(const wire::Message& request) {
  const auto& query = std::get<wire::Query>(request);
  if (query.group != "ops") {
    return wire::ErrorReply{Error{ErrorCode::kNotFound, "no group '" + query.group + "'"}};
  }
  const int from = query.after.empty() ? 0 : std::stoi(query.after);
  wire::Rows page;
  for (int i = from; i < from + kHistoryPage && i < kHistoryRows; ++i) {
    if (query.task_id.empty() || query.task_id == task_name(i))
      page.rows.push_back({{"task_id", task_name(i)}, {"state", std::string{"succeeded"}}});
  }
  if (query.task_id.empty() && from + kHistoryPage < kHistoryRows)
    page.next = std::to_string(from + kHistoryPage);
  return page;
}

struct TasksHereBundle {
  std::vector<std::string> find(const std::set<TaskKey>& tasks) {
    const auto client = tracker.open({.trackers = {"tcp://127.0.0.1:1"}});
    std::vector<std::string> found;
    const Status status = find_tasks(*client.value(), &JobClient::history, tasks,
                                     [&](const TaskKey& task, const Row& row) {
                                       EXPECT_EQ(field_text(row, "task_id"), task.second);
                                       found.push_back(task.second);
                                     });
    EXPECT_TRUE(status.ok());
    return found;
  }
  std::size_t questions() { return tracker.asked<wire::Query>().size(); }

  FakeTracker tracker{history_of_ops};
};

TEST(TasksHere, LooksUpAFewTasksOneByOne) {
  TasksHereBundle b;
  EXPECT_THAT(b.find({{"ops", "task-7"}, {"ops", "never-ran"}, {"elsewhere", "task-7"}}),
              ElementsAre("task-7"));
  EXPECT_EQ(b.questions(), 3u);
}

TEST(TasksHere, ScansAllRowsOnceForManyTasks) {
  TasksHereBundle b;
  std::set<TaskKey> tasks;
  for (int i = 0; i < 49; ++i) tasks.insert({"ops", task_name(20 * i)});
  tasks.insert({"ops", "never-ran"});
  EXPECT_EQ(b.find(tasks).size(), 49u);
  EXPECT_EQ(b.questions(), 10u) << "the pages";
}

TEST(TasksHere, StopsScanningWhenAllTasksAreFound) {
  TasksHereBundle b;
  std::set<TaskKey> tasks;
  for (int i = 0; i < 50; ++i) tasks.insert({"ops", task_name(i)});
  EXPECT_EQ(b.find(tasks).size(), 50u);
  EXPECT_EQ(b.questions(), 1u);
}

TEST(TasksHere, AsksOnceForAnUnknownGroup) {
  TasksHereBundle b;
  std::set<TaskKey> tasks;
  for (int i = 0; i < 50; ++i) tasks.insert({"elsewhere", task_name(i)});
  EXPECT_TRUE(b.find(tasks).empty());
  EXPECT_EQ(b.questions(), 1u);
}

}  // namespace
}  // namespace carillon::cli
