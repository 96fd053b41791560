#include "jobtracker/store/heartbeat_watch.h"

#include <algorithm>
#include <utility>

namespace carillon::jobtracker {

void HeartbeatWatch::saw(const std::vector<SessionHeartbeat>& heartbeats, SteadyTime asked,
                         SteadyTime answered) {
  const bool is_gap = has_seen_ && answered - answered_ > kLookGapMax;
  std::map<SessionId, Watched> before = std::exchange(sessions_, {});
  for (const SessionHeartbeat& heartbeat : heartbeats)
    sessions_[heartbeat.session].heartbeats.push_back(heartbeat);
  for (auto& [session, now] : sessions_) {
    const auto found = before.find(session);
    const bool is_known = found != before.end();
    const bool is_same = is_known && found->second.heartbeats == now.heartbeats;
    now.has_changed = is_known ? found->second.has_changed || !is_same : has_seen_;
    // The answer shows the state after the request was sent, so the time counts from an answer to a
    // request.
    now.since = is_same ? found->second.since : answered;
    if (is_same && is_gap) now.since = after_gap(now.since, answered);
    now.is_silent = asked - now.since >= silence_;
  }
  has_seen_ = true;
  answered_ = answered;
}

SteadyTime HeartbeatWatch::after_gap(SteadyTime since, SteadyTime answered) const {
  return std::max(since + (answered - answered_), answered - (silence_ - kSilence));
}

bool HeartbeatWatch::are_all_silent() const {
  return std::all_of(sessions_.begin(), sessions_.end(),
                     [](const auto& one) { return one.second.is_silent; });
}

const SessionHeartbeat* HeartbeatWatch::working() const {
  for (const auto& [session, one] : sessions_) {
    if (one.has_changed && !one.is_silent) return &one.heartbeats.front();
  }
  return nullptr;
}

bool HeartbeatWatch::is_settled() const { return quiet().empty(); }

bool HeartbeatWatch::is_silent(SessionId session) const {
  const auto found = sessions_.find(session);
  return found != sessions_.end() && found->second.is_silent;
}

std::vector<SessionHeartbeat> HeartbeatWatch::quiet() const {
  std::vector<SessionHeartbeat> all;
  for (const auto& [session, one] : sessions_) {
    if (!one.is_silent && !one.has_changed) all.push_back(one.heartbeats.front());
  }
  return all;
}

std::vector<SessionHeartbeat> HeartbeatWatch::silent_heartbeats() const {
  std::vector<SessionHeartbeat> all;
  for (const auto& [session, one] : sessions_) {
    if (one.is_silent) all.insert(all.end(), one.heartbeats.begin(), one.heartbeats.end());
  }
  return all;
}

}  // namespace carillon::jobtracker
