#include "jobclient/submit/stored_submits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "jobclient/submit/submit_queue.h"
#include "shared/outbox/outbox.h"
#include "tests/support/inline_outbox_writer.h"
#include "tests/support/manual_clock.h"
#include "tests/support/temp_folder.h"
#include "tests/unit/jobclient/submit/fake_connections.h"

namespace carillon {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kTracker = "tcp://127.0.0.1:1";

JobSpec stored_job(const std::string& task_id, const std::string& group = "default") {
  JobSpec made;
  made.task_id = task_id;
  made.group = group;
  made.run.handler = "noop";
  return made;
}

// A job client without threads, over an outbox on disk. One life of a process.
struct StoringClient {
  StoringClient(const std::string& folder, ManualClock& its_clock, std::uint64_t seed,
                std::int64_t entries_max = 100'000)
      : clock(its_clock),
        random(seed),
        on_disk({.folder = folder,
                 .addresses = {kTracker},
                 .entries_max = entries_max,
                 .shows_set_aside = true},
                clock),
        writer(on_disk) {
    requests =
        Requests::open({.trackers = {kTracker}}, clock, static_cast<std::int64_t>(seed),
                       [this](const std::string& tracker) { return connections.make(tracker); })
            .value();
    queue = std::make_unique<SubmitQueue>(*requests, clock);
    stored = std::make_unique<StoredSubmits>(
        writer, on_disk.entries(), on_disk.last_id(), *requests, clock, random,
        [this](const SubmitAnswer& answer) { delivered.push_back(answer); });
    requests->store_with([this](UnansweredSubmit submit) { stored->store(std::move(submit)); },
                         [this] { return static_cast<std::int64_t>(random.next() >> 5); });
  }

  // As at the end of a loop's turn; some of them, since what is done wakes the loop.
  void turn() {
    for (int i = 0; i < 6; ++i) {
      stored->take_done();
      queue->flush();
      requests->run_due();
      queue->flush();
      stored->start_next();
    }
  }
  std::size_t submit(std::vector<JobSpec> jobs, bool suspended = false) {
    const std::size_t place = answers.size();
    answers.emplace_back();
    const auto done = [this, place](auto answer) { answers[place].emplace(answer); };
    queue->add(std::move(jobs), done, {}, suspended);
    turn();
    return place;
  }
  // Longer than anybody waits for a connection.
  void wait_in_vain() {
    clock.advance(seconds{5});
    turn();
  }
  SubmitStatus status(std::size_t place) const { return answers.at(place)->value().at(0).status; }
  void connect() {
    connections.connect();
    turn();
  }
  void disconnect() {
    connections.disconnect("gone");
    turn();
  }
  // What was sent since, and was not answered.
  void collect() {
    for (auto& sent : connections.take()) on_the_way.push_back(std::move(sent.envelope));
  }
  std::vector<std::string> tasks_on_the_way() {
    collect();
    std::vector<std::string> tasks;
    for (const auto& envelope : on_the_way) {
      if (const auto* submit = std::get_if<wire::Submit>(&envelope.message)) {
        for (const JobSpec& job : submit->jobs) tasks.push_back(job.task_id);
      }
    }
    return tasks;
  }
  void answer(wire::Message message) {
    collect();
    const std::uint64_t correlation = on_the_way.front().correlation;
    on_the_way.pop_front();
    connections.reply(correlation, std::move(message));
    turn();
  }
  wire::RequestNumber number_on_the_way() {
    collect();
    return std::get<wire::Submit>(on_the_way.front().message).request;
  }
  void accept() {
    collect();
    wire::Submitted submitted;
    for (const JobSpec& job : std::get<wire::Submit>(on_the_way.front().message).jobs) {
      submitted.answers.push_back({.task_id = job.task_id,
                                   .group = job.group,
                                   .job_id = JobId{7},
                                   .status = wire::SubmitStatus::kAccepted});
    }
    answer(std::move(submitted));
  }
  void refuse(ErrorCode code, const std::string& why) {
    answer(wire::ErrorReply{Error{code, why}});
  }
  std::vector<std::string> delivered_tasks() const {
    std::vector<std::string> tasks;
    for (const SubmitAnswer& answer : delivered) tasks.push_back(answer.task_id);
    return tasks;
  }

  ManualClock& clock;
  SeededRandom random;
  FakeConnections connections;
  outbox::Outbox on_disk;
  InlineOutboxWriter writer;
  std::unique_ptr<Requests> requests;
  std::unique_ptr<SubmitQueue> queue;
  std::unique_ptr<StoredSubmits> stored;
  std::deque<wire::Envelope> on_the_way;
  std::vector<std::optional<Result<std::vector<SubmitAnswer>>>> answers;
  std::vector<SubmitAnswer> delivered;
};

struct StoredSubmitsBundle {
  std::unique_ptr<StoringClient> open(std::int64_t entries_max = 100'000) {
    return std::make_unique<StoringClient>(folder.file("outbox"), clock, ++seed, entries_max);
  }
  testing::TempFolder folder;
  ManualClock clock;
  std::uint64_t seed = 0;
};

TEST(StoredSubmits, StoresUndeliveredJobsAndReportsWhy) {
  StoredSubmitsBundle b;
  auto client = b.open();
  const auto call = client->submit({stored_job("a")});
  EXPECT_FALSE(client->answers[call]) << "a tracker may come yet";
  client->wait_in_vain();
  ASSERT_TRUE(client->answers[call]);
  const SubmitAnswer& answer = client->answers[call]->value().at(0);
  EXPECT_EQ(answer.status, SubmitStatus::kStored);
  EXPECT_EQ(answer.task_id, "a");
  EXPECT_EQ(answer.group, "default");
  EXPECT_THAT(answer.reason, HasSubstr("no job tracker reachable at tcp://127.0.0.1:1"));
  EXPECT_EQ(client->on_disk.entries(), 1);
}

TEST(StoredSubmits, StoresAtOnceWhileNoTrackerIsReachable) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("a")});
  client->wait_in_vain();
  const auto call = client->submit({stored_job("b")});
  ASSERT_TRUE(client->answers[call]);
  EXPECT_EQ(client->status(call), SubmitStatus::kStored);
}

