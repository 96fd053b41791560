#include "jobclient/submit/owner_connections.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "shared/job/bucket.h"

namespace carillon {
namespace {

constexpr std::size_t kLinesMax = 64;       // a cluster has no more job trackers
constexpr std::size_t kOwnersMax = 10'000;  // nor more node groups

// The node group of all jobs; empty: there are several.
std::string group_of(const std::vector<JobSpec>& jobs) {
  const bool is_one = std::all_of(jobs.begin(), jobs.end(), [&](const JobSpec& job) {
    return job.group == jobs.front().group;
  });
  return jobs.empty() || !is_one ? std::string{} : jobs.front().group;
}

}  // namespace

std::string part_subject(const std::string& group, std::int32_t parts, const std::string& task_id) {
  if (parts <= 1 || task_id.empty()) return group;
  return group + "/" + std::to_string(part_of_bucket(bucket_of(task_id), parts));
}

class OwnerConnections::Connection final : public net::ClientReceiver {
 public:
  Connection(const Callbacks& callbacks, std::string address,
             std::unique_ptr<net::ClientTransport> transport, SteadyTime opened_at)
      : callbacks_(callbacks),
        address_(std::move(address)),
        transport_(std::move(transport)),
        opened_at_(opened_at) {
    transport_->set_receiver(this);
  }
  ~Connection() override { transport_->set_receiver(nullptr); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void on_frame(std::string_view frame) override { callbacks_.on_frame(address_, frame); }
  void on_connected() override { callbacks_.on_connected(address_); }
  void on_disconnected(const std::string& reason) override { lose(reason); }

  void lose(const std::string& reason) {
    if (!lost_) lost_ = reason;
  }
  const std::optional<std::string>& lost() const { return lost_; }
  bool is_connected() const { return !lost_ && transport_->is_connected(); }
  SteadyTime opened_at() const { return opened_at_; }
  net::ClientTransport& transport() { return *transport_; }

  SteadyTime heard_at{};

 private:
  const Callbacks& callbacks_;
  const std::string address_;
  const std::unique_ptr<net::ClientTransport> transport_;
  const SteadyTime opened_at_;
  std::optional<std::string> lost_{};
};

OwnerConnections::OwnerConnections(MakeTransport make_transport, Duration connect_wait,
                                   Callbacks callbacks)
    : make_transport_(std::move(make_transport)),
      connect_wait_(connect_wait),
      callbacks_(std::move(callbacks)) {}

OwnerConnections::~OwnerConnections() = default;

Status OwnerConnections::open(const std::string& address, SteadyTime now) {
  if (connections_.contains(address)) return {};
  if (connections_.size() >= kLinesMax) {
    return Error{ErrorCode::kLimit, "there are already connections with " +
                                        std::to_string(kLinesMax) + " job trackers"};
  }
  auto transport = CARILLON_TRY(make_transport_(address));
  connections_.emplace(
      address, std::make_unique<Connection>(callbacks_, address, std::move(transport), now));
  return {};
}

bool OwnerConnections::is_connected(const std::string& address) const {
  const auto found = connections_.find(address);
  return found != connections_.end() && found->second->is_connected();
}

Status OwnerConnections::send(const std::string& address, std::string frame) {
  const auto found = connections_.find(address);
  if (found == connections_.end())
    return Error{ErrorCode::kUnavailable, "not connected to " + address};
  return found->second->transport().send(std::move(frame));
}

SteadyTime OwnerConnections::heard_at(const std::string& address) const {
  const auto found = connections_.find(address);
  return found == connections_.end() ? SteadyTime{} : found->second->heard_at;
}

void OwnerConnections::heard(const std::string& address, SteadyTime now) {
  const auto found = connections_.find(address);
  if (found != connections_.end()) found->second->heard_at = now;
}

void OwnerConnections::lose(const std::string& address, const std::string& reason) {
  const auto found = connections_.find(address);
  if (found != connections_.end()) found->second->lose(reason);
}

void OwnerConnections::close_lost(SteadyTime now) {
  std::vector<std::pair<std::string, std::string>> lost;
  for (auto& [address, connection] : connections_) {
    if (!connection->is_connected() && now >= connection->opened_at() + connect_wait_)
      connection->lose("no answer");
    if (connection->lost()) lost.emplace_back(address, *connection->lost());
  }
  for (const auto& [address, reason] : lost) {
    connections_.erase(address);
    std::erase_if(owners_, [&](const auto& one) { return one.second == address; });
  }
  for (const auto& [address, reason] : lost) callbacks_.on_lost(address, reason);
}

std::optional<SteadyTime> OwnerConnections::next_due() const {
  std::optional<SteadyTime> first;
  for (const auto& [address, connection] : connections_) {
    if (connection->is_connected()) continue;
    const SteadyTime due =
        connection->lost() ? SteadyTime{} : connection->opened_at() + connect_wait_;
    if (!first || due < *first) first = due;
  }
  return first;
}

std::string OwnerConnections::subject_of(const wire::Message& message) const {
  const auto part = [this](const std::string& group, const std::string& task_id) {
    const auto found = parts_.find(group);
    return found == parts_.end() ? group : part_subject(group, found->second, task_id);
  };
  if (const auto* submit = std::get_if<wire::Submit>(&message)) {
    const std::string group = group_of(submit->jobs);
    if (!parts_.contains(group)) return group;
    const std::string first = part(group, submit->jobs.front().task_id);
    const bool is_one =
        std::all_of(submit->jobs.begin(), submit->jobs.end(),
                    [&](const JobSpec& job) { return part(group, job.task_id) == first; });
    return is_one ? first : group;
  }
  if (const auto* act = std::get_if<wire::Act>(&message)) return part(act->group, act->task_id);
  if (const auto* query = std::get_if<wire::Query>(&message)) {
    return query->what == "show" ? part(query->group, query->task_id) : query->group;
  }
  // No node group has such a name.
  if (const auto* fetch = std::get_if<wire::FetchFeedback>(&message))
    return "clients " + fetch->client_group;
  return {};
}

void OwnerConnections::learn_parts(const std::string& group, std::int32_t parts) {
  if (!is_parts(parts) || parts_.size() >= kOwnersMax) return;
  parts_[group] = parts;
}

void OwnerConnections::learn(const std::string& subject, const std::string& address) {
  if (subject.empty() || (owners_.size() >= kOwnersMax && !owners_.contains(subject))) return;
  owners_[subject] = address;
}

std::string OwnerConnections::owner_of(const std::string& subject) const {
  const auto found = owners_.find(subject);
  return found == owners_.end() ? std::string{} : found->second;
}

}  // namespace carillon
