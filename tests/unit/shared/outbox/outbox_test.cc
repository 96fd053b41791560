#include "shared/outbox/outbox.h"

#include <cstdio>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/file_lock.h"
#include "shared/sql/sqlite/sqlite_connection.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

namespace carillon::outbox {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kHere = "tcp://127.0.0.1:1";
constexpr std::chrono::milliseconds kMoment{1};

Entry entry_of(std::int64_t id, std::string body) {
  return {.id = {kOwnSlot, id}, .body = std::move(body)};
}

struct OutboxBundle {
  OutboxConfig config(std::string address = kHere) const {
    return {.folder = folder.file("outbox"), .addresses = {std::move(address)}};
  }
  std::unique_ptr<Outbox> open() const { return std::make_unique<Outbox>(config(), clock); }
  std::string file(const std::string& name) const { return folder.file("outbox/" + name); }

  static WorkDone add(Outbox& outbox, std::vector<std::string> bodies) {
    Work work;
    std::int64_t id = outbox.last_id() + outbox.entries();
    for (std::string& body : bodies) work.add.push_back(entry_of(++id, std::move(body)));
    return outbox.run(std::move(work));
  }
  static std::vector<Entry> load(Outbox& outbox, Load what = {}) {
    return outbox.run({.load = true, .what = what}).loaded;
  }
  static std::vector<std::string> bodies(Outbox& outbox, Load what = {}) {
    std::vector<std::string> all;
    for (const Entry& entry : load(outbox, what)) all.push_back(entry.body);
    return all;
  }
  // Page by page, each removed before the next is loaded.
  static std::vector<std::string> deliver_all(Outbox& outbox) {
    std::vector<std::string> all;
    while (outbox.entries() > 0) {
      Work work;
      for (const Entry& entry : load(outbox)) {
        all.push_back(entry.body);
        work.remove.push_back(entry.id);
      }
      if (work.remove.empty() || !outbox.run(std::move(work)).status.ok()) break;
    }
    return all;
  }
  static void remove_all(Outbox& outbox) {
    Work work;
    for (const Entry& entry : load(outbox)) work.remove.push_back(entry.id);
    ASSERT_TRUE(outbox.run(std::move(work)).status.ok());
  }

  testing::TempFolder folder;
  ManualClock clock;
};

TEST(Outbox, ReturnsEntriesInInsertionOrder) {
  OutboxBundle b;
  auto outbox = b.open();
  EXPECT_EQ(b.add(*outbox, {"one", "two"}).added, 2u);
  EXPECT_EQ(b.add(*outbox, {"three"}).left, 3);
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("one", "two", "three"));
}

TEST(Outbox, AdoptsEntriesOfOtherGroupsOnlyWhenAsked) {
  OutboxBundle b;
  OutboxConfig ops = b.config();
  ops.group = "ops";
  OutboxConfig web = b.config();
  web.group = "web";
  {
    Outbox first(ops, b.clock);
    (void)b.add(first, {"of ops"});
  }
  Outbox other(web, b.clock);
  (void)other.run({.adopt = true});
  EXPECT_EQ(other.entries(), 0);
  {
    Outbox same(ops, b.clock);
    EXPECT_THAT(b.bodies(same), ElementsAre("of ops"));
  }
  (void)other.run({.adopt = true, .adopt_any_group = true});
  EXPECT_THAT(b.bodies(other), ElementsAre("of ops"));
}

TEST(Outbox, AdoptsEntriesWithoutAGroup) {
  OutboxBundle b;
  {
    auto before = b.open();
    (void)b.add(*before, {"of an earlier version"});
  }
  OutboxConfig ops = b.config();
  ops.group = "ops";
  Outbox next(ops, b.clock);
  EXPECT_THAT(b.bodies(next), ElementsAre("of an earlier version"));
}

TEST(Outbox, CreatesNoFileBeforeTheFirstEntry) {
  OutboxBundle b;
  auto outbox = b.open();
  EXPECT_THAT(b.bodies(*outbox), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(b.config().folder));
}