TEST(StoredSubmits, DeliversStoredJobsInOrderBeforeLaterOnes) {
  StoredSubmitsBundle b;
  auto client = b.open();
  for (const char* task : {"a", "b", "c"}) client->submit({stored_job(task)});
  client->wait_in_vain();
  client->connect();
  const auto later = client->submit({stored_job("later")});
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("a", "b", "c"));
  client->accept();
  EXPECT_THAT(client->delivered_tasks(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(client->on_disk.entries(), 0);
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("later"));
  client->accept();
  EXPECT_EQ(client->status(later), SubmitStatus::kAccepted);
}

TEST(StoredSubmits, DeliversJobsOfOneTaskOneAfterTheOther) {
  StoredSubmitsBundle b;
  auto client = b.open();
  for (const char* task : {"a", "b", "a", "c"}) client->submit({stored_job(task)});
  client->wait_in_vain();
  client->connect();
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("a", "b"));
  client->accept();
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("a", "c"));
  client->accept();
  EXPECT_EQ(client->on_disk.entries(), 0);
}

TEST(StoredSubmits, SuspendedSubmissionsAreDeliveredSuspended) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("a")});
  client->submit({stored_job("b")}, true);
  client->submit({stored_job("c")}, true);
  client->wait_in_vain();
  client->connect();
  for (const bool suspended : {false, true}) {
    client->collect();
    EXPECT_EQ(std::get<wire::Submit>(client->on_the_way.front().message).suspended, suspended);
    client->accept();
  }
  EXPECT_THAT(client->delivered_tasks(), ElementsAre("a", "b", "c"));
}

TEST(StoredSubmits, JobsWaitingForALostConnectionAreStoredInOrder) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("first")});
  b.clock.advance(seconds{3});
  client->submit({stored_job("second")});
  b.clock.advance(seconds{2});
  client->turn();
  EXPECT_EQ(client->status(0), SubmitStatus::kStored);
  EXPECT_EQ(client->status(1), SubmitStatus::kStored) << "not to overtake the first";
  client->connect();
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("first", "second"));
}

