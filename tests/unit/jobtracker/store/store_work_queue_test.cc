#include "jobtracker/store/store_work_queue.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::jobtracker {
namespace {

using ::testing::ElementsAre;

struct Line {
  StoreWorkQueue line;

  void batch(std::int64_t number) {
    Batch batch;
    batch.number = number;
    line.put(std::move(batch));
  }
  void fill(std::uint64_t token) { line.put(StoreQuestion{token, ReadUpcoming{}}); }
  void ask(std::uint64_t token) { line.put(StoreQuestion{token, Find{}}); }
  std::string next() {
    const auto work = line.next();
    if (!work) return "nothing";
    if (const auto* batch = std::get_if<Batch>(&*work))
      return "batch " + std::to_string(batch->number);
    return "read " + std::to_string(std::get<StoreQuestion>(*work).token);
  }
  std::vector<std::string> rest() {
    std::vector<std::string> all;
    for (auto one = next(); one != "nothing"; one = next()) all.push_back(one);
    return all;
  }
};

TEST(StoreWorkQueue, BatchesPrecedeRefillReadsButLetSomeThroughInBetween) {
  Line test;
  for (std::uint64_t token = 1; token <= 6; ++token) test.fill(token);
  test.batch(1);
  EXPECT_EQ(test.next(), "batch 1");
  test.batch(2);
  EXPECT_THAT(test.rest(),
              ElementsAre("read 1", "read 2", "read 3", "read 4", "batch 2", "read 5", "read 6"));
}

TEST(StoreWorkQueue, BatchWaitsForEarlierQueries) {
  Line test;
  test.ask(1);
  test.fill(2);
  test.ask(3);
  test.batch(1);
  test.ask(4);
  EXPECT_THAT(test.rest(), ElementsAre("read 1", "read 3", "batch 1", "read 2", "read 4"));
}

TEST(StoreWorkQueue, RefillReadsAreNotStarvedByQueries) {
  Line test;
  test.fill(100);
  test.fill(101);
  for (std::uint64_t token = 0; token < 50; ++token) test.ask(token);
  const std::vector<std::string> all = test.rest();
  EXPECT_EQ(all[16], "read 100");
  EXPECT_EQ(all[33], "read 101");
}

TEST(StoreWorkQueue, RefillReadGoesFirstAfterManyQueries) {
  Line test;
  for (std::uint64_t token = 0; token < 40; ++token) test.ask(token);
  for (int i = 0; i < 20; ++i) test.next();
  test.fill(100);
  EXPECT_EQ(test.next(), "read 100");
}

}  // namespace
}  // namespace carillon::jobtracker