TEST(Outbox, FolderIsPrivateToItsUser) {
  OutboxBundle b;
  auto outbox = b.open();
  b.add(*outbox, {"secret"});
  struct stat found {};
  ASSERT_EQ(::stat(b.config().folder.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0700u);
}

TEST(Outbox, MakesExistingFilesPrivateToTheirUser) {
  OutboxBundle b;
  b.add(*b.open(), {"secret"});
  ASSERT_EQ(::chmod(b.file("0.db").c_str(), 0644), 0);
  auto outbox = b.open();
  b.add(*outbox, {"another"});
  for (const char* name : {"0.db", "0.db-wal", "0.db-shm"}) {
    struct stat found {};
    ASSERT_EQ(::stat(b.file(name).c_str(), &found), 0) << name;
    EXPECT_EQ(found.st_mode & 0777, 0600u) << name;
  }
}

TEST(Outbox, NextProcessAdoptsEntriesWithTheirRequestNumbers) {
  OutboxBundle b;
  {
    auto outbox = b.open();
    b.add(*outbox, {"one", "two"});
    ASSERT_TRUE(outbox
                    ->run({.number = {{.id = {kOwnSlot, 1},
                                       .client = 7,
                                       .sequence = 3,
                                       .sent_at = b.clock.wall_now()}}})
                    .status.ok());
  }
  auto next = b.open();
  EXPECT_EQ(next->entries(), 2);
  EXPECT_EQ(next->last_id(), 2);
  const auto entries = b.load(*next);
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].client, 7);
  EXPECT_EQ(entries[0].sequence, 3);
  EXPECT_EQ(entries[0].sent_at, b.clock.wall_now());
  EXPECT_EQ(entries[1].client, 0);
}

TEST(Outbox, SkipsASlotThatAnotherProcessHolds) {
  OutboxBundle b;
  auto first = b.open();
  b.add(*first, {"first's"});
  auto second = b.open();
  EXPECT_EQ(second->entries(), 0);
  b.add(*second, {"second's"});
  EXPECT_THAT(b.bodies(*second), ElementsAre("second's"));
  EXPECT_THAT(b.bodies(*first), ElementsAre("first's"));
  EXPECT_TRUE(std::filesystem::exists(b.file("1.db")));
}

// The lock is held from before the file is opened until after it is closed: in between nobody can
// come in, however often he tries.
TEST(Outbox, HoldsTheLockWhileTheFileIsOpen) {
  OutboxBundle b;
  auto outbox = b.open();
  b.add(*outbox, {"one"});
  const auto lock = FileLock::take(b.file("0.lock"));
  ASSERT_FALSE(lock.ok());
  EXPECT_EQ(lock.error().code, ErrorCode::kConflict);
  outbox.reset();
  EXPECT_TRUE(FileLock::take(b.file("0.lock")).ok());
}

TEST(Outbox, AdoptsSlotsOfDeadProcessesWhenAsked) {
  OutboxBundle b;
  auto dies = b.open();
  b.add(*dies, {"left behind"});
  auto lives = b.open();
  b.add(*lives, {"own"});
  dies.reset();
  EXPECT_EQ(lives->run({.adopt = true}).left, 2);
  EXPECT_THAT(b.bodies(*lives), ElementsAre("left behind")) << "a slot at a time, its own last";
  b.remove_all(*lives);
  EXPECT_THAT(b.bodies(*lives), ElementsAre("own"));
  EXPECT_FALSE(std::filesystem::exists(b.file("0.db"))) << "delivered, and let go";
}

TEST(Outbox, DeliversEntriesOfSeveralProcessesInTheOrderAdded) {
  OutboxBundle b;
  b.add(*b.open(), {"one"});
  b.clock.advance(kMoment);
  {
    auto adopts_it = b.open();
    auto beside_it = b.open();
    b.add(*beside_it, {"two", "three"});
    b.clock.advance(kMoment);
    b.add(*adopts_it, {"four"});
    b.clock.advance(kMoment);
    b.add(*beside_it, {"five"});
  }
  auto outbox = b.open();
  b.clock.advance(kMoment);
  b.add(*outbox, {"six"});
  EXPECT_THAT(b.deliver_all(*outbox), ElementsAre("one", "two", "three", "four", "five", "six"));
}

