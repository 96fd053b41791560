#include "tasktracker/executor/taken_triggers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/temp_folder.h"

namespace carillon::tasktracker {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

struct TakenBundle {
  testing::TempFolder folder;
  // Each is a process; its end is a kill.
  std::unique_ptr<TakenTriggers> open() const {
    return TakenTriggers::open(folder.file("taken")).value();
  }
};

TEST(TakenTriggers, SurviveTheirProcessUnlessRemoved) {
  TakenBundle b;
  auto first = b.open();
  EXPECT_THAT(first->left_behind(), IsEmpty());
  first->add({1, 10});
  first->add({2, 20});
  first->add({3, 30});
  first->remove({2, 20});
  first.reset();
  EXPECT_THAT(b.open()->left_behind(),
              UnorderedElementsAre(TakenTrigger{1, 10}, TakenTrigger{3, 30}));
}

TEST(TakenTriggers, SurviveUntilTheyAreForgotten) {
  TakenBundle b;
  b.open()->add({1, 10});
  EXPECT_THAT(b.open()->left_behind(), ElementsAre(TakenTrigger{1, 10}));
  b.open()->forget_left_behind();
  EXPECT_THAT(b.open()->left_behind(), IsEmpty());
}

TEST(TakenTriggers, AreNotAdoptedFromALiveProcess) {
  TakenBundle b;
  const auto first = b.open();
  auto second = b.open();
  first->add({1, 10});
  second->add({2, 20});
  second.reset();
  const auto third = b.open();
  EXPECT_THAT(third->left_behind(), ElementsAre(TakenTrigger{2, 20}));
}

TEST(TakenTriggers, AreAdoptedFromSeveralDeadProcesses) {
  TakenBundle b;
  auto first = b.open();
  auto second = b.open();
  first->add({1, 10});
  second->add({2, 20});
  first.reset();
  second.reset();
  const auto third = b.open();
  EXPECT_THAT(third->left_behind(), UnorderedElementsAre(TakenTrigger{1, 10}, TakenTrigger{2, 20}));
  third->forget_left_behind();
  EXPECT_THAT(b.open()->left_behind(), IsEmpty());
}

}  // namespace
}  // namespace carillon::tasktracker
