#include "shared/runtime/mailbox.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "shared/runtime/thread.h"

namespace carillon {
namespace {

TEST(Mailbox, ReturnsValuesInInsertionOrder) {
  Mailbox<std::string> mailbox(4);
  EXPECT_TRUE(mailbox.put("one"));
  EXPECT_TRUE(mailbox.put("two"));
  EXPECT_EQ(mailbox.take(), "one");
  EXPECT_EQ(mailbox.take(), "two");
  EXPECT_EQ(mailbox.take(), std::nullopt);
}

TEST(Mailbox, RefusesValuesBeyondItsCapacityWithoutMovingThem) {
  Mailbox<std::unique_ptr<int>> mailbox(3);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(mailbox.put(std::make_unique<int>(i)));
  auto refused = std::make_unique<int>(3);
  EXPECT_FALSE(mailbox.put(std::move(refused)));
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(*refused, 3);
}

TEST(Mailbox, HasItsFullCapacityAgainAfterItIsEmptied) {
  Mailbox<int> mailbox(2);
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(mailbox.put(1)) << "round " << round;
    ASSERT_TRUE(mailbox.put(2)) << "round " << round;
    ASSERT_FALSE(mailbox.put(3)) << "round " << round;
    ASSERT_EQ(mailbox.take(), 1) << "round " << round;
    ASSERT_EQ(mailbox.take(), 2) << "round " << round;
  }
}

TEST(Mailbox, DestroysTheValuesStillInside) {
  auto value = std::make_shared<int>(7);
  {
    Mailbox<std::shared_ptr<int>> mailbox(2);
    ASSERT_TRUE(mailbox.put(std::shared_ptr<int>(value)));
    EXPECT_EQ(value.use_count(), 2);
  }
  EXPECT_EQ(value.use_count(), 1);
}

TEST(Mailbox, KeepsTheOrderOfEachProducerThread) {
  constexpr int kProducers = 4;
  constexpr int kEach = 5000;
  struct Letter {
    int from = 0;
    int number = 0;
  };
  Mailbox<Letter> mailbox(64);
  std::vector<std::unique_ptr<Thread>> producers;
  for (int from = 0; from < kProducers; ++from) {
    producers.push_back(Thread::start("producer", [&mailbox, from] {
                          for (int number = 0; number < kEach;) {
                            if (mailbox.put({from, number})) ++number;
                          }
                        }).value());
  }
  std::vector<int> next(kProducers, 0);
  int taken = 0;
  int out_of_order = 0;
  while (taken < kProducers * kEach) {
    mailbox.wait();
    while (auto letter = mailbox.take()) {
      if (next[static_cast<std::size_t>(letter->from)]++ != letter->number) ++out_of_order;
      ++taken;
    }
  }
  EXPECT_EQ(out_of_order, 0);
  EXPECT_EQ(mailbox.take().has_value(), false);
}

}  // namespace
}  // namespace carillon
