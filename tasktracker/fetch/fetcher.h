#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/base/sizes.h"
#include "shared/wire/messages.h"
#include "tasktracker/fetch/holdings.h"

namespace carillon::tasktracker {

struct FetcherConfig {
  SessionId session{};
  std::string name{};
  std::string address{};
  std::string group{};
  std::map<std::string, std::string> labels{};
  std::vector<std::string> allow{};
  std::string version{};
  int threads = 1;
  int prefetch_max = 512;                                  // more hides a longer round trip
  int prefetch_max_short = 1024;                           // when no recent run was long
  Duration prefetch_work = std::chrono::milliseconds{10};  // prefetched work for each thread
  Duration answer_wait = std::chrono::milliseconds{20};    // then a pull counts as unanswered
  Duration register_again = std::chrono::seconds{1};       // without an answer; doubled each time
  Duration register_again_max = std::chrono::seconds{8};
  // Wait after a rejection. First short, because a rebalance may be in progress; later longer,
  // because the job tracker may stand by.
  Duration refused_soon = std::chrono::milliseconds{15};
  int refused_soon_tries = 10;
  Duration refused_again = std::chrono::milliseconds{250};
  Duration holding_interval = std::chrono::seconds{1};
  Duration bye_again = std::chrono::milliseconds{100};  // until it is answered
};

// Counters, for logs and tests.
struct FetcherCounts {
  std::uint64_t pulls = 0;
  std::uint64_t handed = 0;            // accepted jobs
  std::uint64_t refused = 0;           // jobs of hand-outs that were too late
  std::uint64_t duplicates = 0;        // jobs that were already held
  std::uint64_t sessions_unknown = 0;  // how often the job tracker did not know this session
};

// Decides when to register, and when to request how many jobs; rejects late hand-outs; knows all
// held jobs of all job trackers. Repeated messages have no effect.
//
// The lease starts when the newest answered registration or pull was sent, so it always ends before
// the job tracker's own. Three kinds of hand-outs are not run, because their jobs may already be
// given to others. First, hand-outs for a pull that was sent longer ago than the lease; jobs that
// still wait then do not start either. Second, hand-outs of another session of a job tracker than
// the registered one, which may not know of them. Third, hand-outs during an unanswered
// registration, which has reported that they are not held.
//
// A leaving worker repeats its sign-off to the current owners of its jobs until they confirm it.
//
// Thread: the loop. Pure: time and messages come in as values, messages to send go out.
class Fetcher {
 public:
  explicit Fetcher(FetcherConfig config);
  // For another job tracker beside `other`: both share the held jobs.
  Fetcher(FetcherConfig config, const Fetcher& other);

  void on_connected();
  void on_disconnected();
  // The answer to the newest registration; answers to earlier ones are outdated.
  void on_registered(const wire::Registered& registered, SteadyTime now);
  void on_pulled(const wire::Pulled& pulled, SteadyTime now);
  // The job tracker does not know this session (any more).
  void on_unknown_session();
  // The job tracker rejected the registration.
  void on_refused(SteadyTime now);
  // It may accept this worker soon.
  void ask_soon() { refusals_ = 0; }
  // Leaves the jobs to run in the message, and returns when they must start at the latest. Error:
  // it was too late, and none runs.
  Result<SteadyTime> on_hand_out(wire::HandOut& hand_out, SteadyTime now);

  void on_finished(const wire::AttemptId& id, Duration run_time);
  void on_confirmed(const wire::AttemptId& id);
  void on_given_back(const std::vector<wire::AttemptId>& ids);

  // A hand-out of it was not run: it needs the list of held jobs.
  void on_others_hand_out(std::size_t jobs, SteadyTime now);

  // Limits the number of requested jobs; none: as many as possible.
  void set_share(std::optional<int> share) { share_ = share; }
  // Jobs that its job tracker may still hand out, whatever it is told now.
  int owed() const { return is_registered() ? std::max(credit_, older_credit_) : 0; }
  // Its job tracker recently handed out all that it was allowed.
  bool is_hungry(SteadyTime now) const { return used_up_at_ && now < hungry_until(); }
  SteadyTime hungry_until() const { return *used_up_at_ + kHungry; }  // Requires: it was hungry.
  std::int64_t tracker_session() const { return tracker_session_; }

  // Whether it takes jobs; if not because of the machine's load, what is overloaded.
  void set_taking(bool taking, const std::string& overload = {});
  // Takes no more jobs, and reports this.
  void drain();

  // Signs off permanently. Requires: nothing is held.
  void leave() { leave_ = Leave::kSays; }
  void on_gone() { leave_ = Leave::kGone; }
  bool is_leaving() const { return leave_ == Leave::kSays; }

