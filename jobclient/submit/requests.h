#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "jobclient/submit/owner_connections.h"
#include "shared/base/clock.h"
#include "shared/base/sizes.h"
#include "shared/net/transport.h"
#include "shared/wire/messages.h"

// Requests to a job tracker, each answered once: with what the tracker says, or with an error.
//
// Invariants: a changing request keeps its number however often it is sent, and less than
// kRequestWindow numbers lie between the oldest without an answer and the newest. A request waits
// at most connect_timeout for a connection, and at most answer_timeout altogether.
//
// When the connection breaks, what was not answered is sent again over the next one, in the order
// of asking; the next one may lead to another tracker. "Slow down" (kLimit) and "not yet"
// (kUnavailable, from a tracker that starts, stops or is between two owners) are obeyed: the
// request is sent again later, and is answered with that once too little time is left for another
// try: a tracker may keep it waiting for a third of its time before it says so again. After "not
// yet" the next tracker is turned to, where there are several; and from one that says nothing. When
// access is denied, the connection is made anew once, because a tracker that was restarted has a
// new token; a second denial ends every request.
//
// Of several job trackers each looks after other node groups. One that was asked about another's
// says whose; the request is sent there as it is, over a connection of its own
// (owner_connections.h), as is what is asked about that group later. When that fails, it is asked
// here again. While something about a group is on one way, nothing about it is sent on another. A
// submission for groups of several is sent in parts, a group each, whose numbers follow from its
// own, so that it may be repeated as a whole. Likewise one for a group that was split: a part each.
// It ends with its last part; where some fail and nothing is stored, the answers of the others
// stand beside them.
//
// With store_with(), a submission that would end with kUnavailable or kTimeout is stored instead,
// and while no tracker was reachable for connect_timeout, each is stored at once; so it happens
// later, or has happened. What was sent keeps its number, and this process goes on with new ones:
// the tracker remembers few answers of a client, and must not forget that one. Without a connection
// all submissions are stored that are open, so that none overtakes another.
//
// Giving up a changing request of which some sending was neither answered nor refused is kTimeout,
// whatever the reason: nobody knows what became of it.
//
// Thread: the loop. Callbacks may ask again, but must not destroy this.
namespace carillon {

// To wait for longer is to wait for ever.
inline constexpr Duration kLongestWait = std::chrono::hours{24 * 365};

struct RequestsConfig {
  // In order of preference; at least one.
  std::vector<std::string> trackers{};
  Duration connect_timeout = std::chrono::seconds{5};
  Duration answer_timeout = std::chrono::seconds{30};
  // Without an answer for so long a request is sent again, then after twice as long, and so on.
  // Longer: a lost answer is noticed later; shorter: a slow tracker gets more of the same.
  Duration resend_after = std::chrono::seconds{1};
  Duration resend_after_max = std::chrono::seconds{10};
  // With several trackers: one that says nothing for so long is given up for the next.
  Duration try_next_after = std::chrono::seconds{1};
  // The same for one that is connected, and that was asked: another may have taken its place.
  Duration silent_after = std::chrono::seconds{3};
  // One that refuses is given up sooner, but not in a hot loop: node groups may be on their way
  // from one job tracker to another, for a moment. After the first time it waits `refused_soon`,
  // then twice as long, and so on.
  Duration refused_soon = std::chrono::milliseconds{10};
  Duration refused_wait = std::chrono::milliseconds{50};
  // A tracker that says "slow down" gets a request again after so long, then after twice as long.
  Duration slow_down_wait = std::chrono::milliseconds{50};
};

// How an error ends where the outcome is unknown.
inline constexpr const char* kMaybeTaken = ", the job tracker may have accepted it";
inline constexpr const char* kAskFirst = " (check before you repeat it)";

// Whether what ended with it may have been taken all the same.
constexpr bool may_be_taken(ErrorCode code) {
  return code == ErrorCode::kTimeout || code == ErrorCode::kCorrupt;
}

// A submission without an answer, to be delivered some day.
struct UnansweredSubmit {
  std::string frame{};           // a Submit, encoded; its own number means nothing
  wire::RequestNumber number{};  // 0: it was never sent
  Error why{};
  // To be called once: with the answers, or with an error when it could not be stored.
  std::function<void(Result<wire::Message>)> done{};
};

class Requests final : public net::ClientReceiver {
 public:
  using Done = std::function<void(Result<wire::Message>)>;
  using Store = std::function<void(UnansweredSubmit)>;
  using MakeTransport = OwnerConnections::MakeTransport;

