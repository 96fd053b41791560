#include "jobtracker/alarm/output_words.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/random.h"

namespace carillon::jobtracker {
namespace {

const OutputPlace kHere{.job_id = JobId{1}, .attempt = 1, .stream = 1};

TEST(OutputWords, FindTheEarliestMatchOfSeveralWords) {
  OutputWords words{{"FATAL", "disk full"}};
  EXPECT_EQ(words.find(kHere, "all is well\n"), "");
  EXPECT_EQ(words.find(kHere, "the disk full, FATAL\n"), "disk full");
  EXPECT_EQ(words.find(kHere, "FATAL: disk full\n"), "FATAL");
  EXPECT_EQ(words.find(kHere, "fatal\n"), "");
  EXPECT_EQ(words.begun(), 0U);
}

TEST(OutputWords, FindAWordSplitOverManyChunks) {
  OutputWords words{{"FATAL"}};
  for (const char* piece : {"xF", "A", "", "TA"}) EXPECT_EQ(words.find(kHere, piece), "") << piece;
  EXPECT_EQ(words.begun(), 1U);
  EXPECT_EQ(words.find(kHere, "L and on"), "FATAL");
  EXPECT_EQ(words.begun(), 0U);
}

TEST(OutputWords, DoNotJoinChunksOfDifferentStreamsOrAttempts) {
  OutputWords words{{"FATAL"}};
  OutputPlace other = kHere;
  other.stream = 2;
  OutputPlace later = kHere;
  later.attempt = 2;
  EXPECT_EQ(words.find(kHere, "FAT"), "");
  EXPECT_EQ(words.find(other, "AL"), "");
  EXPECT_EQ(words.find(later, "AL"), "");
  EXPECT_EQ(words.find(kHere, "AL"), "FATAL");
}

TEST(OutputWords, BoundTheNumberOfPartialMatches) {
  OutputWords words{{"FATAL"}};
  OutputPlace place = kHere;
  for (std::size_t i = 0; i < 3 * OutputWords::kBegunMax; ++i) {
    ++place.job_id.value;
    words.find(place, "FA");
    ASSERT_LE(words.begun(), OutputWords::kBegunMax);
  }
  EXPECT_EQ(words.find(place, "TAL"), "FATAL") << "the newest is known";
}

// However a text is cut, it holds the words that it holds as a whole.
TEST(OutputWords, FindWordsRegardlessOfChunkBoundaries) {
  const std::vector<std::string> list{"aab", "abab", "caa"};
  SeededRandom random{7};
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += "aaabc"[random.next() % 5];
    OutputWords words{list};
    bool was_found = false;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = random.next() % 4;
      was_found = !words.find(kHere, text.substr(at, size)).empty() || was_found;
      at += size;
    }
    bool holds_one = false;
    for (const std::string& word : list) {
      holds_one = holds_one || text.find(word) != std::string::npos;
    }
    ASSERT_EQ(was_found, holds_one) << text;
  }
}

}  // namespace
}  // namespace carillon::jobtracker
