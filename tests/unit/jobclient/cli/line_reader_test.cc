#include "jobclient/cli/line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace carillon::cli {
namespace {

struct Pipe {
  Pipe() {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    read_end = ends[0];
    write_end = ends[1];
  }
  ~Pipe() {
    ::close(read_end);
    close_write_end();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  void write(const std::string& text) {
    ASSERT_EQ(::write(write_end, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_write_end() {
    if (write_end >= 0) ::close(write_end);
    write_end = -1;
  }

  int read_end = -1;
  int write_end = -1;
};

TEST(LineReader, ReturnsLinesWithTheirNumbers) {
  Pipe pipe;
  pipe.write("one\n\nthree\n");
  pipe.close_write_end();
  LineReader reader(pipe.read_end, 100);
  EXPECT_EQ(reader.next()->text, "one");
  EXPECT_EQ(reader.next()->text, "");
  const auto third = reader.next();
  EXPECT_EQ(third->text, "three");
  EXPECT_EQ(third->number, 3);
  EXPECT_FALSE(reader.next());
}

TEST(LineReader, AcceptsALastLineWithoutALineFeed) {
  Pipe pipe;
  pipe.write("one\ntwo");
  pipe.close_write_end();
  LineReader reader(pipe.read_end, 100);
  EXPECT_EQ(reader.next()->text, "one");
  EXPECT_EQ(reader.next()->text, "two");
  EXPECT_FALSE(reader.next());
}

TEST(LineReader, SkipsAnOverlongLine) {
  Pipe pipe;
  pipe.write("ok\n" + std::string(50, 'x') + "\nalso ok\n");
  pipe.close_write_end();
  LineReader reader(pipe.read_end, 10);
  EXPECT_EQ(reader.next()->text, "ok");
  const auto second = reader.next();
  EXPECT_TRUE(second->is_too_long);
  EXPECT_EQ(second->text, "");
  const auto third = reader.next();
  EXPECT_EQ(third->text, "also ok");
  EXPECT_EQ(third->number, 3);
}

TEST(LineReader, SkipsAnOverlongLineThatArrivesInPieces) {
  Pipe pipe;
  LineReader reader(pipe.read_end, 10);
  pipe.write(std::string(30, 'x'));
  EXPECT_FALSE(reader.has_line_now());
  pipe.write(std::string(30, 'y') + "\nshort\n");
  pipe.close_write_end();
  EXPECT_TRUE(reader.next()->is_too_long);
  EXPECT_EQ(reader.next()->text, "short");
  EXPECT_FALSE(reader.next());
}

TEST(LineReader, KnowsWhetherALineIsAvailable) {
  Pipe pipe;
  LineReader reader(pipe.read_end, 100);
  EXPECT_FALSE(reader.has_line_now());
  pipe.write("one\ntw");
  EXPECT_TRUE(reader.has_line_now());
  EXPECT_EQ(reader.next()->text, "one");
  EXPECT_FALSE(reader.has_line_now());
  pipe.write("o\n");
  EXPECT_TRUE(reader.has_line_now());
  EXPECT_EQ(reader.next()->text, "two");
  pipe.close_write_end();
  EXPECT_TRUE(reader.has_line_now());
  EXPECT_FALSE(reader.next());
}

}  // namespace
}  // namespace carillon::cli
