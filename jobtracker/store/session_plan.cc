#include "jobtracker/store/session_plan.h"

#include <algorithm>

namespace carillon::jobtracker {
namespace {

std::map<SessionId, std::vector<SessionHeartbeat>> leaving(
    const std::vector<ConnectionNote>& connections, const StoreSession& session,
    const SessionPlan& plan) {
  std::map<SessionId, std::vector<SessionHeartbeat>> all;
  for (const ConnectionNote& connection : connections) {
    const SessionId one = connection.heartbeat.session;
    const bool is_silent = !plan.silent || std::any_of(plan.silent->begin(), plan.silent->end(),
                                                       [&](const SessionHeartbeat& heartbeat) {
                                                         return heartbeat.session == one;
                                                       });
    if (one != session.session && (is_silent || connection.has_ended || one == plan.before)) {
      all[one].push_back(connection.heartbeat);
    }
  }
  return all;
}

std::optional<std::int32_t> free_number(const std::vector<ConnectionNote>& connections,
                                        const SessionBeginning& beginning, SessionId us) {
  Partitions taken;
  for (const ConnectionNote& connection : connections) {
    if (connection.heartbeat.session != us &&
        !beginning.leaving.contains(connection.heartbeat.session)) {
      taken.set(static_cast<std::size_t>(connection.number % kPartitions));
    }
  }
  for (std::int32_t number = 0; number < kPartitions; ++number) {
    if (!taken.test(static_cast<std::size_t>(number))) return number;
  }
  return std::nullopt;
}

// Partitions without a live owner become ours if wanted, otherwise free.
void take_partitions(const std::vector<ConnectionNote>& connections,
                     const PartitionNotes& partitions, const StoreSession& session,
                     const SessionPlan& plan, SessionBeginning& beginning) {
  SessionStart& start = beginning.start;
  std::map<SessionId, const ConnectionNote*> owners;  // their store connections that commit
  WallTime last_of_all{};
  for (const ConnectionNote& connection : connections) {
    if (connection.heartbeat.connection == kHeartbeatConnection ||
        connection.heartbeat.session == session.session)
      continue;
    owners[connection.heartbeat.session] = &connection;
    const bool counts = connection.alive_before == WallTime{} && connection.heartbeat.batch > 0;
    last_of_all = std::max(last_of_all, counts ? connection.heartbeat.at : connection.alive_before);
  }
  for (std::int32_t partition = 0; partition < kPartitions; ++partition) {
    const auto found = partitions.find(partition);
    // A store of an older version has none.
    PartitionNote now =
        found == partitions.end() ? PartitionNote{.alive_before = last_of_all} : found->second;
    const auto owner = owners.find(now.owner);
    const bool lives = owner != owners.end() && !beginning.leaving.contains(now.owner);
    if (lives && found != partitions.end()) continue;
    // Its last time counts, even if its predecessor's clock was ahead. A session that was still
    // recovering does not hide earlier missed fires.
    if (owner != owners.end() && owner->second->heartbeat.batch > 0) {
      const WallTime word = owner->second->heartbeat.at;
      const bool has_recovered = owner->second->alive_before == WallTime{};
      now.alive_before = has_recovered ? word : std::min(now.alive_before, word);
    }
    const bool is_ours = plan.wanted.test(static_cast<std::size_t>(partition));
    now.owner = is_ours ? session.session : SessionId{};
    beginning.noted[partition] = now;
    if (!is_ours) continue;
    start.epochs[partition] = ++beginning.noted[partition].epoch;
    start.owned.set(static_cast<std::size_t>(partition));
    start.last_alive_of[partition] = now.alive_before;
    start.last_alive = std::max(start.last_alive, now.alive_before);
  }
}

// The session's own row, if it is stored, was not fenced, and has done nothing yet: the connection
// broke during the COMMIT that started it.
const ConnectionNote* find_begun(const std::vector<ConnectionNote>& connections,
                                 const StoreSession& session) {
  const auto found =
      std::find_if(connections.begin(), connections.end(), [&](const ConnectionNote& connection) {
        return connection.heartbeat.session == session.session &&
               connection.heartbeat.connection == session.connection;
      });
  const bool has_begun =
      found != connections.end() && !found->has_ended && found->heartbeat.batch == 0;
  return has_begun ? &*found : nullptr;
}

// As it started.
SessionStart start_of(const ConnectionNote& begun, const PartitionNotes& partitions) {
  SessionStart start{.id_high = begun.id_high, .number = begun.number, .lease = begun.lease};
  for (const auto& [partition, note] : partitions) {
    if (note.owner != begun.heartbeat.session) continue;
    start.epochs[partition] = note.epoch;
    start.owned.set(static_cast<std::size_t>(partition));
    start.last_alive_of[partition] = note.alive_before;
    start.last_alive = std::max(start.last_alive, note.alive_before);
  }
  return start;
}

}  // namespace

Result<SessionBeginning> plan_beginning(const std::vector<ConnectionNote>& connections,
                                        const PartitionNotes& partitions,
                                        const StoreSession& session, const SessionPlan& plan) {
  const ConnectionNote* begun = find_begun(connections, session);
  if (plan.silent && begun != nullptr) {
    return SessionBeginning{.start = start_of(*begun, partitions)};
  }
  SessionBeginning beginning{.leaving = leaving(connections, session, plan)};
  if (plan.before && !beginning.leaving.contains(plan.before)) {
    return fenced_error({.session = plan.before, .name = session.name});
  }
  const auto number = free_number(connections, beginning, session.session);
  if (!number) {
    return Error{ErrorCode::kInvalidArgument, "the store has " + std::to_string(kPartitions) +
                                                  " job trackers, which is the maximum (stop one)"};
  }
  beginning.start.number = *number;
  beginning.start.lease = session.lease;
  for (const ConnectionNote& connection : connections) {
    beginning.start.id_high = std::max(beginning.start.id_high, connection.id_high);
    // Also of live sessions: free partitions may have been theirs just now.
    if (connection.heartbeat.connection != kHeartbeatConnection)
      beginning.start.lease = std::max(beginning.start.lease, connection.lease);
  }
  take_partitions(connections, partitions, session, plan, beginning);
  return beginning;
}

bool are_as_watched(const SessionBeginning& beginning, const SessionPlan& plan) {
  if (!plan.silent) return true;
  return std::all_of(plan.silent->begin(), plan.silent->end(),
                     [&](const SessionHeartbeat& heartbeat) {
                       const auto found = beginning.leaving.find(heartbeat.session);
                       return found == beginning.leaving.end() ||
                              std::find(found->second.begin(), found->second.end(), heartbeat) !=
                                  found->second.end();
                     });
}

void keep_owned(StartAnswer& start) {
  if (start.owned.all()) return;
  const auto is_others = [&](GroupId group) { return !has_group(start.owned, group); };
  std::erase_if(start.executing, [&](const ExecutingJob& one) { return is_others(one.job.group); });
  std::erase_if(start.retries, [&](const WaitingJob& one) { return is_others(one.group); });
  std::erase_if(start.push_runs, [&](const PushRun& one) { return is_others(one.group); });
  std::erase_if(start.routes, [&](const RouteRow& one) { return is_others(one.group); });
}

Error fenced_error(const StoreSession& session) {
  return {ErrorCode::kDenied, "session " + std::to_string(session.session.value) +
                                  " of job tracker '" + session.name +
                                  "' was fenced: another job tracker took over"};
}

}  // namespace carillon::jobtracker
