#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "carillon/result.h"
#include "shared/base/clock.h"

namespace carillon::bench {

// A call that came.
struct ExecutorCall {
  std::int64_t job = 0;  // the number that its parameter begins with, see pushed_job()
  WallTime logged{};     // its logDateTime
  WallTime came{};
};

// A least executor of xxl-job: at any number of addresses it takes every call, and at once reports
// a success, many results in a request. So what is measured is who calls it.
//
// Thread: the owner's; it works on one of its own.
class Executor {
 public:
  // Listens at so many ports of 127.0.0.1 and registers each at `admin`, the URL of a job tracker's
  // xxl-job listener, now and every 30 s. Returns when all are registered.
  static Result<std::unique_ptr<Executor>> start(const std::string& admin, const std::string& group,
                                                 int addresses, const Clock& clock);
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Ends it. An error if a run was called for twice, or something other than a success came back.
  // Gives the calls that came.
  Result<std::vector<ExecutorCall>> stop();

 private:
  class Worker;
  explicit Executor(std::unique_ptr<Worker> worker);

  std::unique_ptr<Worker> worker_;
};

}  // namespace carillon::bench
