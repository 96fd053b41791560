#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/wire/codec.h"
#include "tests/unit/jobtracker/push/push_bundle.h"

// What executors want done with the jobs of their app.
namespace carillon::jobtracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::IsEmpty;

ManageJob each_second() {
  ManageJob call{.verb = ManageJob::Verb::kAdd, .app_name = "app"};
  call.job.name = "orders";
  call.job.author = "ann";
  call.job.schedule_type = "CRON";
  call.job.schedule_conf = "* * * * * ?";
  call.job.handler = "importOrders";
  call.job.glue_type = "BEAN";
  return call;
}

// The text of its success, or of its refusal.
std::string manage(Pushed& test, const ManageJob& call) {
  std::optional<std::string> answer;
  test.bundle.tracker().manage(call, [&](const Result<std::string>& result) {
    answer = result.ok() ? result.value() : result.error().message;
  });
  EXPECT_TRUE(test.bundle.run_until([&] { return answer.has_value(); }));
  return answer.value_or("no answer");
}

TEST(Management, AddedJobIsStoppedInitially) {
  Pushed test;
  auto& one = test.executor(kOne);
  test.bundle.connection().work_time = [] { return milliseconds{700}; };
  test.bundle.tracker().manage(each_second(), [](const Result<std::string>&) {});
  bool is_stored = false;
  for (int i = 0; i < 100; ++i) {
    test.bundle.run_for(milliseconds{50});
    const Definition* definition = test.bundle.definition("xxl-1");
    if (definition == nullptr) continue;
    is_stored = true;
    EXPECT_EQ(definition->state, DefinitionState::kSuspended) << i;
    EXPECT_THAT(test.bundle.waiting("xxl-1"), IsEmpty()) << i;
  }
  EXPECT_TRUE(is_stored);
  EXPECT_THAT(one.calls, IsEmpty());

  test.bundle.connection().work_time = [] { return milliseconds{1}; };
  ManageJob start = each_second();
  start.verb = ManageJob::Verb::kStart;
  start.job.id = 1;
  EXPECT_EQ(manage(test, start), "");
  test.bundle.run_for(seconds{10});
  EXPECT_NEAR(static_cast<double>(one.calls.size()), 10, 1);
}

TEST(Management, StartAndStopAreIdempotent) {
  Pushed test;
  test.executor(kOne);
  ManageJob call = each_second();
  call.job.id = std::stoll(manage(test, call));
  const auto state = [&] { return test.bundle.definition("xxl-1")->state; };
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 2; ++i) {
      call.verb = ManageJob::Verb::kStop;
      EXPECT_EQ(manage(test, call), "") << round << i;
      EXPECT_EQ(state(), DefinitionState::kSuspended);
    }
    for (int i = 0; i < 2; ++i) {
      call.verb = ManageJob::Verb::kStart;
      EXPECT_EQ(manage(test, call), "") << round << i;
      EXPECT_EQ(state(), DefinitionState::kActive);
    }
  }
  call.job.id = 7;
  EXPECT_EQ(manage(test, call), "job 7 of app does not exist");
}

TEST(Management, OmittedTriggerParameterIsEmptyAndRemoveIsIdempotent) {
  Pushed test;
  auto& one = test.executor(kOne);
  ManageJob call = each_second();
  call.job.param = "its own";
  call.job.id = std::stoll(manage(test, call));
  call.verb = ManageJob::Verb::kTrigger;
  call.job.param.reset();
  EXPECT_EQ(manage(test, call), "");
  ASSERT_TRUE(test.bundle.run_until([&] { return !one.calls.empty(); }));
  EXPECT_EQ(one.calls.front().param, "");
  call.verb = ManageJob::Verb::kRemove;
  call.job.id = 7;
  EXPECT_EQ(manage(test, call), "");
}

