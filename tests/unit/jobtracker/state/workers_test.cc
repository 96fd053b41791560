#include "jobtracker/state/workers.h"

#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using std::chrono::seconds;

constexpr SteadyTime kStart{seconds{100}};

wire::Pull pull(std::int64_t number, std::int32_t window, std::int64_t answered) {
  return {.number = number, .answered = answered, .window = window};
}

// What one hears when it has stood still was said long ago.
TEST(Workers, PullFromBeforeAStallLosesNoHandOut) {
  Worker worker;
  worker.take_pull(pull(7, 2, 6));
  worker.number_handout(2, kStart);
  worker.take_pull(pull(8, 2, 6));
  worker.forget_unseen(kStart + seconds{1}, 6);
  EXPECT_EQ(worker.credit(), 0);
}

TEST(Workers, HandOutOvertakenByTheNextAnswerIsLost) {
  Worker worker;
  worker.take_pull(pull(7, 2, 6));
  worker.number_handout(2, kStart);
  worker.take_pull(pull(9, 2, 8));
  worker.forget_unseen(kStart, 8);
  EXPECT_EQ(worker.credit(), 0) << "it may still be on its way";
  worker.forget_unseen(kStart + seconds{1}, 8);
  EXPECT_EQ(worker.credit(), 2);
}

}  // namespace
}  // namespace carillon::jobtracker
