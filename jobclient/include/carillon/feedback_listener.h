#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "carillon/job_client.h"
#include "carillon/job_result.h"
#include "carillon/result.h"

// Tells a program how the jobs of its client group have ended: those that were submitted with
// need_feedback and client_group.
//
//   auto listener = carillon::FeedbackListener::open({}, "billing", [](const JobResult& result) {
//     note(result);
//     return carillon::Status{};
//   });
//
// Results come one at a time, in the order in which the jobs of the client group have ended. One
// for which the handler returns is acknowledged, and does not come again; one for which it returns
// an error or throws comes again after a few seconds, here or at another listener of the client
// group, and those behind it wait for it. What was not acknowledged when the program died or lost
// its connection comes again: a handler may see a result twice, and knows it by its id.
//
// Thread: any; the handler is called on a thread of the listener's own.
namespace carillon {

using FeedbackHandler = std::function<Status(const JobResult&)>;

class FeedbackListener {
 public:
  // kInvalidArgument: an option that cannot be. Does not wait for a connection; goes on trying.
  static Result<std::unique_ptr<FeedbackListener>> open(const JobClientOptions& options,
                                                        const std::string& client_group,
                                                        FeedbackHandler handler);
  // Over a client of its own that is there already; for open() and for tests.
  static Result<std::unique_ptr<FeedbackListener>> start(std::unique_ptr<JobClient> client,
                                                         const std::string& client_group,
                                                         FeedbackHandler handler);
  // Waits for the handler's return; where no tracker is reachable, some seconds more.
  ~FeedbackListener();
  FeedbackListener(const FeedbackListener&) = delete;
  FeedbackListener& operator=(const FeedbackListener&) = delete;

 private:
  class Threads;
  explicit FeedbackListener(std::unique_ptr<Threads> threads);

  std::unique_ptr<Threads> threads_;
};

}  // namespace carillon
