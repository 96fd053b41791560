#include "tests/contract/store_comparison.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/contract/batch_source.h"
#include "tests/contract/compared_reads.h"
#include "tests/contract/store_twins.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kRound = 50'000;  // operations on a database that was empty
// Operations. All rows after each crash too.
constexpr std::int64_t kRowsComparedEach = 1'000;
constexpr std::int64_t kReadsComparedEach = 2'000;
constexpr std::int64_t kReadsComparedMax = 100;  // if more are compared, the less often
constexpr std::size_t kWorkingMax = 4;
constexpr std::size_t kOpenMax = 6;
constexpr const char* kGroupNames[] = {"three", "Three", "four.4", "five_5", "no group"};

// One database in memory, one in SQL, and what happens to them.
class Round {
 public:
  Round(StoreTestDatabase& sql, Sharing sharing, std::uint64_t seed,
        std::int64_t reads_compared_each, Distribution& distribution)
      : is_shared_(sharing == Sharing::kSeveral),
        reads_compared_each_(reads_compared_each),
        distribution_(distribution),
        twins_(memory_, sql, distribution),
        source_(begin_with_groups(seed)) {}

  void run(std::int64_t operations);

 private:
  using Session = Twins::Session;
  struct Happening {
    std::uint64_t per_mille;  // of the batches
    bool needs_others;
    void (Round::*happen)();
  };
  static const Happening kHappenings[];

  BatchSource begin_with_groups(std::uint64_t seed);
  bool draw_of_thousand(std::uint64_t share) { return source_.below(1000) < share; }
  StoreSession new_session();
  // Who works, or was fenced and goes on; null: nobody.
  Session* any(bool is_fenced);
  std::vector<Session*> open(bool is_fenced);
  void watch();
  std::vector<SessionHeartbeat> silent_ones();
  SessionPlan joining_plan();
  void note_beginning(const SessionPlan& plan, const std::set<SessionId>& before,
                      const Session* begun);
  void close_some_fenced();
  void compare_rows();
  void compare_all(bool is_thorough);

  void go_on();
  void go_on_fenced(Session& session);
  void begin();
  void begin_if_nobody_works();
  void begin_again();
  void take_place();
  void end();
  void raise_heartbeat();
  void look();
  void split();
  void make_group();
  void refuse();
  void refuse_number();
  void settle();
  void take_inbox();
  void take_results();

  const bool is_shared_;
  const std::int64_t reads_compared_each_;
  Distribution& distribution_;
  MemoryTestDatabase memory_{};
  Twins twins_;
  BatchSource source_;
  std::int32_t last_tracker_ = 0;
  std::vector<SessionHeartbeat> watched_{};  // some time ago
  std::int64_t done_ = 0;
  std::int64_t rows_compared_at_ = 0;
  std::int64_t reads_compared_at_ = 0;
};

const Round::Happening Round::kHappenings[] = {
    {20, false, &Round::begin},           {10, false, &Round::begin_again},
    {40, true, &Round::take_place},       {10, false, &Round::end},
    {60, false, &Round::raise_heartbeat}, {30, false, &Round::look},
    {30, false, &Round::split},           {15, false, &Round::make_group},
    {40, false, &Round::refuse},          {15, false, &Round::refuse_number},
    {15, false, &Round::settle},          {30, false, &Round::take_inbox},
    {20, false, &Round::take_results}};

BatchSource Round::begin_with_groups(std::uint64_t seed) {
  twins_.set_time(kNow);
  std::vector<Group> groups;
  SessionPlan plan;
  if (is_shared_) plan.silent.emplace();
  Session* first = twins_.begin({.session = SessionId{1}, .name = "the first"}, plan);
  for (const char* name : {"one", "two", "Two.2", "two-2"})
    groups.push_back(twins_.ask<GroupAnswer>(first, MakeGroup{name}).first.group);
  return BatchSource{seed, groups};
}