TEST(Management, UpdateThatKeepsTheRateKeepsTheFires) {
  Pushed test;
  auto& one = test.executor(kOne);
  ManageJob call = each_second();
  call.job.schedule_type = "FIX_RATE";
  call.job.schedule_conf = "10";
  call.job.id = std::stoll(manage(test, call));
  call.verb = ManageJob::Verb::kStart;
  EXPECT_EQ(manage(test, call), "");
  test.bundle.run_for(seconds{14});
  const std::size_t before = one.calls.size();
  call.verb = ManageJob::Verb::kUpdate;
  call.job.name = "other orders";
  EXPECT_EQ(manage(test, call), "");
  test.bundle.run_for(seconds{1});
  EXPECT_EQ(one.calls.size(), before);
  test.bundle.run_for(seconds{20});
  EXPECT_EQ(one.calls.size(), before + 2);
  call.job.schedule_conf = "20";
  EXPECT_EQ(manage(test, call), "");
  test.bundle.run_for(seconds{1});
  EXPECT_EQ(one.calls.size(), before + 3);
}

TEST(Management, NumberOfARemovedJobIsNotReused) {
  Pushed test;
  test.bundle.restart_after(seconds{1});  // So that the test's client has another number.
  test.bundle.run_for(seconds{1});
  test.executor(kOne);
  JobSpec imported = pushed("xxl-40");
  imported.schedule = {.kind = ScheduleKind::kManual};
  test.submit(imported);
  EXPECT_EQ(manage(test, each_second()), "41");
  for (const std::string task : {"xxl-40", "xxl-41"})
    test.bundle.act({.verb = wire::Verb::kCancel, .group = "app", .task_id = task});
  ASSERT_THAT(test.bundle.tables().definitions, IsEmpty());
  EXPECT_EQ(manage(test, each_second()), "42");
}

TEST(Management, ReachesNoJobOfTaskTrackers) {
  Pushed test;
  auto job = carillon::testing::job_now("xxl-5");
  job.group = "ops";
  job.schedule = {.kind = ScheduleKind::kCron, .cron = "0 0 0 1 1 ?"};
  ASSERT_EQ(test.submit(job).status, wire::SubmitStatus::kAccepted);
  ManageJob call = each_second();
  call.app_name = "ops";
  call.job.id = 5;
  using Verb = ManageJob::Verb;
  for (const Verb verb : {Verb::kUpdate, Verb::kStart, Verb::kStop, Verb::kTrigger}) {
    call.verb = verb;
    EXPECT_EQ(manage(test, call), "job 5 of ops does not exist");
  }
  call.verb = Verb::kRemove;
  EXPECT_EQ(manage(test, call), "");
  ASSERT_NE(test.bundle.definition("xxl-5"), nullptr);
  EXPECT_EQ(test.bundle.definition("xxl-5")->state, DefinitionState::kActive);
}

TEST(Management, ClientCannotAnswerForTheJobTrackerWhateverItsName) {
  Pushed test;
  test.executor(kOne);
  test.bundle.connection().work_time = [] { return seconds{1}; };
  std::optional<std::string> answer;
  test.bundle.tracker().manage(each_second(), [&](const Result<std::string>& result) {
    answer = result.ok() ? result.value() : result.error().message;
  });
  int heard = 0;
  const net::Peer client =
      test.bundle.network.connect({.on_frame = [&](std::string_view) { ++heard; },
                                   .on_disconnected = [] {},
                                   .identity = std::string("\0management", 11)});
  // Refused at once, while the store works on the management call.
  const wire::Act act{
      .request = {.client = 7, .sequence = 1}, .group = "nobody", .task_id = "none"};
  for (const std::uint64_t correlation : {0, 1, 2}) {
    test.bundle.network.send_to_server(client,
                                       wire::encode({.correlation = correlation, .message = act}));
  }
  EXPECT_TRUE(test.bundle.run_until([&] { return answer && heard == 3; }));
  EXPECT_EQ(answer, "1");
}

TEST(Management, AddWithoutAFreeNumberIsRefused) {
  Pushed test;
  test.bundle.restart_after(seconds{1});  // So that the test's client has another number.
  test.bundle.run_for(seconds{1});
  test.executor(kOne);
  for (const std::string task : {"xxl-2147483646", "xxl-2147483648"}) {
    JobSpec imported = pushed(task);
    imported.schedule = {.kind = ScheduleKind::kManual};
    test.submit(imported);
  }
  EXPECT_EQ(manage(test, each_second()), "2147483647");
  EXPECT_EQ(manage(test, each_second()),
            "task xxl-2147483647 has the highest number that executors support (submit the job "
            "with jobclient and its own task id)");
}

}  // namespace
}  // namespace carillon::jobtracker
