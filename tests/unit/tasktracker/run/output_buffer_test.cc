#include "tasktracker/run/output_buffer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"

namespace carillon::tasktracker {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct OutputBufferBundle {
  ManualClock clock;
  OutputBuffer buffer{clock};

  explicit OutputBufferBundle(std::size_t bytes_max = 100'000) {
    buffer.reset({JobId{1}, 2}, bytes_max);
  }
  std::vector<wire::OutputChunk> take() {
    std::vector<wire::OutputChunk> chunks;
    buffer.take(chunks);
    return chunks;
  }
};

TEST(OutputBuffer, JoinsConsecutiveWritesIntoOneChunk) {
  OutputBufferBundle b;
  b.buffer.append(wire::Stream::kStdout, "one ");
  b.buffer.append(wire::Stream::kStdout, "two");
  const auto chunks = b.take();
  ASSERT_THAT(chunks, SizeIs(1));
  EXPECT_EQ(chunks[0].bytes, "one two");
  EXPECT_EQ(chunks[0].id, (wire::AttemptId{JobId{1}, 2}));
  EXPECT_EQ(chunks[0].at, b.clock.wall_now());
  EXPECT_THAT(b.take(), IsEmpty());
}

TEST(OutputBuffer, NumbersChunksFromOneOverAllStreams) {
  OutputBufferBundle b;
  b.buffer.append(wire::Stream::kStdout, "out");
  b.buffer.append(wire::Stream::kStderr, "err");
  EXPECT_EQ(b.take().at(1).sequence, 2);
  b.buffer.append(wire::Stream::kStderr, "more");
  EXPECT_EQ(b.take().at(0).sequence, 3);
}

TEST(OutputBuffer, CutsLongTextsIntoChunks) {
  OutputBufferBundle b;
  const std::string text(40'000, 'x');
  b.buffer.append(wire::Stream::kStdout, text);
  const auto chunks = b.take();
  ASSERT_THAT(chunks, SizeIs(3));
  EXPECT_EQ(chunks[0].bytes + chunks[1].bytes + chunks[2].bytes, text);
}

TEST(OutputBuffer, MarksTruncationOnce) {
  OutputBufferBundle b(2048);
  b.buffer.append(wire::Stream::kStdout, std::string(2050, 'x'));
  b.buffer.append(wire::Stream::kStdout, "more");
  const auto chunks = b.take();
  ASSERT_THAT(chunks, SizeIs(2));
  EXPECT_EQ(chunks[0].bytes.size(), 2048U);
  EXPECT_EQ(chunks[1].stream, wire::Stream::kLog);
  EXPECT_THAT(chunks[1].bytes, HasSubstr("cut after 2 KiB"));
}

TEST(OutputBuffer, MarksNoTruncationWhenTheOutputJustFits) {
  OutputBufferBundle b(4);
  b.buffer.append(wire::Stream::kStdout, "1234");
  EXPECT_THAT(b.take(), SizeIs(1));
}

TEST(OutputBuffer, ResetsForTheNextRun) {
  OutputBufferBundle b(1);
  b.buffer.append(wire::Stream::kStdout, "12");
  b.buffer.reset({JobId{2}, 1}, 10);
  b.buffer.append(wire::Stream::kStdout, "12");
  const auto chunks = b.take();
  ASSERT_THAT(chunks, SizeIs(1));
  EXPECT_EQ(chunks[0].sequence, 1);
  EXPECT_EQ(chunks[0].id.job_id, JobId{2});
}

}  // namespace
}  // namespace carillon::tasktracker
