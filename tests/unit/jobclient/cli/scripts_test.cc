#include "jobclient/cli/scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobclient/cli/fake_tracker.h"

// The verbs scripts list, show, set and restore, and groups remove.
namespace carillon::cli {
namespace {

using ::testing::HasSubstr;

wire::Message one_version(const wire::Message& request) {
  if (std::holds_alternative<wire::Act>(request)) return wire::Acted{.message = "done"};
  Row row{{"task_id", std::string{"nightly"}},
          {"version", std::int64_t{1'795'362'011'554}},
          {"saved_at", std::string{"2026-11-22T15:46:51.554Z"}},
          {"language", std::string{"python"}},
          {"bytes", std::int64_t{9}},
          {"used", true},
          {"remark", std::string{"says it"}}};
  if (std::get<wire::Query>(request).what == "script")
    row.emplace_back("source", std::string{"print(1)\n"});
  return wire::Rows{.rows = {row}};
}

TEST(ScriptVerbs, ListShowsVersionsAndShowPrintsTheText) {
  Cli cli(one_version);
  EXPECT_EQ(cli.run({"scripts", "list", "nightly", "--group", "ops"}), kDone);
  EXPECT_THAT(cli.out.str(), HasSubstr("1795362011554"));
  EXPECT_THAT(cli.out.str(), HasSubstr("says it"));
  cli.out.str("");
  EXPECT_EQ(cli.run({"scripts", "show", "nightly", "--number", "1795362011554"}), kDone);
  EXPECT_EQ(cli.out.str(), "print(1)\n");
  const auto asked = cli.tracker.asked<wire::Query>();
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_EQ(asked[0].what, "scripts");
  EXPECT_EQ(asked[0].group, "ops");
  EXPECT_EQ(asked[1].what, "script");
  EXPECT_EQ(asked[1].after, "1795362011554");
}

TEST(ScriptVerbs, SetSendsTheTextWithItsRemark) {
  Cli cli(one_version);
  cli.give_input("print(2)\n");
  EXPECT_EQ(cli.run({"scripts", "set", "nightly", "--file", "-", "--remark", "two"}), kDone);
  const auto acts = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(acts.size(), 1u);
  EXPECT_EQ(acts[0].verb, wire::Verb::kSetScript);
  EXPECT_EQ(acts[0].payload, "print(2)\n");
  EXPECT_EQ(acts[0].language, "");
  EXPECT_EQ(acts[0].remark, "two");
  EXPECT_EQ(acts[0].script_version, 0);
  EXPECT_EQ(cli.run({"scripts", "set", "nightly"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("--file is missing"));
}

TEST(ScriptVerbs, SetRequiresALanguageFlagWhenTheLanguageChanges) {
  for (const char* first_line : {"#!/usr/bin/env python3\n", "#!/usr/bin/python2.7\n", "x = 1\n"}) {
    Cli cli(one_version);
    cli.give_input(first_line);
    EXPECT_EQ(cli.run({"scripts", "set", "nightly", "--file", "-"}), kDone) << first_line;
  }
  Cli cli(one_version);
  cli.give_input("#!/bin/sh\n");
  EXPECT_EQ(cli.run({"scripts", "set", "nightly", "--file", "-"}), kWrongInput);
  EXPECT_THAT(cli.err.str(), HasSubstr("'-' is sh by its first line or ending, but the "
                                       "current script is python (give --language)"));
  EXPECT_TRUE(cli.tracker.asked<wire::Act>().empty());
  cli.give_input("#!/bin/sh\n");
  EXPECT_EQ(cli.run({"scripts", "set", "nightly", "--file", "-", "--language", "sh"}), kDone);
}

TEST(ScriptVerbs, RestoreSendsAnEarlierVersionAgain) {
  Cli cli(one_version);
  EXPECT_EQ(cli.run({"scripts", "restore", "nightly", "--number", "1795362011554"}), kDone);
  const auto acts = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(acts.size(), 1u);
  EXPECT_EQ(acts[0].payload, "print(1)\n");
  EXPECT_EQ(acts[0].language, "python");
  EXPECT_EQ(acts[0].remark, "as of version 1795362011554");
  EXPECT_EQ(acts[0].script_version, 0);
  EXPECT_EQ(cli.run({"scripts", "restore", "nightly"}), kWrongInput);
}

TEST(GroupsRemove, SendsTheNameOfTheGroup) {
  Cli cli(one_version);
  EXPECT_EQ(cli.run({"groups", "remove", "billing"}), kDone);
  const auto acts = cli.tracker.asked<wire::Act>();
  ASSERT_EQ(acts.size(), 1u);
  EXPECT_EQ(acts[0].verb, wire::Verb::kRemoveGroup);
  EXPECT_EQ(acts[0].group, "billing");
}

}  // namespace
}  // namespace carillon::cli
