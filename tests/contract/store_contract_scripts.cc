#include "tests/contract/store_contract.h"

// Versions of scripts.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

ScriptVersion script(std::int64_t version, std::string source, std::string remark = {}) {
  return {.version = version,
          .language = "bash",
          .source = std::move(source),
          .remark = std::move(remark)};
}

TEST_P(StoreContract, KeepsScriptVersionsNewestFirst) {
  const Definition definition = new_definition("nightly");
  const auto put = [&](ScriptVersion one, bool is_old = false) {
    return PutScript{.definition = definition.id, .script = std::move(one), .is_old = is_old};
  };
  const auto versions = [&] {
    return ask<ScriptsAnswer>(ListScripts{.definition = definition.id}).versions;
  };
  committed({put(script(1000, "a"))});
  EXPECT_THAT(versions(), IsEmpty()) << "nobody has that script";
  // With the definition, in one batch.
  const ScriptVersion first = script(1000, std::string("a\0\xFF\r\n", 5), "f\xC3\xBCrst");
  committed({put(first), AddDefinition{.definition = definition}});
  EXPECT_THAT(versions(), ElementsAre(first));

  committed({put(script(1500, first.source))});
  EXPECT_THAT(versions(), ElementsAre(first)) << "it is the newest already";
  committed({put(script(900, "b")), put(script(900, "c", "again"))});
  EXPECT_THAT(versions(), ElementsAre(script(1002, "c", "again"), script(1001, "b"), first));
  ScriptVersion other_language = script(2000, "c");
  other_language.language = "python";
  committed({put(other_language), put(script(2001, "c", "back"))});
  EXPECT_THAT(versions(), SizeIs(5));

  committed({put(script(5, "old"), true), put(script(1001, "not it"), true)});
  EXPECT_EQ(versions().back(), script(5, "old"));
  EXPECT_EQ(versions()[3], script(1001, "b"));
  committed({put(script(5, "not this either"), true)});
  EXPECT_THAT(versions(), SizeIs(6));
}

TEST_P(StoreContract, KeepsTheNewestThirtyScriptVersions) {
  const Definition definition = new_definition("nightly");
  committed({AddDefinition{.definition = definition}});
  std::vector<Operation> puts;
  for (int i = 1; i <= 40; ++i)
    puts.push_back(PutScript{.definition = definition.id, .script = script(i, std::to_string(i))});
  committed(std::move(puts));
  committed({PutScript{.definition = definition.id, .script = script(3, "old"), .is_old = true}});
  const auto kept = ask<ScriptsAnswer>(ListScripts{.definition = definition.id}).versions;
  ASSERT_THAT(kept, SizeIs(kScriptVersionsMax));
  EXPECT_EQ(kept.front().version, 40);
  EXPECT_EQ(kept.back().version, 11);
}

TEST_P(StoreContract, ScriptVersionsMoveToAReplacingDefinitionOrAreRemoved) {
  const Definition first = new_definition("nightly");
  const Definition second = new_definition("nightly");
  committed({AddDefinition{.definition = first},
             PutScript{.definition = first.id, .script = script(1, "a")}});
  const auto versions = [&](const Definition& definition) {
    return ask<ScriptsAnswer>(ListScripts{.definition = definition.id}).versions;
  };
  committed({ChangeDefinition{.id = first.id,
                              .expected_version = first.version,
                              .scripts_to = second.id,
                              .group = group_},
             AddDefinition{.definition = second},
             PutScript{.definition = second.id, .script = script(2, "b")}});
  EXPECT_THAT(versions(first), IsEmpty());
  EXPECT_THAT(versions(second), ElementsAre(script(2, "b"), script(1, "a")));

  committed(
      {ChangeDefinition{.id = second.id, .expected_version = second.version, .group = group_}});
  EXPECT_THAT(versions(second), IsEmpty());
}

TEST_P(StoreContract, RemovesAnExecutorGroupWithItsExecutors) {
  const GroupId other = make_group("other");
  const ExecutorGroup group{.group = other};
  const ExecutorRow stays{.group = other, .address = "http://a:1/", .registered_at = kNow};
  committed({PutExecutorGroup{{.group = group_, .token = "t"}},
             ChangeExecutor{{.group = group_, .address = "http://a:1/"}},
             ChangeExecutor{{.group = group_, .address = "http://b:1/"}}, PutExecutorGroup{group},
             ChangeExecutor{stays}});
  committed({RemoveExecutorGroup{.group = group_}, RemoveExecutorGroup{.group = group_}});
  const auto known = ask<ExecutorsAnswer>(ReadExecutors{});
  EXPECT_THAT(known.groups, ElementsAre(group));
  EXPECT_THAT(known.executors, ElementsAre(stays));
  for (const Group& one : ask<StartAnswer>(ReadStart{}).groups)
    EXPECT_EQ(one.served, one.id == other) << one.name;
}

}  // namespace
}  // namespace carillon::jobtracker
