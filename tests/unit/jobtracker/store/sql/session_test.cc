#include "jobtracker/store/sql/session.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/store/memory_store.h"
#include "jobtracker/store/sql/schema_migration.h"
#include "shared/base/random.h"
#include "shared/sql/sqlite/sqlite_connection.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"

// Sessions that share a store, as on MariaDB: the statements are the same, only the locks are not.
// The in-memory store is held to the same.
namespace carillon::jobtracker {
namespace {

constexpr WallTime kBegan{std::chrono::hours{500'000}};

struct SharedStore {
  struct Session {
    Partitions owned{};
    std::int32_t number = 0;
    std::int64_t batch = 0;
    std::int64_t id_high = 0;
    bool is_silent = false;
    bool yields = false;
  };

  SharedStore() {
    db = sql::SqliteConnection::open(folder.file("carillon.db"), {}).value();
    EXPECT_TRUE(migrate_schema(*db, 0, "shared", now).ok());
  }

  static StoreSession named(SessionId session) {
    return {.session = session,
            .name = "tracker",
            .lease = std::chrono::seconds{1 + session.value % 7}};
  }
  std::size_t pick(std::size_t below) { return static_cast<std::size_t>(random.next() % below); }
  Partitions some_partitions() { return Partitions{random.next()}; }
  SessionId any() {
    auto found = living.begin();
    std::advance(found, pick(living.size()));
    return found->first;
  }
  // As whoever has watched them has seen them last.
  std::vector<SessionHeartbeat> silent() {
    auto heartbeats = read_heartbeats(*db, named(SessionId{})).value();
    std::erase_if(heartbeats, [this](const SessionHeartbeat& heartbeat) {
      const auto found = living.find(heartbeat.session);
      return found == living.end() || !found->second.is_silent;
    });
    return heartbeats;
  }
  std::set<SessionId> silent_ones() {
    std::set<SessionId> all;
    for (const SessionHeartbeat& heartbeat : silent()) all.insert(heartbeat.session);
    return all;
  }

  // A process starts, or a session makes way for the next of its process.
  void begin(SessionId before) {
    const SessionId session{++last_session};
    SessionPlan plan{.silent = silent(), .before = before};
    if (before) plan.wanted = some_partitions();
    const std::set<SessionId> fenced = silent_ones();
    const auto start = begin_session(*db, named(session), ++now, plan);
    ASSERT_TRUE(start.ok()) << start.error().message;
    const auto in_memory = memory.begin_session(named(session), now, plan);
    ASSERT_TRUE(in_memory.ok()) << in_memory.error().message;
    EXPECT_EQ(in_memory.value(), start.value());
    std::int64_t highest = 0;
    std::set<std::int32_t> numbers;
    Partitions others;
    for (const auto& [id, one] : std::map(living)) {
      highest = std::max(highest, one.id_high);
      if (id == before || fenced.contains(id)) {
        EXPECT_FALSE(proves(id)) << "session " << id.value << " goes on";
        living.erase(id);
        continue;
      }
      numbers.insert(one.number);
      others |= one.owned;
    }
    EXPECT_EQ(start.value().owned, plan.wanted & ~others);
    EXPECT_FALSE(numbers.contains(start.value().number));
    EXPECT_GE(start.value().id_high, highest);
    leases[session] = named(session).lease;
    Duration longest{};
    for (const auto& [id, lease] : leases) longest = std::max(longest, lease);
    EXPECT_EQ(start.value().lease, longest) << "whoever takes over, or took over";
    leases[session] = longest;
    std::erase_if(leases, [this, session](const auto& one) {
      return one.first != session && !living.contains(one.first);
    });
    for (std::int32_t i = 0; i < kPartitions; ++i) {
      if (!start.value().owned.test(static_cast<std::size_t>(i))) continue;
      EXPECT_EQ(start.value().last_alive_of.at(i), last_alive[i]) << "partition " << i;
      // Whoever takes it is told from all who had it before.
      EXPECT_EQ(start.value().epochs.at(i), ++epochs[i]) << "partition " << i;
    }
    living[session] = {.owned = start.value().owned,
                       .number = start.value().number,
                       .id_high = start.value().id_high};
  }

  // A commit that has recovered what was missed before it.
  bool proves(SessionId id) {
    Session& session = living.at(id);
    const Batch batch{.number = session.batch + 1,
                      .id_high = session.id_high + 64,
                      .recovered = true,
                      .lease = pick(2) == 0 ? named(id).lease : Duration{},
                      .now = ++now};
    EXPECT_TRUE(db->begin().ok());
    const bool proved = prove_session(*db, named(id), batch).value();
    EXPECT_TRUE(db->commit().ok());
    MemoryStore other(memory, named(id), clock, {});
    EXPECT_EQ(std::holds_alternative<Committed>(other.commit(batch)), proved);
    if (!proved) return false;
    session.batch = batch.number;
    session.id_high = batch.id_high;
    if (batch.lease != Duration{}) leases[id] = batch.lease;
    for (std::int32_t i = 0; i < kPartitions; ++i) {
      if (session.owned.test(static_cast<std::size_t>(i))) last_alive[i] = now;
    }
    return true;
  }

  void end(SessionId id) {
    EXPECT_TRUE(end_session(*db, named(id)).ok());
    memory.end_session(id);
    living.erase(id);
  }

  void raise(SessionId id) {
    Session& session = living.at(id);
    session.yields = pick(2) == 0;
    EXPECT_TRUE(raise_heartbeat(*db, id, session.yields).value());
    EXPECT_TRUE(memory.raise_heartbeat(id, session.yields));
  }

  void check() {
    const auto view = read_cluster(*db, GroupId{}).value();
    for (std::size_t i = 0; i < view.owners.size(); ++i) {
      const auto owner = living.find(view.owners[i]);
      for (const auto& [id, one] : living) {
        EXPECT_EQ(one.owned.test(i), owner != living.end() && owner->first == id)
            << "partition " << i << " of session " << id.value;
      }
    }
    const auto other = memory.look(GroupId{});
    EXPECT_EQ(other.owners, view.owners);
    EXPECT_EQ(other.heartbeats, view.heartbeats);
    ASSERT_EQ(view.trackers.size(), living.size());
    ASSERT_EQ(other.trackers.size(), living.size());
    for (std::size_t i = 0; i < view.trackers.size(); ++i) {
      EXPECT_EQ(view.trackers[i].yields, living.at(view.trackers[i].session).yields);
      EXPECT_EQ(other.trackers[i].yields, living.at(other.trackers[i].session).yields);
    }
  }

  testing::TempFolder folder{};
  std::unique_ptr<sql::SqliteConnection> db{};
  MemoryDatabase memory{};
  ManualClock clock{};
  SeededRandom random{11};
  WallTime now = kBegan;
  std::int64_t last_session = 0;
  std::map<SessionId, Session> living{};   // that were not fenced
  std::map<SessionId, Duration> leases{};  // also of those that have ended since one began last
  std::map<std::int32_t, WallTime> last_alive{};
  std::map<std::int32_t, std::int64_t> epochs{};
};

TEST(Session, EachPartitionAlwaysHasOneOwner) {
  SharedStore store;
  for (int step = 0; step < 300; ++step) {
    SCOPED_TRACE(step);
    const auto what = store.pick(10);
    if (store.living.empty() || (what == 0 && store.living.size() < 6)) {
      store.begin(SessionId{});
    } else if (what < 4) {
      const SessionId before = store.any();
      if (!store.living.at(before).is_silent) store.begin(before);
    } else if (what == 4) {
      store.living.at(store.any()).is_silent = true;
    } else if (what == 5) {
      store.end(store.any());
    } else {
      const SessionId id = store.any();
      store.raise(id);
      EXPECT_TRUE(store.living.at(id).is_silent || store.proves(id));
    }
    store.check();
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(store.last_session, 50);
}

TEST(Session, HandoverFencesNoSessionThatWroteSinceItWasWatched) {
  SharedStore store;
  store.begin(SessionId{});
  store.begin(SessionId{});
  store.living.at(SessionId{2}).is_silent = true;
  const SessionPlan plan{.silent = store.silent(), .before = SessionId{1}};
  ASSERT_TRUE(store.proves(SessionId{2}));
  const auto begun = begin_session(*store.db, SharedStore::named(SessionId{9}), store.now, plan);
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().code, ErrorCode::kConflict);
  const auto in_memory =
      store.memory.begin_session(SharedStore::named(SessionId{9}), store.now, plan);
  ASSERT_FALSE(in_memory.ok());
  EXPECT_EQ(in_memory.error().code, ErrorCode::kConflict);
  store.check();
}

TEST(Session, FencedSessionCannotHandOverToASuccessor) {
  SharedStore store;
  store.begin(SessionId{});
  store.living.at(SessionId{1}).is_silent = true;
  store.begin(SessionId{});
  const auto outrun =
      begin_session(*store.db, SharedStore::named(SessionId{9}), store.now,
                    {.silent = std::vector<SessionHeartbeat>{}, .before = SessionId{1}});
  ASSERT_FALSE(outrun.ok());
  EXPECT_EQ(outrun.error().code, ErrorCode::kDenied);
  const auto in_memory = store.memory.begin_session(
      SharedStore::named(SessionId{9}), store.now,
      {.silent = std::vector<SessionHeartbeat>{}, .before = SessionId{1}});
  ASSERT_FALSE(in_memory.ok());
  EXPECT_EQ(in_memory.error().message, outrun.error().message);
  store.check();
}

// Who works has raised its heartbeat by then.
TEST(Session, StartReportsAwaitedSilentSessionsFromTheSecondHeartbeat) {
  SharedStore store;
  store.begin(SessionId{});
  store.begin(SessionId{});
  const SteadyTime began = store.clock.steady_now();
  const auto waited = [&] { return store.clock.steady_now() - began; };
  std::vector<SteadyTime::duration> said;
  const StandBy stand_by{.on_quiet =
                             [&](const std::vector<SessionHeartbeat>& quiet) {
                               ASSERT_EQ(quiet.size(), 1U);
                               EXPECT_EQ(quiet.front().session, SessionId{2});
                               said.push_back(waited());
                             },
                         .wait =
                             [&](Duration longest) {
                               store.clock.advance(longest);
                               store.raise(SessionId{1});
                               return true;
                             }};
  const auto silent =
      await_settled(*store.db, SharedStore::named(SessionId{9}), "shared", store.clock, false,
                    stand_by, HeartbeatWatch{std::chrono::seconds{5}});
  ASSERT_TRUE(silent.ok()) << silent.error().message;
  ASSERT_EQ(silent.value().size(), 2U) << "its lane and its beat";
  EXPECT_EQ(silent.value().front().session, SessionId{2});
  EXPECT_EQ(waited(), std::chrono::seconds{5});
  ASSERT_FALSE(said.empty());
  EXPECT_EQ(said.front(), 2 * kHeartbeat);
}

TEST(Session, RepeatedSessionStartGivesTheSameResult) {
  SharedStore store;
  store.begin(SessionId{});
  ASSERT_TRUE(store.proves(SessionId{1}));
  const StoreSession next = SharedStore::named(SessionId{9});
  const SessionPlan plan{.silent = std::vector<SessionHeartbeat>{},
                         .before = SessionId{1},
                         .wanted = store.some_partitions()};
  const auto begin = [&] {
    ++store.now;
    const auto start = begin_session(*store.db, next, store.now, plan);
    const auto in_memory = store.memory.begin_session(next, store.now, plan);
    EXPECT_EQ(start.ok(), in_memory.ok());
    if (start.ok() && in_memory.ok()) {
      EXPECT_EQ(in_memory.value(), start.value());
    }
    return start;
  };
  const auto start = begin();
  ASSERT_TRUE(start.ok()) << start.error().message;
  store.living.clear();
  store.living[next.session] = {.owned = start.value().owned};
  for (const auto& [partition, epoch] : start.value().epochs) store.epochs[partition] = epoch;

  const auto again = begin();

  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value(), start.value());
  store.check();

  store.living.at(next.session).is_silent = true;
  store.begin(SessionId{});
  const auto fenced = begin();
  ASSERT_FALSE(fenced.ok());
  EXPECT_EQ(fenced.error().code, ErrorCode::kDenied);
  store.check();
}

// A server, or a proxy before it, that says of each lock that connection 1 has it.
class OddServer final : public sql::Connection {
 public:
  sql::Dialect dialect() const override { return sql::Dialect::kMysql; }
  Status begin() override { return {}; }
  Status commit() override { return {}; }
  Status rollback() override { return {}; }
  Result<std::int64_t> execute(std::string_view, std::span<const sql::Value>) override { return 0; }
  Status query(std::string_view sql, std::span<const sql::Value>,
               const std::function<void(const sql::Row&)>& on_row) override {
    on_row(Number{sql.find("IS_USED_LOCK") == std::string_view::npos ? 0 : 1});
    return {};
  }
  Status insert_rows(std::string_view, int, std::span<const sql::Value>) override { return {}; }
  Result<std::vector<bool>> delete_rows(std::string_view, std::span<const std::string_view>,
                                        std::span<const sql::Value>) override {
    return std::vector<bool>{};
  }
  Result<std::vector<bool>> update_rows(std::string_view, std::span<const std::string_view>,
                                        std::span<const std::string_view>,
                                        std::span<const sql::Value>) override {
    return std::vector<bool>{};
  }
  Status run_script(std::string_view script) override {
    scripts.emplace_back(script);
    return {};
  }

  std::vector<std::string> scripts{};

 private:
  struct Number final : sql::Row {
    explicit Number(std::int64_t number) : number_(number) {}
    bool is_null(int) const override { return false; }
    std::int64_t integer(int) const override { return number_; }
    double real(int) const override { return 0; }
    std::string_view bytes(int) const override { return ""; }
    std::int64_t number_;
  };
};

TEST(Session, KillsOnlyConnectionsOfJobTrackers) {
  OddServer server;
  EXPECT_TRUE(end_connections(server, {{.session = SessionId{7}}}).ok());
  EXPECT_THAT(server.scripts, ::testing::IsEmpty());
}

}  // namespace
}  // namespace carillon::jobtracker