TEST(StoredSubmits, DeliversOlderJobsOfADeadProcessFirst) {
  StoredSubmitsBundle b;
  auto dies = b.open();
  dies->submit({stored_job("older")});
  dies->wait_in_vain();
  auto client = b.open();
  client->submit({stored_job("a")});
  client->submit({stored_job("a")});
  client->wait_in_vain();
  client->connect();
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("a")) << "the older one is held";
  client->disconnect();
  client->on_the_way.clear();
  dies.reset();
  client->connect();
  for (int i = 0; i < 3; ++i) client->accept();
  EXPECT_THAT(client->delivered_tasks(), ElementsAre("a", "older", "a"));
}

// The number makes the tracker give the first answer, whoever asks again.
TEST(StoredSubmits, ResendsASentJobWithItsNumberFromAnotherProcess) {
  StoredSubmitsBundle b;
  wire::RequestNumber number;
  {
    auto client = b.open();
    client->connect();
    client->submit({stored_job("a")});
    number = client->number_on_the_way();
    client->disconnect();
    client->clock.advance(seconds{30});
    client->turn();
    EXPECT_EQ(client->status(0), SubmitStatus::kStored) << "it was sent, and never answered";
    EXPECT_THAT(client->answers[0]->value()[0].reason,
                AllOf(HasSubstr("it runs once, even if it was accepted"),
                      Not(HasSubstr("check before you repeat it"))));
  }
  auto next = b.open();
  next->connect();
  EXPECT_EQ(next->number_on_the_way(), number);
  next->accept();
  EXPECT_THAT(next->delivered_tasks(), ElementsAre("a"));
}

TEST(StoredSubmits, NextProcessResendsAnUnansweredDeliveryUnchanged) {
  StoredSubmitsBundle b;
  wire::RequestNumber number;
  {
    auto client = b.open();
    for (const char* task : {"a", "b"}) client->submit({stored_job(task)});
    client->wait_in_vain();
    client->connect();
    number = client->number_on_the_way();
  }
  auto next = b.open();
  next->submit({stored_job("c")});
  next->wait_in_vain();
  next->connect();
  EXPECT_EQ(next->number_on_the_way(), number);
  EXPECT_THAT(next->tasks_on_the_way(), ElementsAre("a", "b")) << "the same message, without c";
  next->accept();
  EXPECT_NE(next->number_on_the_way(), number);
  EXPECT_THAT(next->tasks_on_the_way(), ElementsAre("c"));
}

TEST(StoredSubmits, SameTaskIdInTwoGroupsIsStoredTwice) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("same", "one")});
  client->submit({stored_job("same", "other")});
  client->wait_in_vain();
  client->connect();
  client->accept();
  ASSERT_EQ(client->delivered.size(), 2u);
  EXPECT_EQ(client->delivered[0].group, "one");
  EXPECT_EQ(client->delivered[1].group, "other");
}

TEST(StoredSubmits, RefusedJobIsReportedAndBlocksNoOthers) {
  StoredSubmitsBundle b;
  auto client = b.open();
  for (const char* task : {"a", "b"}) client->submit({stored_job(task)});
  client->wait_in_vain();
  client->connect();
  ASSERT_THAT(client->tasks_on_the_way(), ElementsAre("a", "b"));
  client->answer(wire::Submitted{
      .answers = {{.task_id = "a", .status = wire::SubmitStatus::kDuplicate, .reason = "taken"},
                  {.task_id = "b", .status = wire::SubmitStatus::kAccepted}}});
  ASSERT_EQ(client->delivered.size(), 2u);
  EXPECT_EQ(client->delivered[0].status, SubmitStatus::kDuplicate);
  EXPECT_EQ(client->delivered[0].reason, "taken");
  EXPECT_EQ(client->delivered[1].status, SubmitStatus::kAccepted);
  EXPECT_EQ(client->on_disk.entries(), 0);
}