void Round::run(std::int64_t operations) {
  while (done_ < operations && !::testing::Test::HasFailure()) {
    twins_.set_time(source_.now());
    for (const Happening& one : kHappenings) {
      if (one.needs_others && !is_shared_) continue;
      if (!draw_of_thousand(one.per_mille)) continue;
      begin_if_nobody_works();
      if (::testing::Test::HasFailure()) return;
      (this->*one.happen)();
    }
    begin_if_nobody_works();
    if (::testing::Test::HasFailure()) return;
    go_on();
    close_some_fenced();
    if (done_ - reads_compared_at_ >= reads_compared_each_) {
      compare_all(false);
    } else if (done_ - rows_compared_at_ >= kRowsComparedEach) {
      compare_rows();
    }
  }
  compare_all(true);
}

void Round::compare_rows() {
  rows_compared_at_ = done_;
  twins_.compare_rows();
  source_.keep_small(twins_.tables());
}

void Round::compare_all(bool is_thorough) {
  reads_compared_at_ = done_;
  compare_rows();
  if (::testing::Test::HasFailure()) return;
  compare_reads(twins_, source_, is_thorough);
  distribution_.note(Event::kReadsCompared);
}

// ---- who there is ----

std::vector<Twins::Session*> Round::open(bool is_fenced) {
  std::vector<Session*> sessions;
  for (const auto& one : twins_.sessions()) {
    if (twins_.is_fenced(*one) == is_fenced) sessions.push_back(one.get());
  }
  return sessions;
}

Twins::Session* Round::any(bool is_fenced) {
  const auto sessions = open(is_fenced);
  return sessions.empty() ? nullptr : sessions[source_.below(sessions.size())];
}

// Ids are drawn, so that the younger need not have the higher. The connection is another for some.
StoreSession Round::new_session() {
  const auto number = ++last_tracker_;
  const auto drawn = static_cast<std::int64_t>(source_.below(1'000'000));
  return {.session = SessionId{drawn * 1'000'000 + number},
          .connection = source_.chance(20) ? 1 : 0,
          .name = "tracker-" + std::to_string(number),
          .lease = std::chrono::seconds{1 + number % 5}};
}

void Round::watch() { watched_ = twins_.look({}).heartbeats; }

// Those of dead sessions mostly, and some that work.
std::vector<SessionHeartbeat> Round::silent_ones() {
  if (source_.chance(50)) watch();
  std::set<SessionId> work;
  for (const Session* one : open(false)) work.insert(one->as.session);
  std::map<SessionId, bool> drawn;
  std::vector<SessionHeartbeat> silent;
  for (const SessionHeartbeat& heartbeat : watched_) {
    const auto [at, is_new] = drawn.try_emplace(heartbeat.session, false);
    if (is_new) at->second = source_.chance(work.contains(heartbeat.session) ? 15 : 60);
    if (at->second) silent.push_back(heartbeat);
  }
  return silent;
}

SessionPlan Round::joining_plan() {
  if (!is_shared_) return {};
  return {.silent = silent_ones(), .address = "tcp://tracker:" + std::to_string(last_tracker_)};
}

void Round::note_beginning(const SessionPlan& plan, const std::set<SessionId>& before,
                           const Session* begun) {
  if (begun == nullptr) {
    const bool was_fenced = plan.before && !before.contains(plan.before);
    distribution_.note(was_fenced ? Event::kTakenPlaceOfFenced : Event::kSilentWorked);
    return;
  }
  distribution_.note(!plan.silent  ? Event::kBegunAlone
                     : plan.before ? Event::kTakenPlace
                                   : Event::kBegunBesideOthers);
  if (plan.silent && !plan.silent->empty()) distribution_.note(Event::kSilentFenced);
  if (plan.silent && begun->owned.any()) distribution_.note(Event::kPartitionsTaken);
  const auto& notes = twins_.tables().partitions;
  if (std::any_of(notes.begin(), notes.end(), [](const auto& one) { return !one.second.owner; }))
    distribution_.note(Event::kPartitionsLeft);
}

