#pragma once

#include <memory>
#include <string>

#include "carillon/job_client.h"
#include "carillon/result.h"

namespace carillon::bench {

// A new token for the HTTP API, of an administrator of all groups. The client must be one, too.
Result<std::string> make_api_token(JobClient& client);

// A kept connection to the HTTP API of a job tracker: one request, its answer, the next request.
//
// Thread: one at a time.
class ApiClient {
 public:
  // `url`: of the job tracker, "http://127.0.0.1:8080". Returns when it is connected.
  static Result<std::unique_ptr<ApiClient>> open(const std::string& url, const std::string& token);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  // The body of the answer; `target` begins with /api/v1. A status other than 2xx is an error that
  // quotes the answer. After kUnavailable the connection is lost.
  Result<std::string> get(const std::string& target);
  Result<std::string> post(const std::string& target, std::string json);

 private:
  struct Connection;
  explicit ApiClient(std::unique_ptr<Connection> connection);

  const std::unique_ptr<Connection> connection_;
};

}  // namespace carillon::bench
