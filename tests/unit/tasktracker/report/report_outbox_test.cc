#include "tasktracker/report/report_outbox.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/outbox/outbox.h"
#include "tests/support/inline_outbox_writer.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/tasktracker/attempt.h"

namespace carillon::tasktracker {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr const char* kTrackerAddress = "tcp://127.0.0.1:1";

// One life of a worker, as far as its outbox goes.
struct KeepingWorker {
  KeepingWorker(const std::string& folder, ManualClock& its_clock, std::int64_t entries_max)
      : clock(its_clock),
        on_disk({.folder = folder, .addresses = {kTrackerAddress}, .entries_max = entries_max},
                clock),
        writer(on_disk),
        reports(&writer, on_disk.last_id()) {}

  void turn() {
    for (int i = 0; i < 4; ++i) reports.turn(clock.steady_now());
  }
  outbox::EntryId keep(std::int64_t job, std::int64_t session = 7) {
    return reports.keep(SessionId{session}, wire::RunResult{.id = id(job)});
  }
  std::vector<std::int64_t> left_jobs() {
    turn();
    left = reports.take_left();
    std::vector<std::int64_t> jobs;
    for (const ReportOutbox::Left& one : left) {
      jobs.push_back((one.result ? one.result->id : one.chunk->id).job_id.value);
    }
    return jobs;
  }

  ManualClock& clock;
  outbox::Outbox on_disk;
  InlineOutboxWriter writer;
  ReportOutbox reports;
  std::vector<ReportOutbox::Left> left;
};

struct ReportOutboxBundle {
  std::unique_ptr<KeepingWorker> open(std::int64_t entries_max = 1'000'000) {
    return std::make_unique<KeepingWorker>(folder.file("outbox"), clock, entries_max);
  }
  testing::TempFolder folder;
  ManualClock clock;
};

TEST(ReportOutbox, NextWorkerFindsResultsAndOutputWithTheirSession) {
  ReportOutboxBundle b;
  const std::string large(100'000, 'x');
  {
    auto worker = b.open();
    worker->reports.keep(SessionId{7},
                         wire::OutputChunk{.id = id(1), .sequence = 3, .bytes = large});
    worker->keep(1);
    worker->turn();
    EXPECT_TRUE(worker->reports.is_settled());
  }
  auto next = b.open();
  ASSERT_THAT(next->left_jobs(), ElementsAre(1, 1));
  ASSERT_TRUE(next->left[0].chunk);
  EXPECT_EQ(next->left[0].chunk->sequence, 3);
  EXPECT_EQ(next->left[0].chunk->bytes, large);
  ASSERT_TRUE(next->left[1].result);
  EXPECT_EQ(next->left[1].session, SessionId{7});
}

TEST(ReportOutbox, DoesNotAdoptItsOwnReports) {
  ReportOutboxBundle b;
  auto worker = b.open();
  worker->keep(1);
  worker->turn();
  worker->reports.look_again();
  worker->reports.want_left();
  EXPECT_THAT(worker->left_jobs(), IsEmpty());
}

TEST(ReportOutbox, ForgetsReportsConfirmedBeforeDuringOrAfterWriting) {
  ReportOutboxBundle b;
  auto worker = b.open();
  worker->turn();  // It has looked for what was left.
  worker->reports.forget(worker->keep(1));
  worker->turn();
  EXPECT_EQ(worker->on_disk.entries(), 0);

  const auto second = worker->keep(2);
  worker->reports.turn(b.clock.steady_now());  // It is on its way.
  worker->reports.forget(second);
  worker->turn();
  EXPECT_EQ(worker->on_disk.entries(), 0);

  const auto third = worker->keep(3);
  worker->turn();
  EXPECT_EQ(worker->on_disk.entries(), 1);
  worker->reports.forget(third);
  worker->turn();
  EXPECT_EQ(worker->on_disk.entries(), 0);
}

TEST(ReportOutbox, ReadsLeftReportsPageByPageAsTheyAreConfirmed) {
  ReportOutboxBundle b;
  {
    auto worker = b.open();
    for (std::int64_t job = 1; job <= 1500; ++job) worker->keep(job);
    worker->turn();
  }
  auto next = b.open();
  EXPECT_EQ(next->left_jobs().size(), 1000u);
  next->reports.want_left();
  const auto first_page = next->left;
  EXPECT_THAT(next->left_jobs(), IsEmpty()) << "the first page is not confirmed";
  for (const auto& left : first_page) next->reports.forget(left.id);
  next->reports.want_left();
  EXPECT_EQ(next->left_jobs().size(), 500u);
  for (const auto& left : next->left) next->reports.forget(left.id);
  next->reports.want_left();
  EXPECT_THAT(next->left_jobs(), IsEmpty());
  EXPECT_EQ(next->on_disk.entries(), 0);
}

TEST(ReportOutbox, AdoptsReportsOfAWorkerThatDiedMeanwhile) {
  ReportOutboxBundle b;
  auto dies = b.open();
  dies->keep(1);
  dies->turn();
  auto lives = b.open();
  EXPECT_THAT(lives->left_jobs(), IsEmpty()) << "somebody holds it";
  dies.reset();
  lives->reports.look_again();
  lives->reports.want_left();
  EXPECT_THAT(lives->left_jobs(), ElementsAre(1));
}

TEST(ReportOutbox, SetsUnreadableReportsAsideAndFindsTheRest) {
  ReportOutboxBundle b;
  {
    auto worker = b.open();
    worker->keep(1);
    worker->turn();
    ASSERT_TRUE(worker->on_disk.run({.add = {{.id = {outbox::kOwnSlot, 5}, .body = "no report"}}})
                    .status.ok());
  }
  auto next = b.open();
  EXPECT_THAT(next->left_jobs(), ElementsAre(1));
  next->turn();
  EXPECT_EQ(next->on_disk.entries(), 1);
}

TEST(ReportOutbox, RecoversWhenTheDiskAcceptsWritesAgain) {
  ReportOutboxBundle b;
  auto worker = b.open(1);
  worker->turn();
  const auto first = worker->keep(1);
  const auto second = worker->keep(2);
  worker->turn();
  EXPECT_TRUE(worker->reports.is_failing());
  EXPECT_TRUE(worker->reports.is_settled()) << "there is nothing to wait for";
  EXPECT_EQ(worker->reports.next_time(), b.clock.steady_now() + seconds{2}) << "it must not spin";
  worker->reports.forget(first);
  b.clock.advance(seconds{2});
  worker->turn();
  b.clock.advance(seconds{2});
  worker->turn();
  EXPECT_FALSE(worker->reports.is_failing());
  EXPECT_EQ(worker->on_disk.entries(), 1);
  worker->reports.forget(second);
  worker->turn();
  EXPECT_EQ(worker->on_disk.entries(), 0);
}

TEST(ReportOutbox, RecoversWhenTheUnwrittenReportIsConfirmed) {
  ReportOutboxBundle b;
  auto worker = b.open(0);
  worker->turn();
  const auto one = worker->keep(1);
  worker->turn();
  EXPECT_TRUE(worker->reports.is_failing());
  worker->reports.forget(one);
  EXPECT_FALSE(worker->reports.is_failing());
}

}  // namespace
}  // namespace carillon::tasktracker
