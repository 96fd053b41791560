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

// Where a job tracker may be found.
struct TrackerAddress {
  std::string endpoint{};
  std::unique_ptr<net::ClientTransport> transport{};
};

// The one job tracker that a worker works for, at whichever of several addresses it is: the first
// that can be reached, until that connection is lost or the tracker there does not serve; then the
// next. All addresses stay connected, so that the way to the next is short and a mistake in one is
// said at the start; but only one is spoken with, and what the others say is not heard, until all
// are to be.
//
// Thread: the loop.
class TrackerChoice {
 public:
  // The receiver, which must outlive this, hears of the chosen tracker only; going on to another
  // one is to it like another connection. `addresses`: at least one.
  TrackerChoice(std::vector<TrackerAddress> addresses, net::ClientReceiver& receiver);
  ~TrackerChoice();
  TrackerChoice(const TrackerChoice&) = delete;
  TrackerChoice& operator=(const TrackerChoice&) = delete;

  // A tracker is chosen, and is connected.
  bool is_connected() const;
  // Of the tracker that is or was chosen.
  const std::string& endpoint() const;
  // kUnavailable: none is chosen.
  Status send(std::string frame);

  // The chosen tracker serves.
  void stay() {
    settle();
    has_served_ = true;
    times_sent_ = 0;
  }
  // It does not: the next is to be chosen, once one is connected.
  void leave() { leaving_ = true; }
  // It does not, and says who does: that one is the next, if it is among the addresses; it may be
  // there by another name.
  void leave_for(const std::string& endpoint);

  // From now on each is spoken with and heard for itself; nothing is chosen any more. `receivers`:
  // one an address, in order, which must outlive this; they hear at once that they are connected,
  // but for the chosen one's, which knows.
  void speak_with_all(std::vector<net::ClientReceiver*> receivers);
  std::size_t count() const { return lines_.size(); }
  std::size_t chosen() const { return chosen_; }  // or was
  bool is_connected(std::size_t at) const;
  const std::string& endpoint(std::size_t at) const;
  Status send(std::size_t at, std::string frame);

  // Chooses, if it is time to. To be called at the end of a turn.
  void choose(SteadyTime now);
  // When to call it again, if nothing happens before.
  std::optional<SteadyTime> next_time() const;

 private:
  class Line;

  void settle() {
    leaving_ = false;
    was_sent_ = false;
    sent_to_.reset();
  }
  std::optional<std::size_t> next_connected() const;
  Duration stay_min() const;
  net::ClientReceiver* receiver_of(const Line& line) const;
  void on_frame(const Line& from, std::string_view frame);
  void on_connected(const Line& from);
  void on_disconnected(const Line& from, const std::string& reason);

  net::ClientReceiver& receiver_;
  const Logger log_{"tracker"};
  std::vector<std::unique_ptr<Line>> lines_;
  std::vector<net::ClientReceiver*> receivers_;  // none: only the chosen one is spoken with
  bool has_chosen_ = false;
  std::size_t chosen_;  // or was; the one after it is the next
  SteadyTime chosen_at_{};
  bool leaving_ = false;
  bool has_served_ = false;             // that one, since it was chosen
  bool was_sent_ = false;               // to another one, by the chosen one
  int times_sent_ = 0;                  // since one served
  std::optional<std::size_t> sent_to_;  // that one
};

}  // namespace carillon::tasktracker
