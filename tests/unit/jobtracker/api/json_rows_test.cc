#include "jobtracker/api/json_rows.h"

#include <gtest/gtest.h>

#include "jobtracker/api/job_filter.h"
#include "jobtracker/api/task_view.h"
#include "shared/base/time_text.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker::api {
namespace {

TEST(JsonRows, TimesHaveMilliseconds) {
  const Json item =
      item_of({{"started_at", "2026-11-21T08:00:00.123Z"}, {"next_fire", std::monostate{}}});
  EXPECT_EQ(item["started_at"], "2026-11-21T08:00:00.123Z");
  EXPECT_TRUE(item["next_fire"].is_null());
  EXPECT_EQ(json_of_time(parse_time("2026-11-21T08:00:00.123456Z").value()),
            "2026-11-21T08:00:00.123Z");
  EXPECT_TRUE(json_of_time(WallTime{}).is_null());
}

TEST(JsonRows, TagsAreListsAndLabelsObjects) {
  const Json item = item_of({{"tags", "a,b"}, {"labels", "zone=eu,ssd"}});
  EXPECT_EQ(item["tags"], Json::array({"a", "b"}));
  EXPECT_EQ(item["labels"], (Json{{"zone", "eu"}, {"ssd", "true"}}));
  EXPECT_EQ(item_of({{"tags", ""}})["tags"], Json::array());
}

TEST(JsonRows, AnEtagChangesWithTheSpec) {
  const JobSpec one{.task_id = "t", .priority = 1};
  const JobSpec other{.task_id = "t", .priority = 2};
  const wire::Row first{{"task_id", "t"}, {"group", "default"}, {"spec", wire::encode_spec(one)}};
  const wire::Row second{
      {"task_id", "t"}, {"group", "default"}, {"spec", wire::encode_spec(other)}};
  EXPECT_EQ(etag_of(first), etag_of(first));
  EXPECT_NE(etag_of(first), etag_of(second));
  EXPECT_EQ(spec_in(first).value(), one);
}

wire::Row definition(const std::string& task_id) {
  return {{"task_id", task_id},          {"group", "ops"}, {"kind", "cron"},
          {"state", "active"},           {"owner", "ann"}, {"tags", "night,db"},
          {"description", "Backs it up"}};
}

TEST(JobFilter, EachFilterNarrowsTheList) {
  const wire::Row row = definition("backup-1");
  const auto matches = [&](const std::string& query) {
    return job_filter_of(Parameters::parse(query).value()).matches(row, 0);
  };
  EXPECT_TRUE(matches(""));
  EXPECT_TRUE(matches("task_prefix=backup"));
  EXPECT_FALSE(matches("task_prefix=report"));
  EXPECT_TRUE(matches("state=active,ended"));
  EXPECT_FALSE(matches("state=suspended"));
  EXPECT_TRUE(matches("tag=db"));
  EXPECT_FALSE(matches("tag=d"));
  EXPECT_TRUE(matches("owner=ann"));
  EXPECT_FALSE(matches("owner=bob"));
  EXPECT_TRUE(matches("text=BACKS"));
  EXPECT_FALSE(matches("text=restore"));
  EXPECT_FALSE(matches("kind=every"));
}

TEST(JobFilter, JobsWithoutADefinitionHaveNoTags) {
  EXPECT_TRUE(job_filter_of({}).may_match_one_shots());
  EXPECT_FALSE(job_filter_of(Parameters::parse("tag=db").value()).may_match_one_shots());
  EXPECT_FALSE(job_filter_of(Parameters::parse("kind=cron").value()).may_match_one_shots());
}

}  // namespace
}  // namespace carillon::jobtracker::api
