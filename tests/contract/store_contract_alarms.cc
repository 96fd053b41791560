#include "tests/contract/store_contract.h"

// Alarms that are to be sent, the history of their messages, and silences.
namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AlarmHistoryRow message(std::int64_t id, std::int32_t group,
                        AlarmState state = AlarmState::kFiring) {
  return {.id = id,
          .at = kNow,
          .group = GroupId{group},
          .rule = "late",
          .recipient = "ops@example.com",
          .state = state,
          .message = "[carillon] ops: late: 3 due jobs"};
}

SilenceRow silence(std::int32_t group, Duration after) {
  return {.group = GroupId{group}, .until = kNow + after};
}

std::vector<std::int64_t> ids(const AlarmHistoryAnswer& answer) {
  std::vector<std::int64_t> found;
  for (const AlarmHistoryRow& row : answer.rows) found.push_back(row.id);
  return found;
}

TEST_P(StoreContract, ReplacesTheHistoryOfAnAlarmThatIsTriedAgain) {
  committed({PutAlarmHistory{message(1, 3, AlarmState::kFailed)}});
  AlarmHistoryRow delivered = message(1, 3, AlarmState::kDelivered);
  delivered.at += kSecond;
  delivered.rule = "r\xC3\xA4umen";
  committed({PutAlarmHistory{message(1, 3, AlarmState::kFailed)}, PutAlarmHistory{delivered}});
  EXPECT_THAT(ask<AlarmHistoryAnswer>(ListAlarmHistory{.limit = 10}).rows, ElementsAre(delivered));
}

TEST_P(StoreContract, FindsTheAlarmHistoryByGroupInPages) {
  committed({PutAlarmHistory{message(1, 1)}, PutAlarmHistory{message(2, 2)},
             PutAlarmHistory{message(4, 1)}, PutAlarmHistory{message(3, 1)}});
  const auto found = [&](const ListAlarmHistory& question) {
    return ids(ask<AlarmHistoryAnswer>(question));
  };
  EXPECT_THAT(found({.limit = 10}), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(found({.limit = 2}), ElementsAre(4, 3));
  EXPECT_THAT(found({.group = GroupId{1}, .before_id = 4, .limit = 10}), ElementsAre(3, 1));
  EXPECT_THAT(found({.group = GroupId{7}, .limit = 10}), IsEmpty());
}

TEST_P(StoreContract, PurgesTheAlarmHistoryByAgeAndNumber) {
  committed({PutAlarmHistory{message(1, 1)}, PutAlarmHistory{message(2, 1)},
             PutAlarmHistory{message(3, 1)}, PutAlarmHistory{message(4, 1)},
             PutAlarmHistory{message(5, 1)}});
  const auto purged = [&](const Purge& purge) { return committed({purge}).outcomes.front().count; };
  const auto left = [&] { return ids(ask<AlarmHistoryAnswer>(ListAlarmHistory{.limit = 10})); };
  EXPECT_EQ(purged({.audit_before = 2}), 1);
  EXPECT_EQ(purged({.alarms_max = 4}), 0);
  EXPECT_THAT(left(), ElementsAre(5, 4, 3, 2));
  EXPECT_EQ(purged({.alarms_max = 2, .limit = 1}), 1);
  EXPECT_EQ(purged({.audit_before = 3, .alarms_max = 2}), 1);
  EXPECT_THAT(left(), ElementsAre(5, 4));
}

TEST_P(StoreContract, StoresSilencesUntilTheyEnd) {
  const auto silences = [&] { return ask<SilencesAnswer>(ListSilences{}).rows; };
  committed({PutSilence{silence(2, 5 * kSecond)}, PutSilence{silence(1, 5 * kSecond)}});
  EXPECT_THAT(silences(), ElementsAre(silence(1, 5 * kSecond), silence(2, 5 * kSecond)));
  EXPECT_THAT(ask<StartAnswer>(ReadStart{}).silences,
              ElementsAre(silence(1, 5 * kSecond), silence(2, 5 * kSecond)));

  committed({PutSilence{silence(1, 9 * kSecond)}, PutSilence{{.group = GroupId{2}}},
             PutSilence{{.group = GroupId{3}}}});
  EXPECT_THAT(silences(), ElementsAre(silence(1, 9 * kSecond)));

  committed({PutSilence{silence(4, -kSecond)}});
  committed({Purge{}});
  EXPECT_THAT(silences(), ElementsAre(silence(1, 9 * kSecond))) << "the other one is over";
}

TEST_P(StoreContract, KeepsAlarmRowsUntilTheyAreRemoved) {
  const auto alarms = [this] { return ask<StartAnswer>(ReadStart{}).alarms; };
  const auto failed = [this](std::vector<AlarmMark> marks) {
    LogEntry entry = new_log(new_job());
    entry.state = LogState::kFailed;
    entry.alarms = std::move(marks);
    return entry;
  };
  const AlarmMark first{.alarm = 7, .line = 0, .failures = 1, .recipient = "ops@example.com"};
  const AlarmMark second{.alarm = 7, .line = 1, .failures = 1, .recipient = "ops@example.com"};
  const AlarmMark other{.alarm = 8, .line = 0, .failures = 1, .recipient = "https://a/b"};
  LogEntry once = failed({first, other});
  LogEntry next = failed({second});
  committed({AddLog{next}, AddLog{once}});
  const auto row = [](LogEntry entry, const AlarmMark& mark) {
    entry.alarms.clear();
    return AlarmRow{.mark = mark, .entry = std::move(entry)};
  };
  EXPECT_THAT(alarms(), ElementsAre(row(once, first), row(next, second), row(once, other)));

  // The next failure stands in the place of the one before, also within a batch.
  AlarmMark again = first;
  again.failures = 2;
  const LogEntry twice = failed({again});
  again.failures = 3;
  const LogEntry thrice = failed({again});
  committed({AddLog{twice}, AddLog{thrice}});
  EXPECT_THAT(alarms(), ElementsAre(row(thrice, again), row(next, second), row(once, other)));
  EXPECT_THAT(history(), SizeIs(4));
  EXPECT_TRUE(history().front().alarms.empty());

  committed({RemoveAlarm{7}, RemoveAlarm{9}});
  EXPECT_THAT(alarms(), ElementsAre(row(once, other)));
}

}  // namespace
}  // namespace carillon::jobtracker
