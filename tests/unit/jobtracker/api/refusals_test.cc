#include "jobtracker/api/refusals.h"

#include <gtest/gtest.h>

#include "jobtracker/access/rights.h"

namespace carillon::jobtracker::api {
namespace {

void handle(Api&, const ExchangePtr&) {}

wire::Message change_of(std::string_view method, std::string_view path,
                        std::vector<std::string> parts) {
  const Route route{method, path, handle, Right::kEdit};
  return change_of_route({.route = &route, .parts = std::move(parts)}).value();
}

TEST(Refusals, NameWhatThePathNames) {
  const auto replaced = std::get<wire::Submit>(change_of("PUT", "/jobs/{}/{}", {"ops", "a"}));
  EXPECT_EQ(replaced.jobs.at(0).group, "ops");
  EXPECT_EQ(replaced.jobs.at(0).task_id, "a");
  const auto killed = std::get<wire::Act>(change_of("POST", "/jobs/{}/{}:kill", {"ops", "a"}));
  EXPECT_EQ(killed.verb, wire::Verb::kKill);
  EXPECT_EQ(killed.group, "ops");
  EXPECT_EQ(killed.task_id, "a");
  EXPECT_EQ(std::get<wire::Act>(change_of("POST", "/runs/{}:cancel", {"17"})).job_id, JobId{17});
  EXPECT_EQ(std::get<wire::Act>(change_of("PUT", "/jobs/{}/{}/script", {"ops", "a"})).verb,
            wire::Verb::kSetScript);
  EXPECT_EQ(std::get<wire::Act>(change_of("DELETE", "/groups/{}", {"ops"})).verb,
            wire::Verb::kRemoveGroup);
  const auto silence = std::get<wire::Act>(change_of("PUT", "/alarms/silences/{}", {"ops"}));
  EXPECT_EQ(silence.verb, wire::Verb::kSilence);
  EXPECT_EQ(silence.group, "ops");
  EXPECT_EQ(std::get<wire::Act>(change_of("POST", "/alarms:test", {})).verb,
            wire::Verb::kTestAlarm);
  EXPECT_EQ(std::get<wire::PutPrincipal>(change_of("PATCH", "/users/{}", {"anna"})).kind, "user");
  EXPECT_EQ(std::get<wire::RemovePrincipal>(change_of("DELETE", "/keys/{}", {"k"})).kind, "key");
}

TEST(Refusals, ReadingIsNoChange) {
  const Route list{"GET", "/users", handle, Right::kAdminister};
  EXPECT_FALSE(change_of_route({.route = &list}).has_value());
  const Route preview{"POST", "/schedules:preview", handle, Right::kRead};
  EXPECT_FALSE(change_of_route({.route = &preview}).has_value());
}

TEST(Refusals, AreOfMessagesThatAViewerMayNotSend) {
  const Principal viewer{.kind = "token", .name = "anna", .groups = {"*"}};
  for (const char* path : {"/jobs/{}/{}:trigger", "/runs/{}:retry", "/jobs:tag", "/jobs:import",
                           "/jobs:cancel", "/runs/history:clean", "/jobs/{}/{}/scripts/{}:restore"})
    EXPECT_FALSE(check_access(viewer, change_of("POST", path, {})).ok()) << path;
}

}  // namespace
}  // namespace carillon::jobtracker::api