TEST(Outbox, KeepsTheEntriesOfOneMessageTogether) {
  OutboxBundle b;
  {
    auto first = b.open();
    auto second = b.open();
    b.add(*first, {"a part"});
    b.clock.advance(kMoment);
    b.add(*second, {"in between"});
    b.clock.advance(kMoment);
    b.add(*first, {"the other part"});
    b.add(*first, {"not of it"});
    const Numbering number{
        .id = {kOwnSlot, 1}, .client = 7, .sequence = 3, .sent_at = b.clock.wall_now()};
    Numbering other_part = number;
    other_part.id.id = 2;
    ASSERT_TRUE(first->run({.number = {number, other_part}}).status.ok());
  }
  auto outbox = b.open();
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("a part", "the other part"));
  EXPECT_THAT(b.deliver_all(*outbox),
              ElementsAre("a part", "the other part", "in between", "not of it"));
}

TEST(Outbox, KeepsTheOrderWhenTheClockMovedBack) {
  OutboxBundle b;
  {
    auto first = b.open();
    b.add(*first, {"one"});
    b.clock.advance(kMoment);
    auto second = b.open();
    b.add(*second, {"two"});
  }
  b.clock.set_wall(b.clock.wall_now() - std::chrono::hours{1});
  auto outbox = b.open();
  b.add(*outbox, {"three"});
  EXPECT_THAT(b.deliver_all(*outbox), ElementsAre("one", "two", "three"));
}

TEST(Outbox, DeliversEntriesOfAnEarlierVersionFirst) {
  OutboxBundle b;
  {
    auto first = b.open();
    b.add(*first, {"new"});
    auto second = b.open();
    b.add(*second, {"old", "old too"});
  }
  {
    auto db = sql::SqliteConnection::open(b.file("1.db"), {});
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db.value()
                    ->run_script("ALTER TABLE lts_outbox_entry DROP COLUMN added_us;"
                                 "ALTER TABLE lts_outbox_refused DROP COLUMN answer;"
                                 "PRAGMA user_version = 1;")
                    .ok());
  }
  auto outbox = b.open();
  EXPECT_THAT(b.deliver_all(*outbox), ElementsAre("old", "old too", "new"));
}

TEST(Outbox, IgnoresEntriesForOtherAddresses) {
  OutboxBundle b;
  {
    Outbox other(b.config("tcp://elsewhere:1"), b.clock);
    b.add(other, {"for elsewhere"});
  }
  {
    auto outbox = b.open();
    EXPECT_EQ(outbox->entries(), 0);
    b.add(*outbox, {"for here"});
    EXPECT_THAT(b.bodies(*outbox), ElementsAre("for here"));
  }
  Outbox other({.folder = b.config().folder, .addresses = {"tcp://new:1", "tcp://elsewhere:1"}},
               b.clock);
  EXPECT_THAT(b.bodies(other), ElementsAre("for elsewhere")) << "one address in common is enough";
}

TEST(Outbox, KeepsEntriesForDifferentAddressSetsApart) {
  OutboxBundle b;
  const OutboxConfig both{.folder = b.config().folder, .addresses = {"tcp://a:1", "tcp://b:1"}};
  {
    Outbox outbox(both, b.clock);
    OutboxBundle::add(outbox, {"both"});
  }
  {
    Outbox outbox(b.config("tcp://b:1"), b.clock);
    EXPECT_EQ(outbox.entries(), 1);
    OutboxBundle::add(outbox, {"only b"});
  }
  {
    Outbox outbox({.folder = both.folder, .addresses = {"tcp://B:1", "tcp://a:1"}}, b.clock);
    OutboxBundle::add(outbox, {"both again"});
  }
  Outbox a(b.config("tcp://a:1"), b.clock);
  EXPECT_THAT(OutboxBundle::deliver_all(a), ElementsAre("both", "both again"));
  Outbox only_b(b.config("tcp://b:1"), b.clock);
  EXPECT_THAT(OutboxBundle::deliver_all(only_b), ElementsAre("only b"));
}

TEST(Outbox, MatchesAnAddressInAnotherSpelling) {
  OutboxBundle b;
  {
    Outbox spelled(b.config("tcp://LocalHost:1"), b.clock);
    b.add(spelled, {"for here"});
  }
  {
    Outbox other(b.config("tcp://localhost.example:1"), b.clock);
    EXPECT_THAT(b.bodies(other), IsEmpty());
  }
  auto outbox = b.open();
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("for here"));
}

