#include "shared/net/http/answer_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace carillon::net {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::size_t kBodyMax = 100;

// Takes it byte by byte, as the worst of networks brings it.
Status take_slowly(AnswerReader& reader, std::string_view bytes) {
  for (const char c : bytes) CARILLON_TRY(reader.take({&c, 1}));
  return {};
}

TEST(AnswerReader, ReadsABodyOfAGivenLength) {
  for (const bool is_slow : {false, true}) {
    SCOPED_TRACE(is_slow);
    AnswerReader reader(kBodyMax);
    constexpr std::string_view kAnswer =
        "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{\"code\":200}";
    ASSERT_TRUE((is_slow ? take_slowly(reader, kAnswer) : reader.take(kAnswer)).ok());
    ASSERT_TRUE(reader.is_done());
    EXPECT_EQ(reader.status(), 200);
    EXPECT_EQ(reader.take_body(), "{\"code\":200}");
    EXPECT_TRUE(reader.keeps_alive());
    EXPECT_EQ(reader.keep_alive_seconds(), std::nullopt);
  }
}

TEST(AnswerReader, ReadsAChunkedBody) {
  for (const bool is_slow : {false, true}) {
    SCOPED_TRACE(is_slow);
    AnswerReader reader(kBodyMax);
    constexpr std::string_view kAnswer =
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6;x=y\r\n "
        "world\r\n0\r\n\r\n";
    ASSERT_TRUE((is_slow ? take_slowly(reader, kAnswer) : reader.take(kAnswer)).ok());
    ASSERT_TRUE(reader.is_done());
    EXPECT_EQ(reader.take_body(), "hello world");
    EXPECT_TRUE(reader.keeps_alive());
  }
}

