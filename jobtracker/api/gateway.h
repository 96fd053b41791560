#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "carillon/job_client.h"
#include "jobclient/submit/requests.h"
#include "jobclient/submit/submit_queue.h"
#include "shared/base/clock.h"
#include "shared/base/principal.h"
#include "shared/base/random.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon::jobtracker::api {

// Whose request it is.
wire::OnBehalf on_behalf_of(const Principal& principal, const std::string& address);

// Passes requests of the API on to the cluster, like a job client: first to this job tracker, and
// where that one redirects, to the owner of the node group. Jobs that are submitted at the same
// time go out together.
//
// It has its own thread with an event loop, on which the operations of the API run.
//
// Thread: its own, unless a member says otherwise.
class Gateway {
 public:
  // Connects to a job tracker. Called on the owner's thread first, then on the gateway's.
  using MakeTransport = std::function<Result<std::unique_ptr<net::ClientTransport>>(
      EventLoop& loop, const std::string& address)>;
  using Done = Requests::Done;
  using SubmitDone = JobClient::SubmitDone;

  // Pieces of work from other threads that wait.
  static constexpr std::size_t kWorkMax = 8192;
  static constexpr std::size_t kAsideMax = 64;

  // `own_address`: of this job tracker, as the others know it. Thread: the owner's.
  static Result<std::unique_ptr<Gateway>> start(std::string own_address,
                                                MakeTransport make_transport);
  // Answers everything that is open with kUnavailable. Thread: the owner's.
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  // Ends the thread, and answers everything that is open, on the caller's thread. Thread: the
  // owner's.
  void stop();
  // Runs `work` on the gateway's thread. False: too much waits. Thread: any.
  bool run(std::function<void()> work) { return work_.put(std::move(work)); }

  // Runs `work`, which may take long, on a thread of its own, and then what it returns on this one.
  // False: too much waits.
  bool run_aside(std::function<std::function<void()>()> work) {
    return aside_.put(std::move(work));
  }

  // A Submit or Act with a number keeps it; others are numbered.
  void ask(wire::OnBehalf whose, wire::Message message, Done done);
  void submit(wire::OnBehalf whose, std::vector<JobSpec> jobs, bool suspended, SubmitDone done);
  // Runs `work` later on this thread.
  TimerId after(Duration delay, std::function<void()> work);
  void cancel(TimerId timer) { loop_.cancel(timer); }
  bool is_stopped() const { return is_stopped_; }
  // Random.
  std::uint64_t draw() { return random_.next(); }

  // Thread: any.
  const Clock& clock() const { return clock_; }

 private:
  Gateway() = default;
  void run_work();
  void work_aside();
  bool end_turn();

  SystemClock clock_;
  SystemRandom random_;
  EventLoop loop_{clock_};
  Mailbox<std::function<void()>> work_{kWorkMax};
  std::unique_ptr<Requests> requests_;
  std::unique_ptr<SubmitQueue> submits_;
  TimerId timer_ = 0;
  std::optional<SteadyTime> timer_at_{};
  bool is_stopped_ = false;
  Mailbox<std::function<std::function<void()>()>> aside_{kAsideMax};
  std::atomic<bool> ends_aside_{false};
  std::unique_ptr<Thread> aside_thread_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon::jobtracker::api