TEST(Outbox, RemovesItsFileWhenClosedEmpty) {
  OutboxBundle b;
  auto outbox = b.open();
  b.add(*outbox, {"one"});
  b.remove_all(*outbox);
  EXPECT_EQ(outbox->entries(), 0);
  outbox.reset();
  EXPECT_FALSE(std::filesystem::exists(b.file("0.db")));
  EXPECT_FALSE(std::filesystem::exists(b.file("0.db-wal")));
}

TEST(Outbox, DistinguishesAdoptedEntriesFromItsOwn) {
  OutboxBundle b;
  {
    auto before = b.open();
    b.add(*before, {"old"});
  }
  auto outbox = b.open();
  b.add(*outbox, {"new"});
  EXPECT_THAT(b.bodies(*outbox, {.own_too = false}), ElementsAre("old"));
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("old", "new"));
}

TEST(Outbox, ReportsAddedEntriesWhenAnotherSlotCannotBeWritten) {
  OutboxBundle b;
  {
    auto first = b.open();
    b.add(*first, {"mine"});
    auto second = b.open();
    b.add(*second, {"adopted"});
  }
  auto outbox = b.open();
  auto damage = sql::SqliteConnection::open(b.file("1.db"), {});
  ASSERT_TRUE(damage.ok());
  ASSERT_TRUE(damage.value()->run_script("DROP TABLE lts_outbox_entry;").ok());
  Work work{.add = {entry_of(7, "new")}};
  work.remove.push_back({.slot = 1, .id = 1});
  const WorkDone done = outbox->run(std::move(work));
  EXPECT_FALSE(done.status.ok());
  EXPECT_EQ(done.added, 1u);
  EXPECT_TRUE(done.room.ok());
}

TEST(Outbox, LoadsAtLeastOneEntryAndNoMoreThanAsked) {
  OutboxBundle b;
  auto outbox = b.open();
  b.add(*outbox, {"12345", "123", "1"});
  EXPECT_THAT(b.bodies(*outbox, {.entries_max = 2}), ElementsAre("12345", "123"));
  EXPECT_THAT(b.bodies(*outbox, {.bytes_max = 7}), ElementsAre("12345"));
  EXPECT_THAT(b.bodies(*outbox, {.bytes_max = 1}), ElementsAre("12345"));
}

TEST(Outbox, SetsUndeliverableEntriesAsideAndContinues) {
  OutboxBundle b;
  auto outbox = b.open();
  b.add(*outbox, {"bad", "good"});
  EXPECT_EQ(outbox->run({.set_aside = {{.id = {kOwnSlot, 1}, .reason = "nobody wants it"}}}).left,
            1);
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("good"));
  b.remove_all(*outbox);
  outbox.reset();
  EXPECT_TRUE(std::filesystem::exists(b.file("0.db"))) << "kept for a person to look at";
}

TEST(Outbox, ShowsEntriesSetAsideUntilTheyAreForgotten) {
  OutboxBundle b;
  auto outbox = b.open();
  b.add(*outbox, {"one of each", "bad"});
  outbox->run({.set_aside = {{.id = {kOwnSlot, 1}, .reason = "first", .body = "of"},
                             {.id = {kOwnSlot, 1}, .reason = "second", .body = "each"},
                             {.id = {kOwnSlot, 2}, .reason = "third"}}});
  std::vector<std::string> shown;
  const auto visit = [&](bool forget) {
    shown.clear();
    visit_set_aside(b.config().folder, b.clock, [&](const std::vector<SetAside>& set_aside) {
      for (const SetAside& one : set_aside) shown.push_back(one.reason + ": " + one.body);
      return forget;
    });
    return shown;
  };
  const auto all = ElementsAre("first: of", "second: each", "third: bad");
  EXPECT_THAT(visit(false), all) << "although the outbox is open";
  EXPECT_THAT(visit(true), all);
  EXPECT_THAT(visit(true), IsEmpty());
  EXPECT_FALSE(std::filesystem::exists(b.file("0.db")));
}

