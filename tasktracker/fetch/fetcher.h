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
  int prefetch_max = 512;                                  // more hides a longer way to the tracker
  int prefetch_max_short = 1024;                           // once no run was long lately
  Duration prefetch_work = std::chrono::milliseconds{10};  // fetched ahead for each thread
  Duration answer_wait = std::chrono::milliseconds{20};    // then a pull counts as unanswered
  Duration register_again = std::chrono::seconds{1};  // while nobody answers; doubled each time
  Duration register_again_max = std::chrono::seconds{8};
  // After a refusal: node groups may be on their way from one job tracker to another, for a moment;
  // afterwards less often, it may stand by.
  Duration refused_soon = std::chrono::milliseconds{15};
  int refused_soon_tries = 10;
  Duration refused_again = std::chrono::milliseconds{250};
  Duration holding_interval = std::chrono::seconds{1};
  Duration bye_again = std::chrono::milliseconds{100};  // until it is answered
};

// What a Fetcher has counted, for logs and tests.
struct FetcherCounts {
  std::uint64_t pulls = 0;
  std::uint64_t handed = 0;            // jobs accepted
  std::uint64_t refused = 0;           // jobs of hand-outs that came too late
  std::uint64_t duplicates = 0;        // jobs held already
  std::uint64_t sessions_unknown = 0;  // times the tracker had forgotten this session
};

// Decides when to register and when to ask for how many jobs; refuses hand-outs that came too late;
// knows everything that is held, whichever job tracker handed it out. What comes again is nothing.
//
// The lease counts from the sending of the newest registration or pull that was answered, so it
// always ends before the tracker's own. A hand-out that answers a pull sent longer ago than the
// lease is not run, and what waits here until then does not begin: the tracker may have given its
// jobs to somebody else by then. Nor is one of
// another session of a job tracker than the one that it is registered with, which may know nothing
// of its jobs; nor one that comes while a registration is not answered, which has told that they
// are not held.
//
// Who leaves says so again and again, to whoever looks after its jobs by then, until it is told
// that none is held for it any more.
//
// Thread: the loop. Pure: time and messages come in as values, messages to send go out.
class Fetcher {
 public:
  explicit Fetcher(FetcherConfig config);
  // With another job tracker, beside `other`: what is held is one for both.
  Fetcher(FetcherConfig config, const Fetcher& other);

  void on_connected();
  void on_disconnected();
  // The answer to the newest registration; those before list what is out of date.
  void on_registered(const wire::Registered& registered, SteadyTime now);
  void on_pulled(const wire::Pulled& pulled, SteadyTime now);
  // The tracker does not know this session, or not any more.
  void on_unknown_session();
  // The tracker refused to register this worker.
  void on_refused(SteadyTime now);
  // It may take this worker in a moment.
  void ask_soon() { refusals_ = 0; }
  // Leaves in the message what shall be run, and answers until when it may begin. An error: nothing
  // is, because it came too late.
  Result<SteadyTime> on_hand_out(wire::HandOut& hand_out, SteadyTime now);

  void on_finished(const wire::AttemptId& id, Duration run_time);
  void on_confirmed(const wire::AttemptId& id);
  void on_given_back(const std::vector<wire::AttemptId>& ids);

  // A hand-out of it was not run: it is to be told what is held.
  void on_others_hand_out(std::size_t jobs, SteadyTime now);

  // No more than so many are asked for; none: as many as there is room for.
  void set_share(std::optional<int> share) { share_ = share; }
  // Jobs that its tracker may hand out yet, whatever it is told now.
  int owed() const { return is_registered() ? std::max(credit_, older_credit_) : 0; }
  // Its tracker has lately handed out all that it was allowed.
  bool is_hungry(SteadyTime now) const { return used_up_at_ && now < hungry_until(); }
  SteadyTime hungry_until() const { return *used_up_at_ + kHungry; }  // Requires: it was hungry.
  std::int64_t tracker_session() const { return tracker_session_; }

  // Whether any jobs are wanted at all; and if not because of the machine's load, what that is.
  void set_taking(bool taking, const std::string& overload = {});
  // None are wanted any more, and this is said.
  void drain();

  // For good. Requires: nothing is held.
  void leave() { leave_ = Leave::kSays; }
  void on_gone() { leave_ = Leave::kGone; }
  bool is_leaving() const { return leave_ == Leave::kSays; }

  // What is to be sent by now, in order. `waiting` lists the held jobs that were not started, and
  // is asked only when needed.
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
  // When to come again, if nothing happens before.
  std::optional<SteadyTime> next_time() const;

  bool is_registered() const { return state_ == State::kRegistered; }
  bool is_holding(const wire::AttemptId& id) const { return holdings_->jobs.contains(id); }
  std::size_t held() const { return holdings_->jobs.size(); }
  // Of its task id; -1: it is not held.
  int bucket_of(const wire::AttemptId& id) const;
  // Handed out and not finished: in the queue or on a thread.
  int unfinished() const { return holdings_->unfinished; }
  // Which of them are of such a bucket.
  std::vector<wire::AttemptId> unfinished_of(const std::function<bool(int bucket)>& is_such) const;
  // Jobs that there is room for, whoever hands them out.
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
  SteadyTime said_bye_at_{};    // since it was registered
  SteadyTime registered_at_{};  // kRegistering, kRefused: when it was last tried
  Duration register_again_;     // kRegistering: and when it is tried again
  int refusals_ = 0;            // since it was registered
  Duration lease_ = std::chrono::seconds{3};
  Duration pull_interval_ = std::chrono::seconds{1};
  std::int64_t tracker_session_ = 0;

  std::int64_t pull_number_ = 0;
  std::int64_t answered_ = 0;     // the newest pull that was, by this session of the tracker
  std::int64_t given_up_ = 0;     // no answer is waited for to this one and those before
  std::deque<SentPull> pulls_{};  // younger than the lease, oldest first
  std::optional<SteadyTime> lease_from_{};
  SteadyTime pulled_at_{};
  bool pull_now_ = false;
  SteadyTime holding_at_{};
  std::int64_t handout_seen_ = 0;
  // Of the last few sessions heard that it was not registered with, the last one last; what of them
  // was refused stays so.
  std::deque<OtherSession> others_{};
  int credit_ = 0;        // jobs that the tracker may still hand out without another pull
  int older_credit_ = 0;  // and until it has answered the newest pull
  std::optional<int> share_{};
  std::optional<SteadyTime> used_up_at_{};

  // Shared with the Fetchers of the worker's other job trackers.
  const std::shared_ptr<Holdings> holdings_;
  FetcherCounts counts_{};
};

}  // namespace carillon::tasktracker
