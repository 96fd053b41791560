#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "carillon/job_client.h"
#include "jobclient/submit/requests.h"
#include "shared/base/clock.h"
#include "shared/base/sizes.h"

// Jobs of many callers, put into few messages.
//
// Jobs go out in the order of adding, as many in a message as its limits allow, as soon as
// Requests has room. So a lone job leaves at once, and what comes while the window is full leaves
// together. A job that is not valid is answered here and is not sent; it cannot spoil the message
// it would have shared with others.
//
// Each job of a call has its answer, whatever becomes of the others: where a message fails, those
// of its jobs say whether it may have been taken, and what is not sent by then is not sent any
// more. A call fails as a whole only where the same is to be said of each of its jobs.
//
// A call that one message has room for is sent in one, so that its jobs are taken together or none
// of them is. What has waited for half of its time is refused with kLimit while others are
// answered: sent later, it might be given up before its answer, and nobody would know what became
// of it.
//
// Thread: the loop.
namespace carillon {

// What a message is filled up to: well below the most that a frame may have.
inline constexpr std::size_t kSubmitBytesAim = 3 * 1024 * 1024;

// A number for its task, by which jobs of one task are found among others; nothing: its task id is
// yet to be made. Few tasks, by chance, have the same.
std::optional<std::uint64_t> task_number(const JobSpec& job);

// What a job tracker says of a job, as callers know it.
SubmitAnswer from_wire(wire::SubmitAnswer&& answer);

// What is to be said of a job that a call failed with: that it may have been taken, or was not.
SubmitAnswer failed_answer(std::string task_id, std::string group, const Error& why);
// Of jobs that are not sent, because those before them failed so: of them nothing was taken.
Error not_sent(const Error& why);

class SubmitQueue {
 public:
  using Done = JobClient::SubmitDone;

  SubmitQueue(Requests& requests, const Clock& clock);

  // kLimit at once, through `done`, when more than kJobsQueuedMax would wait, or the first waits
  // for too long, so that what is taken is sent in time. `since`: when the caller began to wait;
  // now, where it is not given.
  void add(std::vector<JobSpec> jobs, Done done, std::optional<SteadyTime> since = {},
           bool suspended = false, std::optional<wire::OnBehalf> on_behalf = {});
  // Sends what may be sent. Called once a turn of the loop.
  void flush();
  // Answers everything that was not sent yet.
  void close();
  Sizes sizes() const { return {{"waiting", waiting_.size()}, {"jobs_waiting", jobs_waiting_}}; }

 private:
  // A caller's jobs; shared by those of them that are still open.
  struct Call {
    std::vector<JobSpec> jobs{};
    bool suspended = false;
    std::optional<wire::OnBehalf> on_behalf{};  // a message is on behalf of one
    std::size_t bytes = 0;                      // of the valid ones, at most
    std::size_t next = 0;                       // the first valid one that is in no message yet
    bool was_sent = false;                      // some of them were
    SteadyTime since{};
    std::vector<SubmitAnswer> answers{};
    std::size_t open = 0;          // without an answer
    std::optional<Error> error{};  // of the first that failed
    bool is_alike = true;          // each that has an answer has failed with it
    Done done{};

    // Goes on to the first valid job from `place` on, if there is one.
    bool find_valid(std::size_t place);
    void take(std::size_t place, SubmitAnswer answer);
    void fail(std::size_t place, const Error& why);
  };
  struct Sent {
    std::shared_ptr<Call> call{};
    std::size_t place = 0;
    std::optional<std::uint64_t> task{};
  };

  Status check_room(std::size_t jobs) const;
  bool has_waited(Duration longest, const Call& call) const;
  void refuse_late();
  static bool is_for_next_message(const Call& call, std::size_t jobs, std::size_t bytes);
  // False: nothing may be sent now.
  bool send_one_message();
  void take_answer(const std::vector<Sent>& sent, Result<wire::Message> answer);
  static void take_one(Call& call, std::size_t place, wire::SubmitAnswer&& answer);
  void pass_next();
  static void finish_one(Call& call);
  static void finish_rest(Call& call, const Error& error);

  Requests& requests_;
  const Clock& clock_;
  std::deque<std::shared_ptr<Call>> waiting_;     // with jobs that are in no message yet
  std::size_t jobs_waiting_ = 0;                  // those
  std::unordered_set<std::uint64_t> sent_tasks_;  // of jobs without an answer
};

}  // namespace carillon