void Round::close_some_fenced() {
  while (twins_.sessions().size() > kOpenMax) {
    const Session* fenced = any(true);
    if (fenced == nullptr) return;
    twins_.end(*fenced);
  }
}

// ---- what they do ----

void Round::go_on() {
  if (Session* fenced = any(true); fenced != nullptr && draw_of_thousand(100))
    return go_on_fenced(*fenced);
  Cut cut = Cut::kNone;
  if (draw_of_thousand(15)) {
    cut = Cut::kAnswerLost;
  } else if (draw_of_thousand(15)) {
    cut = Cut::kNeverArrived;
  } else if (draw_of_thousand(15)) {
    cut = Cut::kConnectionLost;
  }
  const auto committed = twins_.commit(*any(false), source_.next(), cut, source_.chance(30));
  if (committed) done_ += static_cast<std::int64_t>(committed->outcomes.size());
}

// It does not know it yet.
void Round::go_on_fenced(Session& session) {
  twins_.refuse_fenced(session, source_.next());
  twins_.settle(session, session.number + (source_.chance(50) ? 0 : 1));
  if (source_.chance(30)) {
    const auto [split, other] = twins_.read(&session, SplitGroup{source_.next_split()});
    EXPECT_FALSE(split.ok());
    if (!split.ok() && split.error().code == ErrorCode::kDenied)
      distribution_.note(Event::kFencedSplitRefused);
  }
  twins_.compare(&session, ReadInbox{.limit = 9}, "inbox of a fenced session", &InboxAnswer::rows);
  if (source_.chance(30)) twins_.end(session);
}

void Round::begin() {
  const auto working = open(false);
  if (is_shared_ && working.size() >= kWorkingMax) return;
  std::set<SessionId> before;
  for (const Session* one : working) before.insert(one->as.session);
  const StoreSession as = new_session();
  const SessionPlan plan = joining_plan();
  note_beginning(plan, before, twins_.begin(as, plan));
}

// Who is refused tries again.
void Round::begin_if_nobody_works() {
  while (any(false) == nullptr && !::testing::Test::HasFailure()) begin();
}

