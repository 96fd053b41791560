#include "carillon/feedback_listener.h"

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "shared/base/mutex.h"
#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

// What a handler was called with, and how long a test waits for it.
class Calls {
 public:
  void add(const std::string& task) {
    {
      const MutexLock lock(mutex_);
      tasks_.push_back(task);
    }
    changed_.notify_all();
  }
  std::vector<std::string> after(std::size_t count) {
    MutexLock lock(mutex_);
    for (int i = 0; i < 1000 && tasks_.size() < count; ++i) {
      changed_.wait_for(lock, std::chrono::milliseconds{10});
    }
    return tasks_;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<std::string> tasks_ CARILLON_GUARDED_BY(mutex_);
};

// A job tracker with these results, which sends what was not acknowledged again at once. Its
// answers are made on the client's thread, one after the other.
struct Desk {
  explicit Desk(std::vector<std::string> tasks) {
    for (std::string& task : tasks) waiting[++last_id] = std::move(task);
  }
  wire::Message operator()(const wire::Message& request) {
    const auto& fetch = std::get<wire::FetchFeedback>(request);
    for (const std::int64_t id : fetch.done) waiting.erase(id);
    if (fetch.refused) ++refusals;
    wire::Feedback feedback;
    for (const auto& [id, task] : waiting) {
      if (static_cast<std::int64_t>(feedback.results.size()) == fetch.limit) break;
      feedback.results.push_back({.id = id, .task_id = task, .state = "succeeded"});
    }
    return feedback;
  }

  std::map<std::int64_t, std::string> waiting;
  std::int64_t last_id = 0;
  std::atomic<int> refusals = 0;
};

TEST(FeedbackListener, AcknowledgesResultsThatItsHandlerAccepted) {
  Desk desk({"a", "b", "c"});
  cli::FakeTracker tracker([&desk](const wire::Message& request) { return desk(request); });
  Calls calls;
  {
    auto listener = FeedbackListener::start(tracker.open({}).value(), "billing",
                                            [&calls](const JobResult& result) {
                                              EXPECT_TRUE(result.succeeded());
                                              calls.add(result.task_id);
                                              return Status{};
                                            });
    ASSERT_TRUE(listener.ok());
    EXPECT_THAT(calls.after(3), ElementsAre("a", "b", "c"));
  }
  EXPECT_TRUE(desk.waiting.empty()) << "also what came last";
  EXPECT_THAT(calls.after(3), ElementsAre("a", "b", "c")) << "none of it twice";
}

TEST(FeedbackListener, RedeliversAResultWhenTheHandlerFails) {
  Desk desk({"a", "b"});
  cli::FakeTracker tracker([&desk](const wire::Message& request) { return desk(request); });
  Calls calls;
  std::atomic<int> failures = 0;
  auto listener = FeedbackListener::start(tracker.open({}).value(), "billing",
                                          [&](const JobResult& result) -> Status {
                                            calls.add(result.task_id);
                                            if (result.task_id != "a" || failures == 2) return {};
                                            if (++failures == 1)
                                              throw std::runtime_error("the database is away");
                                            return Error{ErrorCode::kUnavailable, "it still is"};
                                          });
  ASSERT_TRUE(listener.ok());
  EXPECT_THAT(calls.after(4), ElementsAre("a", "a", "a", "b"));
  EXPECT_EQ(desk.refusals, 2);
}

TEST(FeedbackListener, ResendsAFailedAcknowledgement) {
  Desk desk({"a", "b"});
  Calls acknowledgements;
  cli::FakeTracker tracker([&](const wire::Message& request) -> wire::Message {
    const bool acknowledges = !std::get<wire::FetchFeedback>(request).done.empty();
    if (acknowledges) acknowledgements.add("a and b");
    if (acknowledges && acknowledgements.after(1).size() == 1)
      return wire::ErrorReply{Error{ErrorCode::kConflict, "not this time"}};
    return desk(request);
  });
  Calls calls;
  {
    auto listener = FeedbackListener::start(tracker.open({}).value(), "billing",
                                            [&calls](const JobResult& result) {
                                              calls.add(result.task_id);
                                              return Status{};
                                            });
    ASSERT_TRUE(listener.ok());
    EXPECT_THAT(acknowledgements.after(2), SizeIs(2));
  }
  EXPECT_TRUE(desk.waiting.empty());
  EXPECT_THAT(calls.after(2), ElementsAre("a", "b")) << "none of it twice";
}

TEST(FeedbackListener, SendsHeartbeatsWhileItsHandlerIsBusy) {
  Desk desk({"slow"});
  Calls beats;
  cli::FakeTracker tracker([&](const wire::Message& request) {
    if (std::get<wire::FetchFeedback>(request).limit == 0) beats.add("beat");
    return desk(request);
  });
  Calls beats_before_its_end;
  auto listener =
      FeedbackListener::start(tracker.open({}).value(), "billing", [&](const JobResult&) {
        for (const std::string& one : beats.after(1)) beats_before_its_end.add(one);
        return Status{};
      });
  ASSERT_TRUE(listener.ok());
  EXPECT_THAT(beats_before_its_end.after(1), ElementsAre("beat"));
}

TEST(FeedbackListener, RequiresAClientGroupAndAHandler) {
  cli::FakeTracker tracker([](const wire::Message&) { return wire::Feedback{}; });
  const auto take = [](const JobResult&) { return Status{}; };
  EXPECT_FALSE(FeedbackListener::start(tracker.open({}).value(), "", take).ok());
  EXPECT_FALSE(FeedbackListener::start(tracker.open({}).value(), "billing", {}).ok());
  EXPECT_FALSE(FeedbackListener::open({.trackers = {"nonsense"}}, "billing", take).ok());
}

}  // namespace
}  // namespace carillon