TEST(Outbox, KeepsEntriesSetAsideWhileReusingTheirSlot) {
  OutboxBundle b;
  for (int i = 0; i < 2; ++i) {
    auto outbox = b.open();
    b.add(*outbox, {"bad"});
    outbox->run({.set_aside = {{.id = b.load(*outbox).at(0).id, .reason = "nobody wants it"}}});
    EXPECT_TRUE(b.add(*outbox, {"good"}).status.ok());
    EXPECT_THAT(b.bodies(*outbox), ElementsAre("good"));
    b.remove_all(*outbox);
  }
  EXPECT_FALSE(std::filesystem::exists(b.file("1.db")));
  std::size_t kept = 0;
  visit_set_aside(b.config().folder, b.clock, [&](const std::vector<SetAside>& set_aside) {
    kept += set_aside.size();
    return false;
  });
  EXPECT_EQ(kept, 2u);
}

Refusal refusal_of(std::int64_t id, std::string reason) {
  return {.id = {kOwnSlot, id}, .reason = std::move(reason), .body = "job"};
}

TEST(Outbox, KeepsAnyNumberOfEntriesSetAsideUntilShown) {
  OutboxBundle b;
  OutboxConfig config = b.config();
  config.shows_set_aside = true;
  Outbox outbox(config, b.clock);
  b.add(outbox, {"many jobs"});
  Work work;
  for (int i = 0; i < 2500; ++i) work.set_aside.push_back(refusal_of(1, std::to_string(i)));
  EXPECT_TRUE(outbox.run(std::move(work)).status.ok());
  for (const bool forget : {false, true}) {
    int shown = 0;
    visit_set_aside(config.folder, b.clock, [&](const std::vector<SetAside>& set_aside) {
      for (const SetAside& one : set_aside) EXPECT_EQ(one.reason, std::to_string(shown++));
      return forget;
    });
    EXPECT_EQ(shown, 2500);
  }
  EXPECT_FALSE(std::filesystem::exists(b.file("0.db"))) << "all of it is forgotten";
}

TEST(Outbox, ForgetsOnlyAcknowledgedPages) {
  OutboxBundle b;
  OutboxConfig config = b.config();
  config.shows_set_aside = true;
  Outbox outbox(config, b.clock);
  b.add(outbox, {"many jobs"});
  Work work;
  for (int i = 0; i < 2500; ++i) work.set_aside.push_back(refusal_of(1, std::to_string(i)));
  outbox.run(std::move(work));
  int pages = 0;
  visit_set_aside(config.folder, b.clock, [&](const auto&) { return ++pages == 2; });
  std::vector<std::string> left;
  visit_set_aside(config.folder, b.clock, [&](const std::vector<SetAside>& set_aside) {
    for (const SetAside& one : set_aside) left.push_back(one.reason);
    return false;
  });
  EXPECT_EQ(left.size(), 1500u);
  EXPECT_EQ(left.front(), "0");
}

TEST(Outbox, LimitsEntriesSetAsideThatAreNeverShown) {
  OutboxBundle b;
  Outbox outbox(b.config(), b.clock);
  b.add(outbox, {"many jobs"});
  Work work;
  for (int i = 0; i < 2500; ++i) work.set_aside.push_back(refusal_of(1, std::to_string(i)));
  outbox.run(std::move(work));
  std::vector<std::string> kept;
  visit_set_aside(b.config().folder, b.clock, [&](const std::vector<SetAside>& set_aside) {
    for (const SetAside& one : set_aside) kept.push_back(one.reason);
    return false;
  });
  EXPECT_EQ(kept.size(), 1000u);
  EXPECT_EQ(kept.front(), "1500");
}

TEST(Outbox, EntriesSetAsideCountTowardsTheCapacity) {
  OutboxBundle b;
  OutboxConfig config = b.config();
  config.shows_set_aside = true;
  config.entries_max = 2;
  {
    Outbox outbox(config, b.clock);
    b.add(outbox, {"bad"});
    outbox.run({.set_aside = {refusal_of(1, "first"), refusal_of(1, "second")}});
    const WorkDone done = b.add(outbox, {"one more"});
    EXPECT_EQ(done.added, 0u);
    EXPECT_EQ(done.set_aside, 2);
    ASSERT_FALSE(done.room.ok());
    EXPECT_EQ(done.room.error().code, ErrorCode::kLimit);
    EXPECT_THAT(done.room.error().message, HasSubstr("and 2 are set aside"));
  }
  Outbox next(config, b.clock);
  EXPECT_EQ(b.add(next, {"one more"}).added, 0u) << "also of the next process";
  visit_set_aside(config.folder, b.clock, [](const auto&) { return true; });
  EXPECT_EQ(b.add(next, {"one more"}).added, 1u);
}

