#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "tasktracker/run/http_run.h"

namespace carillon::tasktracker {

// Admins of xxl-job as a client of theirs sees them: takes requests, and answers what a test wants.
struct FakeAdmin {
  std::vector<HttpRequest> requests{};
  std::function<Result<HttpAnswer>(const HttpRequest&)> answer = [](const HttpRequest&) {
    return code(200);
  };
  HttpSend send = [this](const HttpRequest& request, Duration, std::size_t,
                         const std::atomic<bool>&) {
    requests.push_back(request);
    return answer(request);
  };

  static Result<HttpAnswer> code(int number) {
    return HttpAnswer{.status = 200,
                      .body = R"({"code":)" + std::to_string(number) + R"(,"msg":"said so"})"};
  }
  static Result<HttpAnswer> away() { return Error{ErrorCode::kUnavailable, "connection refused"}; }
};

}  // namespace carillon::tasktracker
