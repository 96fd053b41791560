#include "tasktracker/report/reporter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/manual_clock.h"
#include "tests/unit/tasktracker/attempt.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

struct ReporterBundle {
  explicit ReporterBundle(ReporterConfig config = {.results_max = 2}) : reporter(config, output) {}

  ManualClock clock;
  OutputQueue output{OutputQueueConfig{}};
  Reporter reporter;

  void add(std::int64_t job, std::string message = {}) {
    reporter.add({.id = id(job), .message = std::move(message)}, clock.steady_now());
  }
  void write(std::int64_t job) {
    std::vector<wire::OutputChunk> chunks;
    chunks.push_back({.id = id(job), .sequence = 1, .bytes = "x"});
    output.add(chunks);
  }
  // The jobs of the next message.
  std::vector<std::int64_t> next() {
    std::vector<std::int64_t> jobs;
    if (const auto report = reporter.next_message(SessionId{7}, clock.steady_now())) {
      for (const wire::RunResult& result : report->results) jobs.push_back(result.id.job_id.value);
    }
    return jobs;
  }
};

TEST(Reporter, SendsResultsInOrderInBatches) {
  ReporterBundle b;
  b.add(1);
  b.add(2);
  b.add(3);
  EXPECT_THAT(b.next(), ElementsAre(1, 2));
  EXPECT_THAT(b.next(), ElementsAre(3));
  EXPECT_THAT(b.next(), IsEmpty());
}

TEST(Reporter, ResendsResultsUnconfirmedForASecond) {
  ReporterBundle b;
  b.add(1);
  b.add(2);
  (void)b.next();
  b.reporter.on_reported({.done = {id(1)}});
  EXPECT_EQ(b.reporter.next_time(), b.clock.steady_now() + seconds{1});
  b.clock.advance(milliseconds{999});
  EXPECT_THAT(b.next(), IsEmpty());
  b.clock.advance(milliseconds{1});
  EXPECT_THAT(b.next(), ElementsAre(2));
}

TEST(Reporter, LimitsMessagesInFlightAndBatchesLaterResults) {
  ReporterBundle b({.results_max = 100, .messages_max = 3});
  for (std::int64_t job = 1; job <= 3; ++job) {
    b.add(job);
    EXPECT_THAT(b.next(), ElementsAre(job));
  }
  for (std::int64_t job = 4; job <= 6; ++job) {
    b.add(job);
    EXPECT_THAT(b.next(), IsEmpty());
  }
  EXPECT_EQ(b.reporter.next_time(), b.clock.steady_now() + seconds{1}) << "it must not spin";
  b.reporter.on_reported({.done = {id(2)}});
  EXPECT_THAT(b.next(), ElementsAre(4, 5, 6));
  b.add(7);
  EXPECT_THAT(b.next(), IsEmpty());
  b.reporter.on_reported({.done = {id(4), id(5)}});
  EXPECT_THAT(b.next(), IsEmpty()) << "one of that message is not confirmed";
  b.reporter.on_reported({.done = {id(6)}});
  EXPECT_THAT(b.next(), ElementsAre(7));
  // Messages that were lost do not count for ever.
  b.clock.advance(seconds{1});
  EXPECT_THAT(b.next(), ElementsAre(1, 3, 7));
  b.add(8);
  EXPECT_THAT(b.next(), ElementsAre(8));
  b.add(9);
  EXPECT_THAT(b.next(), ElementsAre(9));
  b.add(10);
  EXPECT_THAT(b.next(), IsEmpty());
  b.reporter.forget_sent();
  EXPECT_THAT(b.next(), ElementsAre(1, 3, 7, 8, 9, 10));
}

TEST(Reporter, ForgetsConfirmedResults) {
  ReporterBundle b;
  b.add(1);
  (void)b.next();
  b.reporter.on_reported({.done = {id(1), id(99)}});
  b.clock.advance(seconds{5});
  EXPECT_THAT(b.next(), IsEmpty());
  EXPECT_EQ(b.reporter.unconfirmed(), 0U);
  EXPECT_EQ(b.reporter.next_time(), std::nullopt);
}

TEST(Reporter, ResendsEverythingFirstOnANewConnection) {
  ReporterBundle b;
  b.add(1);
  b.add(2);
  (void)b.next();
  b.add(3);
  b.reporter.forget_sent();
  EXPECT_THAT(b.next(), ElementsAre(1, 2));
  EXPECT_THAT(b.next(), ElementsAre(3));
}

TEST(Reporter, HoldsAResultBackUntilItsOutputWasTaken) {
  ReporterBundle b;
  b.write(1);
  b.add(1);
  b.add(2);
  EXPECT_THAT(b.next(), ElementsAre(2));
  (void)b.output.next_message(SessionId{7}, b.clock.steady_now());
  EXPECT_THAT(b.next(), IsEmpty());
  b.output.on_taken(1, b.clock.steady_now());
  EXPECT_THAT(b.next(), ElementsAre(1));
}