  // `client` numbers the changing requests of this process, 1 .. 2^59-1.
  static Result<std::unique_ptr<Requests>> open(RequestsConfig config, const Clock& clock,
                                                std::int64_t client, MakeTransport make_transport);
  ~Requests() override;
  Requests(const Requests&) = delete;
  Requests& operator=(const Requests&) = delete;

  // Submit and Act are numbered here, unless they have a number: then they do not wait for others,
  // and their caller limits them. `since`: when the caller began to wait. `on_behalf`: whose
  // request is passed on; only between job trackers.
  void ask(wire::Message request, SteadyTime since, Done done,
           std::optional<wire::OnBehalf> on_behalf = {});

  // Whether a changing request asked now would go out at once, not wait for earlier ones.
  bool has_room() const { return unnumbered_.empty() && window_is_open(); }
  // Whether changing requests go out as earlier ones are answered, taken or told to slow down, one
  // of them not long ago: what waits does not wait for somebody who is silent, nor behind what was
  // stored.
  bool is_sending() const {
    return connected_ && !held_ && answered_at_ &&
           clock_.steady_now() - *answered_at_ <= config_.answer_timeout / 3;
  }
  Duration answer_timeout() const { return config_.answer_timeout; }

  // `draw_client` gives numbers for the client that this one becomes.
  void store_with(Store store, std::function<std::int64_t()> draw_client);
  // Sends a stored submission, ahead of all others and with the number that it has. An answer of
  // kUnavailable or kTimeout leaves it as it is.
  void deliver(wire::Submit submit, Done done);
  // While held, changing requests wait: what was stored goes first. `why` it was not taken last.
  void hold(bool held, const std::string& why = {});
  bool is_held() const { return held_; }
  bool is_connected() const { return connected_; }
  // Why what has waited so long is given up.
  Error away_error(Duration waited) const { return give_up_error(false, {}, waited); }

  // Sends again, gives up, turns to the next tracker, as far as it is time.
  void run_due();
  // When to call run_due() next; empty while there is nothing to wait for.
  std::optional<SteadyTime> next_due() const;

  // Answers everything with kUnavailable.
  void close();

  void on_frame(std::string_view frame) override { on_answer({}, frame); }
  void on_connected() override;
  void on_disconnected(const std::string& reason) override;
  Sizes sizes() const {
    Sizes all{{"outstanding", outstanding_.size()},
              {"by_sequence", by_sequence_.size()},
              {"unnumbered", unnumbered_.size()},
              {"trackers", trackers_.size()}};
    add_sizes(all, "lines", connections_.sizes());
    return all;
  }

 private:
  // Without a number: a query, which any number may be of.
  struct Outstanding {
    std::string frame{};
    wire::RequestNumber number{};
    std::string subject{};     // a node group or a client group; empty: several, or none
    std::string connection{};  // to whom it goes; empty: over the connection for everything else
    bool may_be_stored = false;
    bool may_be_mixed = false;  // where parts fail, the others' answers count
    SteadyTime asked_at{};
    bool was_sent = false;
    std::optional<SteadyTime> sent_at{};  // first, over this connection or connection
    bool was_sent_on = false;             // by one job tracker to another
    Duration sent_on_wait{};              // where it went to and fro
    bool is_in_parts = false;             // its parts are on the way
    int open_sendings = 0;  // neither answered nor refused: the tracker may have taken one
    std::optional<SteadyTime> send_at{};  // when to send it (again); empty: not on this connection
    Duration resend_after{};
    Duration slow_down{};
    Done done{};
  };
  struct Unnumbered {
    wire::Message request{};
    SteadyTime asked_at{};
    Done done{};
    std::optional<wire::OnBehalf> on_behalf{};
  };
  using Table = std::map<std::uint64_t, Outstanding>;  // by correlation, that is by age