TEST(AnswerReader, TruncatesALargeBodyWhenAllowed) {
  const std::string body(50, 'x');
  for (const std::string& answer :
       {"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n" + body,
        "HTTP/1.1 200 OK\r\ncontent-length:99999999999999999999999\r\n\r\n" + body,
        "HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n" + body,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n32\r\n" + body}) {
    SCOPED_TRACE(answer);
    AnswerReader reader(40, true);
    ASSERT_TRUE(take_slowly(reader, answer).ok());
    ASSERT_TRUE(reader.is_done());
    EXPECT_TRUE(reader.is_cut());
    EXPECT_EQ(reader.take_body(), body.substr(0, 40));
    EXPECT_FALSE(reader.keeps_alive());
  }
  AnswerReader reader(50, true);
  ASSERT_TRUE(reader.take("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n" + body).ok());
  ASSERT_TRUE(reader.is_done());
  EXPECT_FALSE(reader.is_cut());
  EXPECT_EQ(reader.take_body(), body);
  EXPECT_TRUE(reader.keeps_alive());
}

TEST(AnswerReader, RefusesAnEndlessChunkExtensionAndAnEndlessTrailer) {
  for (const char* begin : {"5;x=", "0\r\nX: "}) {
    SCOPED_TRACE(begin);
    AnswerReader reader(kBodyMax);
    ASSERT_TRUE(reader.take("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").ok());
    ASSERT_TRUE(reader.take(begin).ok());
    Status taken;
    std::size_t bytes = 0;
    while (taken.ok() && bytes < 1'000'000) {
      taken = reader.take(std::string(4096, 'x'));
      bytes += 4096;
    }
    ASSERT_FALSE(taken.ok());
    EXPECT_THAT(taken.error().message, HasSubstr("is larger than 32768 bytes"));
    EXPECT_LE(bytes, 40U * 1024);
  }
}

TEST(AnswerReader, RefusesATrailerLineAbove64KiBThatArrivesAtOnce) {
  for (const bool cuts : {false, true}) {
    AnswerReader reader(kBodyMax, cuts);
    const Status taken = reader.take(
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: " + std::string(66'000, 'x') +
        "\r\n\r\n");
    ASSERT_FALSE(taken.ok());
    EXPECT_THAT(taken.error().message, HasSubstr("is larger than 32768 bytes"));
  }
}

TEST(AnswerReader, ReadsALargeBodyThatArrivesAtOnce) {
  const std::string body(200'000, 'x');
  for (const std::string& answer :
       {"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + body,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n30d40\r\n" + body + "\r\n0\r\n\r\n",
        "HTTP/1.1 200 OK\r\n\r\n" + body}) {
    AnswerReader reader(body.size());
    ASSERT_TRUE(reader.take(answer).ok());
    ASSERT_TRUE(reader.end().ok());
    EXPECT_EQ(reader.take_body(), body);
  }
}

TEST(AnswerReader, ReadsABodyThatEndsWithTheConnection) {
  AnswerReader reader(kBodyMax);
  ASSERT_TRUE(take_slowly(reader, "HTTP/1.0 404 Not Found\r\n\r\nno such page").ok());
  EXPECT_FALSE(reader.is_done());
  ASSERT_TRUE(reader.end().ok());
  ASSERT_TRUE(reader.is_done());
  EXPECT_EQ(reader.status(), 404);
  EXPECT_EQ(reader.take_body(), "no such page");
  EXPECT_FALSE(reader.keeps_alive());
}

TEST(AnswerReader, AcceptsBareNewlinesAndAStatusWithoutAReason) {
  for (const bool is_slow : {false, true}) {
    SCOPED_TRACE(is_slow);
    AnswerReader reader(kBodyMax);
    constexpr std::string_view kAnswer =
        "HTTP/1.1 500\nContent-Length: 2\nKeep-Alive: timeout=5, max=9\n\nno";
    ASSERT_TRUE((is_slow ? take_slowly(reader, kAnswer) : reader.take(kAnswer)).ok());
    ASSERT_TRUE(reader.is_done());
    EXPECT_EQ(reader.status(), 500);
    EXPECT_EQ(reader.take_body(), "no");
    EXPECT_EQ(reader.keep_alive_seconds(), 5);
  }
}

TEST(AnswerReader, SkipsInterimResponses) {
  AnswerReader reader(kBodyMax);
  ASSERT_TRUE(reader
                  .take("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\nX: y\r\n\r\n"
                        "HTTP/1.1 204 No Content\r\n\r\n")
                  .ok());
  ASSERT_TRUE(reader.is_done());
  EXPECT_EQ(reader.status(), 204);
}

TEST(AnswerReader, DropsAConnectionWithUnexpectedExtraBytes) {
  for (const std::string_view rest : {"", "HTTP/1.1 200 OK\r\n"}) {
    SCOPED_TRACE(rest);
    AnswerReader reader(kBodyMax);
    ASSERT_TRUE(
        reader.take("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n" + std::string{rest}).ok());
    ASSERT_TRUE(reader.is_done());
    EXPECT_EQ(reader.keeps_alive(), rest.empty());
    ASSERT_TRUE(reader.take("more").ok());
    EXPECT_FALSE(reader.keeps_alive());
  }
}

TEST(AnswerReader, HonorsConnectionClose) {
  AnswerReader reader(kBodyMax);
  ASSERT_TRUE(
      reader.take("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").ok());
  EXPECT_FALSE(reader.keeps_alive());
}

TEST(AnswerReader, RefusesAnOversizedHeadOrBody) {
  AnswerReader announced(kBodyMax);
  EXPECT_THAT(announced.take("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n").error().message,
              HasSubstr("larger than 100 bytes"));

  AnswerReader chunked(kBodyMax);
  ASSERT_TRUE(chunked
                  .take("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n60\r\n" +
                        std::string(96, 'x') + "\r\n")
                  .ok());
  EXPECT_THAT(chunked.take("60\r\n" + std::string(96, 'x')).error().message,
              HasSubstr("larger than 100 bytes"));

  AnswerReader endless(kBodyMax);
  ASSERT_TRUE(endless.take("HTTP/1.1 200 OK\r\n\r\n").ok());
  EXPECT_THAT(endless.take(std::string(101, 'x')).error().message,
              HasSubstr("larger than 100 bytes"));

  AnswerReader head(kBodyMax);
  EXPECT_THAT(head.take("HTTP/1.1 200 OK\r\nX: " + std::string(17'000, 'x')).error().message,
              HasSubstr("header of the response is larger"));
}

TEST(AnswerReader, RefusesBytesThatAreNotHttp) {
  for (const std::string_view bytes :
       {"SSH-2.0-OpenSSH_9.2\r\n\r\n", "\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"}) {
    SCOPED_TRACE(bytes);
    AnswerReader reader(kBodyMax);
    const Status taken = reader.take(bytes);
    ASSERT_FALSE(taken.ok());
    EXPECT_THAT(taken.error().message, StartsWith("the response is not HTTP"));
  }
}

TEST(AnswerReader, ReportsWhereTheConnectionEnded) {
  AnswerReader nothing(kBodyMax);
  EXPECT_FALSE(nothing.is_begun());
  EXPECT_THAT(nothing.end().error().message, HasSubstr("before the response"));
  for (const std::string_view part :
       {"HTTP/1.1 200 OK\r\nConte", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"}) {
    SCOPED_TRACE(part);
    AnswerReader reader(kBodyMax);
    ASSERT_TRUE(reader.take(part).ok());
    EXPECT_TRUE(reader.is_begun());
    EXPECT_THAT(reader.end().error().message, HasSubstr("in the middle"));
  }
}

}  // namespace
}  // namespace carillon::net