TEST(StoredSubmits, RefusedJobsStayOnDiskUntilTheyAreSeen) {
  StoredSubmitsBundle b;
  auto client = std::make_unique<StoringClient>(submissions_folder(b.folder.path()), b.clock, 1);
  client->submit({stored_job("a"), stored_job("b"), stored_job("c", "ops")});
  client->wait_in_vain();
  client->connect();
  client->answer(
      wire::Submitted{.answers = {{.task_id = "a",
                                   .group = "default",
                                   .job_id = JobId{9},
                                   .status = wire::SubmitStatus::kDuplicate,
                                   .reason = "taken"},
                                  {.task_id = "b", .status = wire::SubmitStatus::kAccepted},
                                  {.task_id = "c",
                                   .group = "ops",
                                   .status = wire::SubmitStatus::kRejected,
                                   .reason = "no zone"}}});
  EXPECT_EQ(client->on_disk.entries(), 0);
  std::vector<std::string> seen;
  const auto see = [&](const std::vector<SubmitAnswer>& refused) {
    for (const SubmitAnswer& one : refused) {
      seen.push_back(one.group + "/" + one.task_id + " " + to_string(one.status) + " " +
                     std::to_string(one.job_id.value) + ": " + one.reason);
    }
    return true;
  };
  visit_refused_submits(b.folder.path(), b.clock, see);
  EXPECT_THAT(seen, ElementsAre("default/a duplicate 9: taken", "ops/c rejected 0: no zone"));
  visit_refused_submits(b.folder.path(), b.clock, see);
  EXPECT_EQ(seen.size(), 2u);
}

// One entry that a tracker will never take: the others are delivered once each.
TEST(StoredSubmits, ResendsARefusedMessageEntryByEntry) {
  StoredSubmitsBundle b;
  auto client = b.open();
  for (const char* task : {"good", "bad", "fine"}) client->submit({stored_job(task)});
  client->wait_in_vain();
  client->connect();
  ASSERT_THAT(client->tasks_on_the_way(), ElementsAre("good", "bad", "fine"));
  client->refuse(ErrorCode::kInvalidArgument, "Submit.jobs[1] is wrong");
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("good"));
  client->accept();
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("bad"));
  client->refuse(ErrorCode::kInvalidArgument, "Submit.jobs[0] is wrong");
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("fine"));
  client->accept();
  ASSERT_THAT(client->delivered_tasks(), ElementsAre("good", "bad", "fine"));
  EXPECT_EQ(client->delivered[1].status, SubmitStatus::kRejected);
  EXPECT_EQ(client->delivered[1].reason, "Submit.jobs[0] is wrong");
  EXPECT_EQ(client->on_disk.entries(), 0);
}

TEST(StoredSubmits, SetsAsideAnUnreadableEntryAndDeliversTheNext) {
  StoredSubmitsBundle b;
  {
    auto client = b.open();
    client->submit({stored_job("a")});
    client->wait_in_vain();
  }
  {
    outbox::Outbox broken({.folder = b.folder.file("outbox"), .addresses = {kTracker}}, b.clock);
    const auto entry = broken.run({.load = true}).loaded.at(0);
    ASSERT_TRUE(broken
                    .run({.add = {{.id = {outbox::kOwnSlot, 2}, .body = "no submission"},
                                  {.id = {outbox::kOwnSlot, 3}, .body = entry.body}},
                          .remove = {entry.id}})
                    .status.ok());
  }
  auto client = b.open();
  client->connect();
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("a"));
  ASSERT_EQ(client->delivered.size(), 1u);
  EXPECT_EQ(client->delivered[0].status, SubmitStatus::kRejected);
  EXPECT_THAT(client->delivered[0].reason, HasSubstr("cannot be read"));
  client->accept();
  EXPECT_EQ(client->on_disk.entries(), 0);
}

