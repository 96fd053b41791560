#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/net/transport.h"

namespace carillon::tasktracker {

// The address of a job tracker.
struct TrackerAddress {
  std::string endpoint{};
  std::unique_ptr<net::ClientTransport> transport{};
};

// Chooses the one job tracker of a worker among several addresses: the first reachable one, until
// the connection is lost or that job tracker does not serve; then the next. All addresses stay
// connected, so that a change is fast and a wrong address is reported at the start. Only the chosen
// one gets messages, and messages of the others are ignored, until speak_with_all().
//
// Thread: the loop.
class TrackerChoice {
 public:
  // `receiver` must outlive this object. It gets messages of the chosen job tracker only; a change
  // looks like a reconnect. `addresses`: at least one.
  TrackerChoice(std::vector<TrackerAddress> addresses, net::ClientReceiver& receiver);
  ~TrackerChoice();
  TrackerChoice(const TrackerChoice&) = delete;
  TrackerChoice& operator=(const TrackerChoice&) = delete;

  // A job tracker is chosen and connected.
  bool is_connected() const;
  // Of the current or last chosen job tracker.
  const std::string& endpoint() const;
  // Error: kUnavailable if none is chosen.
  Status send(std::string frame);

  // The chosen job tracker serves.
  void stay() {
    settle();
    has_served_ = true;
    times_sent_ = 0;
  }
  // It does not serve: choose the next one that is connected.
  void leave() { leaving_ = true; }
  // It does not serve and names the one that does: choose that one, if it is among the addresses;
  // it may have another name there.
  void leave_for(const std::string& endpoint);

  // From now on all addresses get messages, and none is chosen. `receivers`: one per address, in
  // order; they must outlive this object. They are immediately notified of their connection, except
  // the chosen one's.
  void speak_with_all(std::vector<net::ClientReceiver*> receivers);
  std::size_t count() const { return connections_.size(); }
  std::size_t chosen() const { return chosen_; }  // the current or last one
  bool is_connected(std::size_t at) const;
  const std::string& endpoint(std::size_t at) const;
  Status send(std::size_t at, std::string frame);

  // Chooses, if it is time. Call at the end of a turn.
  void choose(SteadyTime now);
  // When to call again without another event.
  std::optional<SteadyTime> next_time() const;

 private:
  class Connection;

  void settle() {
    leaving_ = false;
    was_sent_ = false;
    sent_to_.reset();
  }
  std::optional<std::size_t> next_connected() const;
  Duration stay_min() const;
  net::ClientReceiver* receiver_of(const Connection& connection) const;
  void on_frame(const Connection& from, std::string_view frame);
  void on_connected(const Connection& from);
  void on_disconnected(const Connection& from, const std::string& reason);

  net::ClientReceiver& receiver_;
  const Logger log_{"tracker"};
  std::vector<std::unique_ptr<Connection>> connections_;
  std::vector<net::ClientReceiver*> receivers_;  // none: only the chosen one is used
  bool has_chosen_ = false;
  std::size_t chosen_;  // the current or last one; the next one follows it
  SteadyTime chosen_at_{};
  bool leaving_ = false;
  bool has_served_ = false;             // the chosen one, since it was chosen
  bool was_sent_ = false;               // redirected by the chosen one
  int times_sent_ = 0;                  // since one served
  std::optional<std::size_t> sent_to_;  // the target of the redirect
};

}  // namespace carillon::tasktracker