TEST(Outbox, EntriesSetAsideCountTowardsTheByteLimit) {
  OutboxBundle b;
  OutboxConfig config = b.config();
  config.shows_set_aside = true;
  config.bytes_max = 10;
  Outbox outbox(config, b.clock);
  b.add(outbox, {"bad"});
  outbox.run(
      {.set_aside = {{.id = {kOwnSlot, 1}, .reason = "no", .body = "bad", .answer = "12345"}}});
  EXPECT_EQ(b.add(outbox, {"123"}).added, 0u);
  EXPECT_EQ(b.add(outbox, {"12"}).added, 1u);
}

TEST(Outbox, RepeatedWorkIsIdempotent) {
  OutboxBundle b;
  auto outbox = b.open();
  b.add(*outbox, {"zero"});
  Work work{.add = {entry_of(2, "two")}, .remove = {{kOwnSlot, 1}}};
  EXPECT_EQ(outbox->run(work).left, 1);
  EXPECT_EQ(outbox->run(work).left, 1);
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("two"));
}

TEST(Outbox, AddsWhatFitsAndReportsThatItIsFull) {
  OutboxBundle b;
  OutboxConfig config = b.config();
  config.entries_max = 2;
  Outbox outbox(config, b.clock);
  const WorkDone done = b.add(outbox, {"one", "two", "three"});
  EXPECT_EQ(done.added, 2u);
  ASSERT_FALSE(done.room.ok());
  EXPECT_EQ(done.room.error().code, ErrorCode::kLimit);
  EXPECT_THAT(done.room.error().message, HasSubstr("is full, at most 2 entries"));
  b.remove_all(outbox);
  EXPECT_TRUE(b.add(outbox, {"four"}).room.ok());
}

TEST(Outbox, HasAByteLimit) {
  OutboxBundle b;
  OutboxConfig config = b.config();
  config.bytes_max = 10;
  Outbox outbox(config, b.clock);
  EXPECT_EQ(b.add(outbox, {"123456789"}).added, 1u);
  EXPECT_EQ(b.add(outbox, {"12"}).added, 0u);
  b.remove_all(outbox);
  EXPECT_EQ(b.add(outbox, {"12"}).added, 1u) << "the bytes of what went are free again";
}

TEST(Outbox, MovesADamagedFileAsideAndAdoptsTheOthers) {
  OutboxBundle b;
  {
    auto first = b.open();
    b.add(*first, {"damaged"});
    auto second = b.open();
    b.add(*second, {"fine"});
  }
  std::ofstream(b.file("0.db"), std::ios::trunc) << "this was a database once, and is none now";
  auto outbox = b.open();
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("fine"));
  int damaged = 0;
  for (const auto& file : std::filesystem::directory_iterator(b.config().folder)) {
    damaged += file.path().string().find("0.db.damaged-") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(damaged, 1);
  EXPECT_TRUE(b.add(*outbox, {"more"}).status.ok());
}

TEST(Outbox, MovesAFileWithImpossibleNumbersAside) {
  for (const char* script :
       {"PRAGMA user_version = -5;",
        "INSERT INTO lts_outbox_entry VALUES (9223372036854775807, 0, 0, 0, x'01', 0);",
        "INSERT INTO lts_outbox_entry VALUES (-1, 0, 0, 0, x'01', 0);"}) {
    SCOPED_TRACE(script);
    OutboxBundle b;
    b.add(*b.open(), {"old"});
    {
      auto db = sql::SqliteConnection::open(b.file("0.db"), {});
      ASSERT_TRUE(db.ok());
      ASSERT_TRUE(db.value()->run_script(script).ok());
    }
    auto outbox = b.open();
    EXPECT_EQ(outbox->entries(), 0);
    EXPECT_EQ(b.add(*outbox, {"new"}).added, 1u);
    EXPECT_THAT(b.bodies(*outbox), ElementsAre("new"));
  }
}