TEST(Reporter, ReleasesAResultWhenItsOutputIsNotTaken) {
  ReporterBundle b;
  b.write(1);
  b.add(1);
  EXPECT_EQ(b.reporter.next_time(), b.clock.steady_now() + seconds{2});
  b.clock.advance(seconds{2});
  EXPECT_THAT(b.next(), ElementsAre(1));
}

TEST(Reporter, TruncatesMessagesAtACharacterBoundary) {
  ReporterBundle b;
  std::string message(4095, 'a');
  b.add(1, message + "\xC3\xA9 and more");
  const auto report = b.reporter.next_message(SessionId{7}, b.clock.steady_now());
  EXPECT_EQ(report->results.at(0).message, message);
}

TEST(CleanText, KeepsUtf8OfAllLengths) {
  const std::string text = "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x94\x94\n\t";
  EXPECT_EQ(clean_text(text, 100), text);
}

TEST(CleanText, ReplacesInvalidUtf8) {
  EXPECT_EQ(clean_text("a\xFF\xC0\x80z", 100), "a???z");
  EXPECT_EQ(clean_text("\xED\xA0\x80", 100), "???") << "a surrogate";
  EXPECT_EQ(clean_text("\xF0\x9F\x94", 100), "???") << "cut in the middle";
}

TEST(CleanText, ReplacesControlCharacters) {
  EXPECT_EQ(clean_text(std::string_view("a\0b\x1B[1m\x7F", 8), 100), "a b [1m ");
}

// What an earlier session ran is reported for that session, in a message of its own.
TEST(Reporter, SendsResultsOfEachSessionInSeparateMessages) {
  ReporterBundle b({.results_max = 10});
  b.add(1);
  b.reporter.add({.id = id(2)}, b.clock.steady_now(), SessionId{66}, {0, 5});
  b.reporter.add({.id = id(3)}, b.clock.steady_now(), SessionId{66}, {0, 6});
  const auto own = b.reporter.next_message(SessionId{7}, b.clock.steady_now());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->results.size(), 1u);
  EXPECT_EQ(own->origin, SessionId{});
  const auto left = b.reporter.next_message(SessionId{7}, b.clock.steady_now());
  ASSERT_TRUE(left);
  EXPECT_EQ(left->session, SessionId{7});
  EXPECT_EQ(left->origin, SessionId{66});
  EXPECT_EQ(left->results.size(), 2u);
  b.reporter.on_reported({.done = {id(2)}});
  EXPECT_THAT(b.reporter.take_settled(), ElementsAre(outbox::EntryId{0, 5}));
}

TEST(Reporter, IsStalledAfterASecondAndKeepsEachResultOnce) {
  ReporterBundle b;
  b.add(1);
  EXPECT_FALSE(b.reporter.is_stalled(b.clock.steady_now()));
  b.clock.advance(seconds{1});
  EXPECT_TRUE(b.reporter.is_stalled(b.clock.steady_now()));
  std::vector<std::int64_t> kept;
  const auto keep = [&](const wire::RunResult& result) {
    kept.push_back(result.id.job_id.value);
    return outbox::EntryId{outbox::kOwnSlot, result.id.job_id.value};
  };
  b.reporter.keep_all(keep);
  b.reporter.keep_all(keep);
  EXPECT_THAT(kept, ElementsAre(1));
  EXPECT_FALSE(b.reporter.is_stalled(b.clock.steady_now()));
  b.add(2);
  b.reporter.on_reported({.done = {id(1), id(2)}});
  EXPECT_THAT(b.reporter.take_settled(), ElementsAre(outbox::EntryId{outbox::kOwnSlot, 1}));
  b.clock.advance(seconds{1});
  EXPECT_FALSE(b.reporter.is_stalled(b.clock.steady_now())) << "what was confirmed waits no more";
}

// One result that the tracker never takes: the others of its message are taken, and it ends.
TEST(Reporter, OneRejectedResultDoesNotBlockTheOthers) {
  ReporterBundle b({.results_max = 10});
  for (std::int64_t job = 1; job <= 3; ++job) b.add(job);
  EXPECT_THAT(b.next(), ElementsAre(1, 2, 3));
  EXPECT_THAT(b.reporter.on_rejected(b.reporter.last_message(), "later is too long"), IsEmpty());
  EXPECT_THAT(b.next(), ElementsAre(1));
  EXPECT_THAT(b.next(), ElementsAre(2));
  EXPECT_THAT(b.reporter.on_rejected(b.reporter.last_message(), "later is too long"), IsEmpty());
  EXPECT_THAT(b.next(), ElementsAre(3));
  b.reporter.on_reported({.done = {id(1), id(3)}});
  const auto instead = b.reporter.next_message(SessionId{7}, b.clock.steady_now());
  ASSERT_TRUE(instead);
  ASSERT_EQ(instead->results.size(), 1u);
  EXPECT_EQ(instead->results[0].outcome, wire::RunOutcome::kFailed);
  EXPECT_EQ(instead->results[0].message, "the job tracker rejected its result: later is too long");
  EXPECT_THAT(b.reporter.on_rejected(b.reporter.last_message(), "again"), ElementsAre(id(2)));
  EXPECT_EQ(b.reporter.unconfirmed(), 0u);
}

}  // namespace
}  // namespace carillon::tasktracker