  // The messages to send now, in order. `waiting` lists the held jobs that have not started; called
  // only when needed.
  template <class Waiting>
  void take_messages(SteadyTime now, std::vector<wire::Message>& messages, Waiting waiting) {
    if (leave_ == Leave::kGone) return;
    if (must_register(now)) {
      messages.push_back(make_register(now, waiting()));
    } else if (is_leaving()) {
      if (must_say_bye(now)) messages.push_back(make_bye(now));
    } else if (must_pull(now)) {
      messages.push_back(make_pull(now, is_holding_due(now)
                                            ? std::optional{waiting()}
                                            : std::optional<std::vector<wire::AttemptId>>{}));
    }
  }
  // When to call again without another event.
  std::optional<SteadyTime> next_time() const;

  bool is_registered() const { return state_ == State::kRegistered; }
  bool is_holding(const wire::AttemptId& id) const { return holdings_->jobs.contains(id); }
  std::size_t held() const { return holdings_->jobs.size(); }
  // The bucket of its task id; -1: it is not held.
  int bucket_of(const wire::AttemptId& id) const;
  // Received and not finished: queued or running.
  int unfinished() const { return holdings_->unfinished; }
  // Those with such a bucket.
  std::vector<wire::AttemptId> unfinished_of(const std::function<bool(int bucket)>& is_such) const;
  // Number of jobs that fit, over all job trackers.
  int room() const { return config_.threads + prefetch() - holdings_->unfinished; }
  bool has_lease(SteadyTime now) const;
  SteadyTime lease_end() const { return *lease_from_ + lease_; }  // Requires: it had one.
  Duration lease() const { return lease_; }
  int prefetch() const;
  const FetcherCounts& counts() const { return counts_; }
  Sizes sizes() const { return {{"pulls", pulls_.size()}, {"holdings", holdings_->jobs.size()}}; }

 private:
  static constexpr Duration kHungry = std::chrono::milliseconds{200};

  enum class State { kDisconnected, kMustRegister, kRegistering, kRefused, kRegistered };
  enum class Leave { kNot, kSays, kGone };
  struct SentPull {
    std::int64_t number = 0;
    SteadyTime at{};
  };
  struct OtherSession {
    std::int64_t session = 0;
    std::int64_t handout_seen = 0;
  };

  void note_other(std::int64_t session, std::int64_t hand_out);
  std::int64_t other_seen(std::int64_t session) const;
  SteadyTime refused_until() const;
  bool must_register(SteadyTime now) const;
  bool must_pull(SteadyTime now) const;
  bool must_say_bye(SteadyTime now) const;
  bool awaits_answer() const { return pull_number_ > std::max(answered_, given_up_); }
  bool is_worth_a_pull() const;
  bool is_holding_due(SteadyTime now) const { return now >= holding_at_; }
  int window() const;
  wire::Register make_register(SteadyTime now, const std::vector<wire::AttemptId>& waiting);
  wire::Pull make_pull(SteadyTime now, std::optional<std::vector<wire::AttemptId>> waiting);
  wire::Bye make_bye(SteadyTime now);
  std::vector<wire::Held> everything_held(const std::vector<wire::AttemptId>& waiting) const;
  void forget_old_pulls(SteadyTime now);

  const FetcherConfig config_;
  State state_ = State::kDisconnected;
  bool taking_ = true;
  bool draining_ = false;
  std::string overload_{};
  Leave leave_ = Leave::kNot;
  SteadyTime said_bye_at_{};    // since the registration
  SteadyTime registered_at_{};  // kRegistering, kRefused: the last try
  Duration register_again_;     // kRegistering: wait until the next try
  int refusals_ = 0;            // since the registration
  Duration lease_ = std::chrono::seconds{3};
  Duration pull_interval_ = std::chrono::seconds{1};
  std::int64_t tracker_session_ = 0;

  std::int64_t pull_number_ = 0;
  std::int64_t answered_ = 0;     // the newest answered pull of this session of the job tracker
  std::int64_t given_up_ = 0;     // no answer is expected for pulls up to this
  std::deque<SentPull> pulls_{};  // newer than the lease, oldest first
  std::optional<SteadyTime> lease_from_{};
  SteadyTime pulled_at_{};
  bool pull_now_ = false;
  SteadyTime holding_at_{};
  std::int64_t handout_seen_ = 0;
  // The last few sessions that sent hand-outs without a registration, newest last; rejected
  // hand-outs stay rejected.
  std::deque<OtherSession> others_{};
  int credit_ = 0;        // jobs that the job tracker may hand out without another pull
  int older_credit_ = 0;  // the same until it has answered the newest pull
  std::optional<int> share_{};
  std::optional<SteadyTime> used_up_at_{};

  // Shared with the Fetchers of the worker's other job trackers.
  const std::shared_ptr<Holdings> holdings_;
  FetcherCounts counts_{};
};

}  // namespace carillon::tasktracker
