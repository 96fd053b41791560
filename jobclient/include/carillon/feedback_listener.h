#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "carillon/job_client.h"
#include "carillon/job_result.h"
#include "carillon/result.h"

// Delivers the results of the jobs that were submitted with need_feedback and this client group.
//
//   auto listener = carillon::FeedbackListener::open({}, "billing", [](const JobResult& result) {
//     note(result);
//     return carillon::Status{};
//   });
//
// Results arrive one at a time, in the order in which the jobs ended. A successful return of the
// handler acknowledges the result. After an error or an exception, the result is delivered again
// after a few seconds, at this or another listener of the client group; later results wait for it.
// Delivery is at-least-once: after a crash or a lost connection a handler may see a result twice.
// JobResult::id identifies duplicates.
//
// Thread: any. The listener calls the handler on its own thread.
namespace carillon {

using FeedbackHandler = std::function<Status(const JobResult&)>;

class FeedbackListener {
 public:
  // Returns without waiting for a connection and retries in the background. Error: kInvalidArgument
  // for an invalid option.
  static Result<std::unique_ptr<FeedbackListener>> open(const JobClientOptions& options,
                                                        const std::string& client_group,
                                                        FeedbackHandler handler);
  // Uses an existing client, which belongs to the listener from then on. For open() and tests.
  static Result<std::unique_ptr<FeedbackListener>> start(std::unique_ptr<JobClient> client,
                                                         const std::string& client_group,
                                                         FeedbackHandler handler);
  // Waits until the handler returns; a few seconds longer while no job tracker is reachable.
  ~FeedbackListener();
  FeedbackListener(const FeedbackListener&) = delete;
  FeedbackListener& operator=(const FeedbackListener&) = delete;

 private:
  class Threads;
  explicit FeedbackListener(std::unique_ptr<Threads> threads);

  std::unique_ptr<Threads> threads_;
};

}  // namespace carillon