  Requests(RequestsConfig config, const Clock& clock, std::int64_t client,
           MakeTransport make_transport);
  Status connect(std::size_t tracker);
  void start(Unnumbered one);
  void place(Outstanding outstanding, wire::Message request,
             std::optional<wire::OnBehalf> on_behalf = {});
  void start_unnumbered();
  bool window_is_open() const;
  std::string line_for(const std::string& subject) const;
  bool can_send(const Outstanding& request) const;
  void send(Outstanding& request, SteadyTime now);
  void send_due(SteadyTime now);
  void try_later(Table::iterator request, const Error& refusal);
  void try_again(Table::iterator request, bool is_away, const Error& why);
  Duration slower(Duration before) const {
    return before == Duration{} ? config_.refused_soon : std::min(2 * before, config_.refused_wait);
  }
  Duration next_pace() { return pace_ = slower(pace_); }
  void give_up_due(SteadyTime now);
  void leave_if_silent(SteadyTime now);
  bool is_silent(const Outstanding& request, SteadyTime now) const;
  void try_next_tracker(SteadyTime now);
  void on_answer(const std::string& connection, std::string_view frame);
  void take_redirect(Table::iterator request, const wire::Redirect& elsewhere);
  void send_on(Table::iterator request, const std::string& address);
  void on_connection_connected(const std::string& address);
  void on_connection_lost(const std::string& address, const std::string& reason);
  void send_in_parts(Table::iterator request, std::int32_t group_parts);
  void learn_parts(Outstanding& request, std::int32_t parts);
  SteadyTime give_up_at(bool was_sent, SteadyTime asked_at) const;
  void answer(Table::iterator request, Result<wire::Message> answer);
  bool needs_tracker() const { return !outstanding_.empty() || !unnumbered_.empty() || held_; }
  bool is_away(SteadyTime now) const;
  bool must_store(const Outstanding& request, const Result<wire::Message>& answer) const;
  void store(Outstanding request, const Error& why);
  void store_unsent(Unnumbered request);
  void store_all(const Error& why);
  void fail_all(const Error& error);
  Error give_up_error(bool was_sent, const std::string& connection = {},
                      Duration waited = {}) const;
  const std::string& name_of(const std::string& connection) const {
    return connection.empty() ? trackers_[tracker_] : connection;
  }
  static Error unless_taken(const Outstanding& request, const Error& error);
  Error denied_error() const {
    return {ErrorCode::kDenied, trackers_[tracker_] + ": " + last_reason_};
  }

  const RequestsConfig config_;
  const Clock& clock_;
  std::int64_t client_;
  const MakeTransport make_transport_;
  Store store_;
  std::function<std::int64_t()> draw_client_;
  bool held_ = false;
  std::string held_why_{};

  std::unique_ptr<net::ClientTransport> transport_;
  std::vector<std::string> trackers_;  // those of the configuration, and whom they have named
  std::size_t tracker_ = 0;            // which of them
  bool connected_ = false;
  SteadyTime away_since_{};  // not connected
  bool leaving_ = false;     // it said "not yet", and there are others
  std::optional<SteadyTime> try_next_at_{};
  Duration pace_{};                          // of the round; none: somebody has answered
  SteadyTime heard_at_{};                    // anything at all
  std::optional<SteadyTime> answered_at_{};  // a changing request, taken or told to slow down
  std::string last_reason_{};                // why there is no connection, for a person
  std::size_t denied_in_row_ = 0;  // trackers that denied access since the last connection

  OwnerConnections connections_;

  std::uint64_t last_correlation_ = 0;
  std::int64_t last_sequence_ = 0;
  Table outstanding_;
  std::map<std::int64_t, std::uint64_t> by_sequence_;  // changing requests of client_ on the way
  std::deque<Unnumbered> unnumbered_;                  // changing requests that wait for room
};

}  // namespace carillon
