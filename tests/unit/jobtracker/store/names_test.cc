#include "jobtracker/store/names.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

TEST(Names, ProducesValidUniqueSqlTableNames) {
  std::set<std::string> taken;
  for (const std::string& name : {std::string{"Mail.EU"}, std::string{"mail-eu"},
                                  std::string(64, 'Z'), std::string(63, 'z') + "-"}) {
    const auto table =
        new_group_table(name, [&](const std::string& one) { return taken.contains(one); });
    EXPECT_TRUE(is_group_table(table)) << table;
    EXPECT_TRUE(taken.insert(table).second) << table;
  }
  EXPECT_TRUE(taken.contains("lts_wjq_mail_eu"));
  EXPECT_TRUE(taken.contains("lts_wjq_mail_eu_2"));
}

TEST(Names, RejectsInvalidTableNames) {
  for (const std::string& text :
       {std::string{}, std::string{"lts_wjq_"}, std::string{"lts_job_log"},
        std::string{"lts_wjq_A"}, std::string{"lts_wjq_a b"}, std::string{"lts_wjq_a;--"},
        std::string{"lts_wjq_a\""}, "lts_wjq_" + std::string(57, 'x')}) {
    EXPECT_FALSE(is_group_table(text)) << text;
  }
}

TEST(Names, ParsesTheJobIdInAGeneratedTaskId) {
  EXPECT_EQ(job_of_task_id("job-7211"), JobId{7211});
  for (const char* text : {"job-", "job--1", "job-0", "job-1x", "Job-1", "job- 1", "jobs-1",
                           "job-99999999999999999999"}) {
    EXPECT_FALSE(job_of_task_id(text)) << text;
  }
}

std::string stored(const std::string& message) {
  std::string storage;
  return std::string{storable_message(message, storage)};
}

TEST(Names, KeepsAValidMessageUnchanged) {
  const std::string good = "h\xC3\xA9llo \xE2\x82\xAC \xF0\x9F\x98\x80";
  std::string storage;
  EXPECT_EQ(storable_message(good, storage).data(), good.data());
  EXPECT_EQ(stored(""), "");
}

TEST(Names, ReplacesInvalidUtf8Bytes) {
  const std::string mark = "\xEF\xBF\xBD";
  EXPECT_EQ(stored("a\xFFz"), "a" + mark + "z");
  EXPECT_EQ(stored("a\xC3"), "a" + mark);
  EXPECT_EQ(stored("\xC0\x80"), mark + mark);                        // longer than needed
  EXPECT_EQ(stored("\xED\xA0\x80"), mark + mark + mark);             // half of a pair
  EXPECT_EQ(stored("\xF4\x90\x80\x80"), mark + mark + mark + mark);  // beyond the last one
}

TEST(Names, TruncatesALongMessageAtACharacterBoundary) {
  const std::string euros = [] {
    std::string text;
    for (int i = 0; i < 2000; ++i) text += "\xE2\x82\xAC";
    return text;
  }();
  EXPECT_EQ(stored(euros), euros.substr(0, 4095));
  EXPECT_EQ(stored("\xFF" + euros).size(), 4095U);
}

}  // namespace
}  // namespace carillon::jobtracker
