#include "jobclient/cli/takeover.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/jobclient/cli/fake_tracker.h"

namespace carillon::cli {
namespace {

using ::testing::HasSubstr;

TakenJob taken(const std::string& task_id, bool is_suspended) {
  JobSpec spec;
  spec.task_id = task_id;
  spec.run.handler = "noop";
  return {.task_id = task_id,
          .job = spec,
          .is_suspended = is_suspended,
          .notes = {"differs"},
          .scripts = {}};
}

// A job tracker that has nothing, and answers those that are suspended, or are not, with an error.
FakeTracker::Answer failing(bool suspended) {
  return [suspended](const wire::Message& request) -> wire::Message {
    const auto* submit = std::get_if<wire::Submit>(&request);
    if (submit == nullptr) return wire::Rows{};
    if (submit->suspended == suspended) return wire::ErrorReply{{ErrorCode::kDenied, "not now"}};
    return accept_all(request);
  };
}

struct TakeoverBundle {
  explicit TakeoverBundle(FakeTracker::Answer answer) : tracker(std::move(answer)) {
    moving.emplace(context, "LTS",
                   std::vector<TakenJob>{taken("held", true), taken("active", false)});
  }

  FakeTracker tracker;
  ManualClock clock;
  const Program program = declare_program();
  std::ostringstream out;
  std::ostringstream err;
  const Surroundings around{
      .program = program,
      .clock = clock,
      .out = out,
      .err = err,
      .open_client = [this](const Configuration& given, const Surroundings::OnDelivered&) {
        return tracker.open(client_options(given));
      }};
  const Configuration configuration =
      parse_configuration(program, {"import", "lts", "mysql://a@b/c"}, Environment{})
          .value()
          .configuration;
  Context context{configuration, around};
  std::optional<Takeover> moving;
};

TEST(Takeover, ReportsTheOutcomeOfEachEntryWhenSomeFail) {
  TakeoverBundle b(failing(false));
  ASSERT_TRUE(b.moving->apply().ok());
  EXPECT_EQ(b.moving->status(0), "accepted");
  EXPECT_EQ(b.moving->status(1), "not_taken");
  EXPECT_THAT(b.moving->note(1), HasSubstr("not now"));
  EXPECT_EQ(b.moving->end(true), kRefused);
  EXPECT_THAT(b.err.str(), HasSubstr("1 job submitted, 0 exist here, 1 not imported\n"));
  EXPECT_THAT(b.err.str(), HasSubstr("import lts: not now\n"));
}

TEST(Takeover, NotesDifferencesOnlyForImportedJobs) {
  TakeoverBundle b(failing(false));
  EXPECT_EQ(b.moving->note(1), "differs");
  ASSERT_TRUE(b.moving->apply().ok());
  EXPECT_EQ(b.moving->note(0), "differs");
  EXPECT_EQ(b.moving->note(1), "not now");
  TakenJob refused = taken("refused", false);
  refused.job = Error{ErrorCode::kInvalidArgument, "cannot be"};
  EXPECT_EQ(Takeover(b.context, "LTS", {refused}).note(0), "cannot be");
}

TEST(Takeover, StopsSendingAfterAFailure) {
  TakeoverBundle b(failing(true));
  ASSERT_TRUE(b.moving->apply().ok());
  EXPECT_EQ(b.moving->status(0), "not_taken");
  EXPECT_EQ(b.moving->status(1), "not_taken");
  EXPECT_THAT(b.moving->note(1), HasSubstr("not sent, because of jobs before it: not now"));
  EXPECT_EQ(b.tracker.asked<wire::Submit>().size(), 1u);
}

}  // namespace
}  // namespace carillon::cli
