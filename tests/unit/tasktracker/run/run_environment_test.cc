#include "tasktracker/run/run_environment.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::tasktracker {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;

JobInfo job() {
  return {.task_id = "nightly",
          .job_id = JobId{72110000000001},
          .attempt = 3,
          .group = "ops",
          .node = "host-1",
          .trigger_time = std::chrono::sys_days{std::chrono::year{2026} / 11 / 21},
          .params = {{"mail-to", "ann@example.org"}, {"Größe", "7"}, {"__LTS_Seq_Id", "9"}}};
}

TEST(RunEnvironment, DescribesTheJob) {
  EXPECT_THAT(
      run_environment(Environment{}, job()),
      IsSupersetOf({"CARILLON_TASK_ID=nightly", "CARILLON_JOB_ID=72110000000001",
                    "CARILLON_ATTEMPT=3", "CARILLON_GROUP=ops", "CARILLON_NODE=host-1",
                    "CARILLON_TRIGGER_TIME=2026-11-21T00:00:00.000Z",
                    "CARILLON_PARAM_MAIL_TO=ann@example.org", "CARILLON_PARAM___LTS_SEQ_ID=9"}));
}

TEST(RunEnvironment, InheritsTheWorkersVariables) {
  const Environment own({{"PATH", "/bin"}, {"HOME", "/home/ann"}});
  EXPECT_THAT(run_environment(own, job()), IsSupersetOf({"PATH=/bin", "HOME=/home/ann"}));
}

TEST(RunEnvironment, HidesTheWorkersSecretsAndSettings) {
  const Environment own({{"NOTIFY_SOCKET", "/run/systemd/notify"},
                         {"CARILLON_XXL_TOKEN", "secret"},
                         {"CARILLON_CONFIG", "/etc/carillon/worker.toml"},
                         {"CARILLON_TRACKER", "tcp://db1:35001"},
                         {"CARILLON_PARAM_OLD", "of the job that started this worker"},
                         {"CARILLON_TASK_ID", "outer"}});
  const auto lines = run_environment(own, job());
  EXPECT_THAT(lines, Not(Contains(StartsWith("NOTIFY_SOCKET="))));
  EXPECT_THAT(lines, Not(Contains(StartsWith("CARILLON_PARAM_OLD="))));
  EXPECT_THAT(lines, Not(Contains(StartsWith("CARILLON_XXL_TOKEN="))));
  EXPECT_THAT(lines, Not(Contains(StartsWith("CARILLON_CONFIG="))));
  EXPECT_THAT(lines, Contains("CARILLON_TRACKER=tcp://db1:35001"));
  EXPECT_THAT(lines, Not(Contains("CARILLON_TASK_ID=outer")));
}

TEST(RunEnvironment, CutsAValueAtAZeroByte) {
  JobInfo info = job();
  info.params = {{"x", std::string("a\0b", 3)}};
  EXPECT_THAT(run_environment(Environment{}, info), Contains("CARILLON_PARAM_X=a"));
}

TEST(RunEnvironment, PassesTheWorkersJobTrackersButNoCredentials) {
  const Environment own({{"CARILLON_TRACKER", "tcp://other:1"}, {"CARILLON_KEYS", "/keys"}});
  const auto lines = run_environment(with_trackers(own, {"tcp://a:1", "tcp://b:2"}), job());
  EXPECT_THAT(lines, Contains("CARILLON_TRACKER=tcp://a:1,tcp://b:2"));
  EXPECT_THAT(lines, Not(Contains(StartsWith("CARILLON_KEYS="))));
  EXPECT_THAT(run_environment(with_trackers(own, {}), job()),
              Contains("CARILLON_TRACKER=tcp://other:1"));
}

}  // namespace
}  // namespace carillon::tasktracker