TEST(StoredSubmits, WaitsForATrackerThatIsNotReadyAndRetries) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("a")});
  client->wait_in_vain();
  client->connect();
  const wire::RequestNumber number = client->number_on_the_way();
  client->disconnect();
  client->on_the_way.clear();
  client->clock.advance(seconds{40});
  client->turn();
  client->connect();
  client->clock.advance(seconds{1});
  client->turn();
  EXPECT_EQ(client->number_on_the_way(), number);
  EXPECT_EQ(client->on_disk.entries(), 1);
}

TEST(StoredSubmits, SetsAsideAJobSentTooLongAgoToDeduplicate) {
  StoredSubmitsBundle b;
  {
    auto client = b.open();
    client->submit({stored_job("old")});
    client->wait_in_vain();
    client->connect();
    ASSERT_THAT(client->tasks_on_the_way(), ElementsAre("old"));
  }
  b.clock.advance(hours{24 * 7});
  auto client = b.open();
  client->connect();
  EXPECT_THAT(client->tasks_on_the_way(), IsEmpty());
  ASSERT_EQ(client->delivered.size(), 1u);
  EXPECT_THAT(client->delivered[0].reason, HasSubstr("check whether it runs"));
}

// The tracker may have taken it the first time, and has forgotten it then.
TEST(StoredSubmits, AnswerRetentionCountsFromTheFirstSend) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("a")});
  client->wait_in_vain();
  for (const int days : {0, 4, 4}) {
    b.clock.advance(std::chrono::hours{24 * days});
    client->connect();
    client->turn();
    client->disconnect();
    client->on_the_way.clear();
    client->turn();
  }
  EXPECT_EQ(client->on_disk.entries(), 0) << "it was set aside";
}

TEST(StoredSubmits, DeliversNeverSentJobsOfAnyAge) {
  StoredSubmitsBundle b;
  {
    auto client = b.open();
    client->submit({stored_job("old")});
    client->wait_in_vain();
  }
  b.clock.advance(hours{24 * 365});
  auto client = b.open();
  client->connect();
  EXPECT_THAT(client->tasks_on_the_way(), ElementsAre("old"));
}

TEST(StoredSubmits, FullOutboxErrorSaysThatFlushRemovesRejectedJobs) {
  StoredSubmitsBundle b;
  auto client = b.open(1);
  client->submit({stored_job("a")});
  client->wait_in_vain();
  client->connect();
  client->answer(wire::Submitted{
      .answers = {{.task_id = "a", .status = wire::SubmitStatus::kDuplicate, .reason = "taken"}}});
  client->disconnect();
  client->submit({stored_job("b")});
  client->wait_in_vain();
  ASSERT_TRUE(client->answers[1]);
  EXPECT_EQ(client->answers[1]->error().code, ErrorCode::kLimit);
  EXPECT_THAT(client->answers[1]->error().message,
              HasSubstr("and 1 are set aside (`jobclient flush` shows and removes them)"));
}

TEST(StoredSubmits, RefusesAJobWhenTheOutboxIsFull) {
  StoredSubmitsBundle b;
  auto client = b.open(1);
  client->submit({stored_job("a")});
  client->wait_in_vain();
  EXPECT_EQ(client->status(0), SubmitStatus::kStored);
  client->submit({stored_job("b")});
  ASSERT_TRUE(client->answers[1]);
  ASSERT_FALSE(client->answers[1]->ok());
  EXPECT_EQ(client->answers[1]->error().code, ErrorCode::kLimit);
  EXPECT_THAT(client->answers[1]->error().message, HasSubstr("no job tracker reachable"));
  EXPECT_THAT(client->answers[1]->error().message, HasSubstr("is full"));
}

TEST(StoredSubmits, ReportsStoredOnlyAfterTheJobIsOnDisk) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->writer.is_stalled = true;
  client->submit({stored_job("a")});
  client->wait_in_vain();
  EXPECT_FALSE(client->answers[0]);
  client->writer.is_stalled = false;
  client->turn();
  EXPECT_EQ(client->status(0), SubmitStatus::kStored);
}