// The first time nobody knows whether it has.
void Round::begin_again() {
  if (is_shared_ && open(false).size() >= kWorkingMax) return;
  const StoreSession as = new_session();
  SessionPlan plan;
  if (is_shared_) {
    plan.silent.emplace();
    plan.address = "tcp://again:1";
    if (source_.chance(50)) {
      plan.before = any(false)->as.session;
      plan.wanted = Partitions{0x5555'5555'5555'5555};
    }
  }
  twins_.begin_in_vain(as, plan, source_.chance(50));
  if (twins_.begin(as, plan) != nullptr) distribution_.note(Event::kBegunAgain);
}

void Round::take_place() {
  std::set<SessionId> working;
  for (const Session* one : open(false)) working.insert(one->as.session);
  const Session* fenced = any(true);
  const bool is_late = fenced != nullptr && source_.chance(40);
  const SessionId before = (is_late ? fenced : any(false))->as.session;
  SessionPlan plan = joining_plan();
  plan.before = before;
  plan.wanted.reset();
  for (std::size_t i = 0; i < plan.wanted.size(); ++i) plan.wanted.set(i, source_.chance(60));
  note_beginning(plan, working, twins_.begin(new_session(), plan));
}

void Round::end() { twins_.end(*any(false)); }

void Round::raise_heartbeat() {
  const Session* fenced = any(true);
  const bool is_late = fenced != nullptr && source_.chance(20);
  const Session* who = is_late ? fenced : any(false);
  twins_.raise_heartbeat(source_.chance(5) ? SessionId{7} : who->as.session, source_.chance(30));
}

void Round::look() {
  watch();
  twins_.look(GroupId{static_cast<std::int32_t>(source_.below(20))});
}

// Both do it, or both say why not.
void Round::split() {
  const GroupSplit split = source_.next_split();
  Session* who = any(false);
  const auto groups = twins_.ask<StartAnswer>(who, ReadStart{}).first.groups;
  for (const Group& group : groups) {
    for (Session* one : open(false)) {
      const bool is_its = group.name == split.group && has_group(one->owned, group.id);
      if (is_its && source_.chance(80)) who = one;
    }
  }
  const auto [answer, other] = twins_.read(who, SplitGroup{split});
  distribution_.note(answer.ok() ? Event::kSplit : Event::kSplitRefused);
  if (!answer.ok()) return;
  const auto plan = plan_split(groups, split, who->owned, WallTime{});
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  source_.note_split(plan.value());
  twins_.compare_rows();
}

// Also by one that was fenced: a group is made outside of commits.
void Round::make_group() {
  Session* who = any(source_.chance(20));
  if (who == nullptr) return;
  const char* name = kGroupNames[source_.below(std::size(kGroupNames))];
  const auto [made, other] = twins_.read(who, MakeGroup{name});
  if (!made.ok() || !other.ok()) return;
  const Group group = std::get<GroupAnswer>(made.value()).group;
  EXPECT_EQ(group, std::get<GroupAnswer>(other.value()).group) << group.name;
  source_.note_group(group);
  distribution_.note(Event::kGroupMade);
}

void Round::refuse() { twins_.refuse_invalid(*any(false), source_.next_invalid()); }

void Round::refuse_number() {
  twins_.refuse_number(*any(false), source_.next(), source_.chance(50) ? -1 : 1);
}

void Round::settle() {
  Session* who = any(false);
  if (twins_.settle(*who, who->number + static_cast<std::int64_t>(source_.below(3)) - 1))
    distribution_.note(Event::kSettled);
}

// What others have sent it is done, or passed on.
void Round::take_inbox() {
  Session* who = any(false);
  const auto rows = twins_.ask<InboxAnswer>(who, ReadInbox{.limit = 9}).first.rows;
  if (rows.size() < std::min<std::size_t>(9, twins_.tables().inbox.size()))
    distribution_.note(Event::kInboxOfOthers);
  if (rows.empty()) return;
  std::vector<Operation> operations;
  for (const InboxRow& row : rows) {
    operations.push_back(
        RemoveInbox{.id = row.id, .to = source_.chance(30) ? GroupId{2} : GroupId{}});
  }
  if (twins_.commit(*who, source_.next_of(std::move(operations)), Cut::kNone, false))
    distribution_.note(Event::kInboxTaken);
}

void Round::take_results() {
  Session* who = any(false);
  const ReadExecutorResults question{.after = 0, .limit = 30};
  const auto rows = twins_.ask<ExecutorResultsAnswer>(who, question).first.rows;
  if (rows.empty()) return;
  std::vector<Operation> operations;
  for (const ExecutorResult& row : rows) operations.push_back(RemoveExecutorResult{row.id});
  if (twins_.commit(*who, source_.next_of(std::move(operations)), Cut::kNone, false))
    distribution_.note(Event::kResultsTaken);
}

}  // namespace

void compare_stores(const MakeStoreDatabase& sql, Sharing sharing, std::uint64_t seed,
                    std::int64_t operations) {
  Distribution distribution{sharing == Sharing::kSeveral};
  const std::int64_t reads_compared_each =
      std::max(kReadsComparedEach, operations / kReadsComparedMax);
  for (std::int64_t left = operations; left > 0; left -= kRound, ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    auto database = sql.make();
    ASSERT_TRUE(database.ok()) << database.error().message;
    Round{*database.value(), sharing, seed, reads_compared_each, distribution}.run(
        std::min(left, kRound));
    if (::testing::Test::HasFailure()) break;
  }
  distribution.print(std::cout);
  if (!::testing::Test::HasFailure()) distribution.expect_all();
}

std::int64_t operations_to_compare(std::int64_t otherwise) {
  const char* text =
      std::getenv("CARILLON_COMPARED_OPERATIONS");  // NOLINT(concurrency-mt-unsafe): one thread
  return text == nullptr ? otherwise : std::atoll(text);
}

}  // namespace carillon::jobtracker
