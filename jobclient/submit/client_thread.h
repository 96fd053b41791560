#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "jobclient/submit/requests.h"
#include "jobclient/submit/stored_submits.h"
#include "jobclient/submit/submit_queue.h"
#include "shared/base/clock.h"
#include "shared/base/random.h"
#include "shared/outbox/outbox_thread.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

// A job client's own thread: the loop with its connection, and the way to it from any other.
//
// Thread: any; start() and the destructor by the owner.
namespace carillon {

// How many calls may be on their way to the thread; more answer kLimit.
inline constexpr std::size_t kCallsMax = 8192;

class ClientThread {
 public:
  // Makes a connection on `loop`; called on the caller's thread first, then on this one's.
  using MakeTransport = std::function<Result<std::unique_ptr<net::ClientTransport>>(
      EventLoop& loop, const std::string& tracker)>;

  static Result<std::unique_ptr<ClientThread>> start(const JobClientOptions& options,
                                                     MakeTransport make_transport);
  // Answers everything that is open with kUnavailable.
  ~ClientThread();
  ClientThread(const ClientThread&) = delete;
  ClientThread& operator=(const ClientThread&) = delete;

  // `done` is called on the client's thread; on the caller's when the client is overloaded.
  void submit(std::vector<JobSpec> jobs, JobClient::SubmitDone done, bool suspended = false);
  // Waits for the answer.
  Result<std::vector<SubmitAnswer>> submit_and_wait(std::vector<JobSpec> jobs,
                                                    bool suspended = false);
  Result<wire::Message> ask_and_wait(wire::Message request);
  Result<FlushAnswer> flush_and_wait(std::optional<Duration> longest);

 private:
  struct Flushed {
    SteadyTime began{};
    SteadyTime ended{};
  };

  explicit ClientThread(const JobClientOptions& options);
  Status open_outbox();
  bool put(std::function<void()> work);
  SteadyTime waiting_since(bool changes);
  void run_calls();
  bool end_turn();

  const JobClientOptions options_;
  SystemClock clock_;
  SystemRandom random_;
  EventLoop loop_{clock_};
  Mailbox<std::function<void()>> calls_{kCallsMax};
  std::unique_ptr<Requests> requests_;
  std::unique_ptr<SubmitQueue> submits_;
  std::unique_ptr<outbox::OutboxThread> outbox_;  // none: nothing is stored
  std::unique_ptr<StoredSubmits> stored_;         // none: likewise
  std::optional<Flushed> flushed_in_vain_{};      // the last
  TimerId timer_ = 0;
  std::optional<SteadyTime> timer_at_{};
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon
