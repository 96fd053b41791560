#include "tasktracker/report/output_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/unit/tasktracker/attempt.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::SizeIs;

struct OutputQueueBundle {
  ManualClock clock;
  OutputQueue queue{OutputQueueConfig{.message_bytes = 10, .bytes_max = 40}};

  void add(std::int64_t job, std::int64_t sequence, std::string bytes) {
    std::vector<wire::OutputChunk> chunks;
    chunks.push_back({.id = id(job), .sequence = sequence, .bytes = std::move(bytes)});
    queue.add(chunks);
  }
  std::optional<wire::Output> next() {
    return queue.next_message(SessionId{7}, clock.steady_now());
  }
};

TEST(OutputQueue, SendsOneMessageAtATimeInOrder) {
  OutputQueueBundle b;
  b.add(1, 1, "12345");
  b.add(1, 2, "1234");
  b.add(2, 1, "12");
  const auto first = b.next();
  ASSERT_TRUE(first);
  ASSERT_THAT(first->chunks, SizeIs(2));
  EXPECT_EQ(first->session, SessionId{7});
  EXPECT_EQ(first->chunks[1].sequence, 2);
  EXPECT_FALSE(b.next()) << "until that is taken";
  b.queue.on_taken(2, b.clock.steady_now());
  const auto second = b.next();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->chunks[0].id, id(2));
}

TEST(OutputQueue, SendsAChunkLargerThanAMessageAlone) {
  OutputQueueBundle b;
  b.add(1, 1, "1234567890123");
  b.add(1, 2, "1");
  EXPECT_THAT(b.next()->chunks, SizeIs(1));
}

TEST(OutputQueue, RetriesUntakenOutputAfterAShortDelay) {
  OutputQueueBundle b;
  b.add(1, 1, "1");
  b.add(1, 2, "2");
  (void)b.next();
  b.queue.on_taken(1, b.clock.steady_now());
  EXPECT_TRUE(b.queue.has(id(1)));
  EXPECT_FALSE(b.next());
  EXPECT_EQ(b.queue.next_time(), b.clock.steady_now() + milliseconds{100});
  b.clock.advance(milliseconds{100});
  const auto rest = b.next();
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->chunks[0].sequence, 2);
  b.queue.on_taken(1, b.clock.steady_now());
  EXPECT_FALSE(b.queue.has(id(1)));
  EXPECT_TRUE(b.queue.empty());
  EXPECT_EQ(b.queue.bytes(), 0U);
}

TEST(OutputQueue, ResendsUnansweredOutput) {
  OutputQueueBundle b;
  b.add(1, 1, "1");
  (void)b.next();
  b.clock.advance(seconds{2});
  EXPECT_EQ(b.next()->chunks[0].sequence, 1);
}

TEST(OutputQueue, ResendsAtOnceOnANewConnection) {
  OutputQueueBundle b;
  b.add(1, 1, "1");
  (void)b.next();
  b.queue.forget_sent();
  EXPECT_TRUE(b.next());
}

TEST(OutputQueue, MarksTheOutputWhenItsBacklogIsTooLarge) {
  OutputQueueBundle b;
  b.add(1, 1, std::string(30, 'a'));
  b.add(1, 2, std::string(20, 'b'));
  b.add(1, 3, std::string(5, 'c'));
  (void)b.next();
  b.queue.on_taken(1, b.clock.steady_now());
  const auto rest = b.next();
  ASSERT_THAT(rest->chunks, SizeIs(1));
  EXPECT_EQ(rest->chunks[0].stream, wire::Stream::kLog);
  EXPECT_THAT(rest->chunks[0].bytes, HasSubstr("the rest of the output is lost"));
}

TEST(OutputQueue, IgnoresAnUnexpectedAnswer) {
  OutputQueueBundle b;
  b.add(1, 1, "1");
  b.queue.on_taken(1, b.clock.steady_now());
  EXPECT_TRUE(b.queue.has(id(1)));
}

TEST(OutputQueue, IsStalledAfterASecondAndKeepsEachChunkOnce) {
  OutputQueueBundle b;
  b.add(1, 1, "1");
  (void)b.next();
  EXPECT_FALSE(b.queue.is_stalled(b.clock.steady_now()));
  b.clock.advance(seconds{1});
  EXPECT_TRUE(b.queue.is_stalled(b.clock.steady_now()));
  std::vector<std::int64_t> kept;
  const auto keep = [&](const wire::OutputChunk& chunk) {
    kept.push_back(chunk.sequence);
    return outbox::EntryId{outbox::kOwnSlot, chunk.sequence};
  };
  b.queue.keep_all(keep);
  b.add(1, 2, "2");
  b.queue.add_kept({.id = id(9), .sequence = 3, .bytes = "3"}, SessionId{8}, {0, 77});
  b.queue.keep_all(keep);
  EXPECT_EQ(kept, (std::vector<std::int64_t>{1, 2}));
  b.queue.on_taken(1, b.clock.steady_now());
  EXPECT_FALSE(b.queue.is_stalled(b.clock.steady_now()));
  EXPECT_EQ(b.queue.take_settled(), (std::vector<outbox::EntryId>{{outbox::kOwnSlot, 1}}));
  (void)b.next();
  b.queue.on_taken(1, b.clock.steady_now());
  EXPECT_EQ(b.next()->origin, SessionId{8});
  b.queue.on_taken(1, b.clock.steady_now());
  EXPECT_EQ(b.queue.take_settled(), (std::vector<outbox::EntryId>{{outbox::kOwnSlot, 2}, {0, 77}}));
  EXPECT_TRUE(b.queue.empty());
}

TEST(OutputQueue, OneRejectedChunkDoesNotBlockTheOthers) {
  OutputQueueBundle b;
  for (std::int64_t chunk = 1; chunk <= 3; ++chunk) b.add(chunk, 1, "1");
  ASSERT_THAT(b.next()->chunks, SizeIs(3));
  EXPECT_FALSE(b.queue.on_rejected(b.clock.steady_now()));
  ASSERT_THAT(b.next()->chunks, SizeIs(1));
  b.queue.on_taken(1, b.clock.steady_now());
  const auto bad = b.next();
  ASSERT_TRUE(bad);
  ASSERT_THAT(bad->chunks, SizeIs(1));
  EXPECT_EQ(b.queue.on_rejected(b.clock.steady_now()), id(2));
  EXPECT_EQ(b.next()->chunks[0].id, id(3));
}

}  // namespace
}  // namespace carillon::tasktracker
