#include "tasktracker/tracker_choice.h"

#include <utility>

#include "shared/base/assert.h"

namespace carillon::tasktracker {
namespace {

// Shortest time at a job tracker that is connected and does not serve, to avoid a busy loop.
constexpr Duration kStayMin = std::chrono::seconds{1};
// The same for a redirect back and forth. A few times it is shorter, because a rebalance may be in
// progress of which one job tracker does not know yet; also after a job tracker has served.
constexpr Duration kSentMin = std::chrono::milliseconds{100};
constexpr Duration kSentSoon = std::chrono::milliseconds{15};
constexpr int kSentSoonTimes = 10;

}  // namespace

// The connection to one address.
class TrackerChoice::Connection final : public net::ClientReceiver {
 public:
  Connection(TrackerChoice& choice, TrackerAddress address)
      : choice_(choice), address_(std::move(address)) {
    address_.transport->set_receiver(this);
  }
  ~Connection() override { address_.transport->set_receiver(nullptr); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void on_frame(std::string_view frame) override { choice_.on_frame(*this, frame); }
  void on_connected() override {
    said_away_ = false;
    choice_.on_connected(*this);
  }
  void on_disconnected(const std::string& reason) override {
    if (reason.starts_with("access denied")) {
      choice_.log_.error("access denied; retrying", "tracker", address_.endpoint, "reason", reason);
    } else if (!said_away_) {
      choice_.log_.warn("cannot reach the job tracker; retrying", "tracker", address_.endpoint,
                        "reason", reason);
    }
    said_away_ = true;
    choice_.on_disconnected(*this, reason);
  }

  const std::string& endpoint() const { return address_.endpoint; }
  net::ClientTransport& transport() const { return *address_.transport; }

 private:
  TrackerChoice& choice_;
  const TrackerAddress address_;
  bool said_away_ = false;  // since the last connection
};

TrackerChoice::TrackerChoice(std::vector<TrackerAddress> addresses, net::ClientReceiver& receiver)
    : receiver_(receiver), chosen_(addresses.size() - 1) {
  CARILLON_ASSERT(!addresses.empty(), "a worker has an address to look for its tracker at");
  for (TrackerAddress& address : addresses) {
    connections_.push_back(std::make_unique<Connection>(*this, std::move(address)));
  }
}

TrackerChoice::~TrackerChoice() = default;

bool TrackerChoice::is_connected() const {
  return has_chosen_ && connections_[chosen_]->transport().is_connected();
}

const std::string& TrackerChoice::endpoint() const { return connections_[chosen_]->endpoint(); }

Status TrackerChoice::send(std::string frame) {
  if (!has_chosen_) return Error{ErrorCode::kUnavailable, "not connected to any job tracker"};
  return connections_[chosen_]->transport().send(std::move(frame));
}

void TrackerChoice::speak_with_all(std::vector<net::ClientReceiver*> receivers) {
  CARILLON_ASSERT(receivers.size() == connections_.size(), "each address has a receiver");
  receivers_ = std::move(receivers);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    const bool knows = has_chosen_ && i == chosen_;
    if (!knows && is_connected(i)) receivers_[i]->on_connected();
  }
}

bool TrackerChoice::is_connected(std::size_t at) const {
  return connections_[at]->transport().is_connected();
}

const std::string& TrackerChoice::endpoint(std::size_t at) const {
  return connections_[at]->endpoint();
}

Status TrackerChoice::send(std::size_t at, std::string frame) {
  return connections_[at]->transport().send(std::move(frame));
}

// Null: its messages are ignored.
net::ClientReceiver* TrackerChoice::receiver_of(const Connection& connection) const {
  if (receivers_.empty()) {
    return has_chosen_ && &connection == connections_[chosen_].get() ? &receiver_ : nullptr;
  }
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (connections_[i].get() == &connection) return receivers_[i];
  }
  return nullptr;
}

void TrackerChoice::on_frame(const Connection& from, std::string_view frame) {
  if (net::ClientReceiver* receiver = receiver_of(from)) receiver->on_frame(frame);
}

void TrackerChoice::on_connected(const Connection& from) {
  if (!receivers_.empty()) receiver_of(from)->on_connected();
}

void TrackerChoice::on_disconnected(const Connection& from, const std::string& reason) {
  if (!receivers_.empty()) return receiver_of(from)->on_disconnected(reason);
  if (!has_chosen_ || &from != connections_[chosen_].get()) return;
  has_chosen_ = false;
  receiver_.on_disconnected(reason);
}

void TrackerChoice::leave_for(const std::string& endpoint) {
  leaving_ = true;
  was_sent_ = true;
  sent_to_.reset();
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    if (connections_[i]->endpoint() == endpoint && (!has_chosen_ || i != chosen_)) sent_to_ = i;
  }
}

// A lost connection comes last; one that is left is not the next.
std::optional<std::size_t> TrackerChoice::next_connected() const {
  if (sent_to_ && connections_[*sent_to_]->transport().is_connected()) return sent_to_;
  const std::size_t others = connections_.size() - 1;
  for (std::size_t i = 1; i <= others + (has_chosen_ ? 0 : 1); ++i) {
    const std::size_t next = (chosen_ + i) % connections_.size();
    if (connections_[next]->transport().is_connected()) return next;
  }
  return std::nullopt;
}

void TrackerChoice::choose(SteadyTime now) {
  if (!receivers_.empty()) return;
  if (has_chosen_ && (!leaving_ || now < chosen_at_ + stay_min())) return;
  const std::optional<std::size_t> next = next_connected();
  if (!next) return;
  chosen_ = *next;
  has_chosen_ = true;
  chosen_at_ = now;
  has_served_ = false;
  if (was_sent_) ++times_sent_;
  settle();
  receiver_.on_connected();
}

std::optional<SteadyTime> TrackerChoice::next_time() const {
  if (!receivers_.empty() || !has_chosen_ || !leaving_ || !next_connected()) return std::nullopt;
  return chosen_at_ + stay_min();
}

Duration TrackerChoice::stay_min() const {
  if (!was_sent_ && !has_served_ && times_sent_ == 0) return kStayMin;
  return times_sent_ < kSentSoonTimes ? kSentSoon : kSentMin;
}

}  // namespace carillon::tasktracker
