#include "jobtracker/api/problem.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace carillon::jobtracker::api {
namespace {

TEST(Problem, EachCodeHasItsStatus) {
  const auto status = [](ErrorCode code) { return problem_of(Error{code, "x"}).status; };
  EXPECT_EQ(status(ErrorCode::kInvalidArgument), 400);
  EXPECT_EQ(status(ErrorCode::kDenied), 403);
  EXPECT_EQ(status(ErrorCode::kNotFound), 404);
  EXPECT_EQ(status(ErrorCode::kConflict), 409);
  EXPECT_EQ(status(ErrorCode::kLimit), 429);
  EXPECT_EQ(status(ErrorCode::kCorrupt), 500);
  EXPECT_EQ(status(ErrorCode::kUnavailable), 503);
  EXPECT_EQ(status(ErrorCode::kTimeout), 504);
}

TEST(Problem, NamesTheFieldAndTheLimit) {
  const Problem priority =
      problem_of(Error{ErrorCode::kInvalidArgument, "priority is 1000, must be 0 to 999"});
  EXPECT_EQ(priority.field, "priority");
  EXPECT_EQ(priority.limit, 999);
  const Problem jobs = problem_of(
      Error{ErrorCode::kInvalidArgument, "jobs has 2000 elements, at most 1000 are allowed"});
  EXPECT_EQ(jobs.field, "jobs");
  EXPECT_EQ(jobs.limit, 1000);
  EXPECT_EQ(problem_of(Error{ErrorCode::kInvalidArgument, "unknown field 'cronn'"}).field, "cronn");
  EXPECT_EQ(problem_of(Error{ErrorCode::kInvalidArgument, "cron '* *': too few fields"}).field,
            "cron");
}

TEST(Problem, AWordOfASentenceIsNoField) {
  EXPECT_EQ(problem_of(Error{ErrorCode::kInvalidArgument, "the body is not JSON"}).field, "");
  EXPECT_EQ(problem_of(Error{ErrorCode::kNotFound, "group 'x' is unknown"}).field, "");
}

TEST(Problem, IsProblemJson) {
  const net::HttpResponse response =
      response_of(Error{ErrorCode::kLimit, "too many requests are waiting"});
  EXPECT_EQ(response.status, 429);
  EXPECT_EQ(response.content_type, "application/problem+json");
  EXPECT_EQ(response.headers.at("Retry-After"), "1");
  const auto body = nlohmann::json::parse(response.body);
  EXPECT_EQ(body["code"], "limit");
  EXPECT_EQ(body["status"], 429);
  EXPECT_EQ(body["detail"], "too many requests are waiting");
}

TEST(Problem, InvalidTextDoesNotBreakIt) {
  const auto response = response_of(Error{ErrorCode::kInvalidArgument, "bad \xff text"});
  EXPECT_TRUE(nlohmann::json::accept(response.body));
}

}  // namespace
}  // namespace carillon::jobtracker::api