TEST(Outbox, MovesAFileWithoutFindableEntriesAside) {
  OutboxBundle b;
  b.add(*b.open(), {"old"});
  {
    auto db = sql::SqliteConnection::open(b.file("0.db"), {});
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db.value()
                    ->run_script("CREATE TABLE other AS SELECT NULL AS id, client, sequence, "
                                 "sent_us, added_us, body FROM lts_outbox_entry;\n"
                                 "DROP TABLE lts_outbox_entry;\n"
                                 "ALTER TABLE other RENAME TO lts_outbox_entry;")
                    .ok());
  }
  auto outbox = b.open();
  const WorkDone done = outbox->run({.load = true});
  EXPECT_EQ(done.status.error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(done.left, 0);
  EXPECT_EQ(b.add(*outbox, {"new"}).added, 1u);
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("new"));
}

TEST(Outbox, DeliversEntriesWithImpossibleTimes) {
  OutboxBundle b;
  b.add(*b.open(), {"old"});
  {
    auto db = sql::SqliteConnection::open(b.file("0.db"), {});
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db.value()
                    ->run_script("UPDATE lts_outbox_entry SET added_us = 9223372036854775807, "
                                 "sent_us = -9223372036854775808;")
                    .ok());
  }
  auto outbox = b.open();
  EXPECT_EQ(b.add(*outbox, {"new"}).added, 1u);
  EXPECT_THAT(b.bodies(*outbox), ElementsAre("old", "new"));
}

TEST(Outbox, LeavesFilesOfANewerVersionAlone) {
  OutboxBundle b;
  b.add(*b.open(), {"old"});
  const auto version = [&](const char* script) {
    auto db = sql::SqliteConnection::open(b.file("0.db"), {});
    ASSERT_TRUE(db.ok());
    ASSERT_TRUE(db.value()->run_script(script).ok());
  };
  version("PRAGMA user_version = 99;");
  {
    auto outbox = b.open();
    EXPECT_EQ(outbox->entries(), 0);
    EXPECT_TRUE(b.add(*outbox, {"new"}).status.ok()) << "into another slot";
  }
  version("PRAGMA user_version = 3;");
  auto outbox = b.open();
  EXPECT_EQ(outbox->entries(), 2);
}

TEST(Outbox, ReportsThatItsFolderIsAFile) {
  OutboxBundle b;
  std::ofstream(b.config().folder) << "in the way";
  auto outbox = b.open();
  const WorkDone done = b.add(*outbox, {"one"});
  ASSERT_FALSE(done.status.ok());
  EXPECT_THAT(done.status.error().message, HasSubstr(b.config().folder));
}

// A child adds one entry after another and says each that was added; it is killed in the middle.
TEST(Outbox, KeepsEveryAddedEntryWhenItsProcessIsKilled) {
  OutboxBundle b;
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Outbox outbox(b.config(), b.clock);
    for (std::int64_t id = 1;; ++id) {
      if (!outbox.run({.add = {entry_of(id, std::to_string(id))}}).status.ok()) ::_exit(1);
      if (::write(ends[1], &id, sizeof id) != sizeof id) ::_exit(1);
    }
  }
  ::close(ends[1]);
  std::int64_t said = 0;
  for (int i = 0; i < 30; ++i) ASSERT_EQ(::read(ends[0], &said, sizeof said), sizeof said);
  ASSERT_EQ(::kill(child, SIGKILL), 0);
  while (::read(ends[0], &said, sizeof said) == sizeof said) {
  }
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(ends[0]);

  auto outbox = b.open();
  const auto entries = b.load(*outbox, {.entries_max = 1'000'000, .bytes_max = 1 << 30});
  // The last one may be there without having been said.
  ASSERT_GE(static_cast<std::int64_t>(entries.size()), said);
  ASSERT_LE(static_cast<std::int64_t>(entries.size()), said + 1);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    ASSERT_EQ(entries[i].body, std::to_string(i + 1));
  }
}

}  // namespace
}  // namespace carillon::outbox
