#include "shared/base/nearest_word.h"

#include <gtest/gtest.h>

namespace carillon {
namespace {

const std::vector<std::string> kWords{"listen", "log_level", "store", "store_wait", "data"};

TEST(NearestWord, FindsTheWordForATypo) {
  EXPECT_EQ(did_you_mean("lisen", kWords), " (did you mean 'listen'?)");
  EXPECT_EQ(did_you_mean("lsiten", kWords), " (did you mean 'listen'?)");
  EXPECT_EQ(did_you_mean("loglevel", kWords), " (did you mean 'log_level'?)");
  EXPECT_EQ(did_you_mean("store_wiat", kWords), " (did you mean 'store_wait'?)");
}

TEST(NearestWord, PrefersTheNearerOfTwoWords) {
  EXPECT_EQ(did_you_mean("stor", kWords), " (did you mean 'store'?)");
}

TEST(NearestWord, FindsWordsByTheirPrefix) {
  const std::vector<std::string> words{"--replace-on-exist", "--retry-base",   "--retry-cap",
                                       "--retry-jitter",     "--retry-policy", "--tags"};
  EXPECT_EQ(did_you_mean("--replace", words), " (did you mean '--replace-on-exist'?)");
  EXPECT_EQ(did_you_mean("--retry", words),
            " (did you mean '--retry-base', '--retry-cap', '--retry-jitter' or '--retry-policy'?)");
  EXPECT_EQ(did_you_mean("--re", words), "");
  EXPECT_EQ(did_you_mean("hist", {"list", "history"}), " (did you mean 'history'?)");
}

TEST(NearestWord, SuggestsNothingWhenNoWordIsNear) {
  EXPECT_EQ(did_you_mean("threads", kWords), "");
  EXPECT_EQ(did_you_mean("--frob", {"--cron", "--group"}), "");
  EXPECT_EQ(did_you_mean("--form", {"--cron", "--from"}), " (did you mean '--from'?)");
  EXPECT_EQ(did_you_mean("", kWords), "");
  EXPECT_EQ(did_you_mean("x", {}), "");
  EXPECT_EQ(did_you_mean(std::string(100'000, 'a'), kWords), "");
}

}  // namespace
}  // namespace carillon
