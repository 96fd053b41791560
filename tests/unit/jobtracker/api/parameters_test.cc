#include "jobtracker/api/parameters.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobtracker/api/page_token.h"

namespace carillon::jobtracker::api {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Parameters parse(const std::string& query) { return Parameters::parse(query).value(); }

TEST(Parameters, AreDecoded) {
  const Parameters all = parse("group=ops&text=a%26b+c&tag=%E2%9C%93");
  EXPECT_EQ(all.text("group"), "ops");
  EXPECT_EQ(all.text("text"), "a&b c");
  EXPECT_EQ(all.text("tag"), "\u2713");
  EXPECT_EQ(all.text("owner"), "");
}

TEST(Parameters, AnEmptyOneCountsAsNone) {
  const Parameters all = parse("group=&flag=&n=");
  EXPECT_FALSE(all.has("group"));
  EXPECT_FALSE(all.flag("flag").value());
  EXPECT_EQ(all.number("n", 7, 1, 9).value(), 7);
}

TEST(Parameters, ListsAreSeparatedByComma) {
  EXPECT_THAT(parse("state=failed,lost,").list("state"), ElementsAre("failed", "lost"));
}

TEST(Parameters, AnUnknownOneIsNamed) {
  const Status allowed = parse("grop=ops").allow_only({"group"});
  ASSERT_FALSE(allowed.ok());
  EXPECT_THAT(allowed.error().message, HasSubstr("unknown field 'grop'"));
}

TEST(Parameters, NumbersAndFlagsAreChecked) {
  const Parameters all = parse("page_size=0&n=x&flag=yes&since=yesterday");
  EXPECT_THAT(all.number("page_size", 50, 1, 1000).error().message, HasSubstr("must be 1 to 1000"));
  EXPECT_FALSE(all.number("n", 1, 1, 9).ok());
  EXPECT_FALSE(all.flag("flag").ok());
  EXPECT_THAT(all.time("since").error().message, HasSubstr("since: "));
}

TEST(Parameters, OneThatIsGivenTwiceIsAnError) {
  EXPECT_FALSE(Parameters::parse("group=a&group=b").ok());
}

TEST(Parameters, EncodingIsTheReverseOfDecoding) {
  const std::string text = "a/b:c d%\u2713+";
  EXPECT_EQ(percent_decoded(percent_encoded(text), true).value(), text);
}

TEST(PageToken, LeadsToWhereThePageEnded) {
  const Parameters first = parse("group=ops&page_size=10");
  const PageStart end{.phase = 1, .after = "7:0:3", .skipped = 42};
  const std::string token = page_token(end, "/api/v1/jobs", first);
  const Parameters next = parse("group=ops&page_size=20&page_token=" + token);
  EXPECT_EQ(page_start("/api/v1/jobs", next).value(), end);
}

TEST(PageToken, IsRefusedWithOtherParametersOrForAnotherList) {
  const std::string token = page_token({.after = "7"}, "/api/v1/jobs", parse("group=ops"));
  EXPECT_FALSE(page_start("/api/v1/jobs", parse("group=mail&page_token=" + token)).ok());
  EXPECT_FALSE(page_start("/api/v1/nodes", parse("group=ops&page_token=" + token)).ok());
  EXPECT_FALSE(page_start("/api/v1/jobs", parse("group=ops&page_token=forged")).ok());
}

TEST(PageToken, WithoutOneTheListBegins) {
  EXPECT_EQ(page_start("/api/v1/jobs", parse("group=ops")).value(), PageStart{});
}

}  // namespace
}  // namespace carillon::jobtracker::api