TEST(StoredSubmits, UsesANewClientNumberAfterAStoredRequest) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->connect();
  client->submit({stored_job("a")});
  const wire::RequestNumber before = client->number_on_the_way();
  client->disconnect();
  client->clock.advance(seconds{30});
  client->turn();
  client->on_the_way.clear();
  client->connect();
  EXPECT_EQ(client->number_on_the_way(), before);
  client->accept();
  client->submit({stored_job("b")});
  EXPECT_NE(client->number_on_the_way().client, before.client)
      << "a sequence beyond the window would make the tracker forget the first answer";
  EXPECT_EQ(client->number_on_the_way().sequence, 1);
}

TEST(StoredSubmits, FlushEndsWhenEverythingIsDelivered) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("a"), stored_job("b")});
  client->wait_in_vain();
  std::optional<Result<FlushAnswer>> flushed;
  client->stored->flush(seconds{5}, seconds{30}, [&](auto answer) { flushed.emplace(answer); });
  client->connect();
  EXPECT_FALSE(flushed);
  client->accept();
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->value().accepted, 2);
  EXPECT_EQ(flushed->value().refused, 0);
}

TEST(StoredSubmits, FlushFailsWithoutAJobTracker) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("a")});
  client->wait_in_vain();
  std::optional<Result<FlushAnswer>> flushed;
  client->stored->flush(seconds{5}, seconds{30}, [&](auto answer) { flushed.emplace(answer); });
  client->wait_in_vain();
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->error().code, ErrorCode::kUnavailable);
  EXPECT_EQ(client->on_disk.entries(), 1);
}

TEST(StoredSubmits, FlushWaitsForTheGivenTimeAndReportsIt) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("a")});
  client->wait_in_vain();
  client->connect();
  std::optional<Result<FlushAnswer>> brief;
  std::optional<Result<FlushAnswer>> endless;
  client->stored->flush(seconds{5}, seconds{7}, [&](auto answer) { brief.emplace(answer); });
  client->stored->flush(seconds{5}, Duration::max(), [&](auto answer) { endless.emplace(answer); });
  b.clock.advance(seconds{7});
  client->turn();
  ASSERT_TRUE(brief);
  EXPECT_THAT(brief->error().message, HasSubstr(" within 7s"));
  EXPECT_FALSE(endless);
}

// Its database is away, for one.
TEST(StoredSubmits, TimedOutRequestErrorSaysStoredJobsAreDeliveredFirst) {
  StoredSubmitsBundle b;
  auto client = b.open();
  client->submit({stored_job("a")});
  client->wait_in_vain();
  client->connect();
  std::optional<Result<wire::Message>> cancelled;
  client->requests->ask(wire::Act{.task_id = "b"}, b.clock.steady_now(),
                        [&](auto answer) { cancelled.emplace(std::move(answer)); });
  std::optional<Result<FlushAnswer>> flushed;
  client->stored->flush(seconds{5}, seconds{30}, [&](auto answer) { flushed.emplace(answer); });
  b.clock.advance(milliseconds{29'999});
  client->turn();
  EXPECT_FALSE(cancelled || flushed);
  b.clock.advance(milliseconds{1});
  client->turn();
  ASSERT_TRUE(cancelled && flushed);
  const std::string why =
      "no answer from tcp://127.0.0.1:1 within 30s, and stored submissions are delivered first "
      "(try again later)";
  EXPECT_EQ(cancelled->error(), (Error{ErrorCode::kUnavailable, why}));
  EXPECT_EQ(flushed->error(),
            (Error{ErrorCode::kUnavailable,
                   why + "; stored submissions that wait: 1, each of 1 to 1000 jobs"}));
}

TEST(StoredSubmits, FlushOfAnEmptyOutboxEndsAtOnce) {
  StoredSubmitsBundle b;
  auto client = b.open();
  std::optional<Result<FlushAnswer>> flushed;
  client->stored->flush(seconds{5}, seconds{30}, [&](auto answer) { flushed.emplace(answer); });
  client->turn();
  ASSERT_TRUE(flushed);
  EXPECT_TRUE(flushed->ok());
}

}  // namespace
}  // namespace carillon
