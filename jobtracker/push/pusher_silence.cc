#include <algorithm>
#include <utility>

#include "jobtracker/push/pusher.h"
#include "shared/base/time_text.h"

// Heartbeats to executors: while they have runs, and when they may have left.
namespace carillon::jobtracker {
namespace {

constexpr Duration kBeatLeast = std::chrono::milliseconds{50};  // between two heartbeats

// "http://HOST:PORT" of an address, as in on_hang_up().
std::string server_of(const std::string& address) {
  const std::size_t host = address.find("://") + 3;
  std::string server = address.substr(0, address.find('/', host));
  const std::size_t bracket = server.find(']', host);  // in an IPv6 address
  const bool has_port = server.find(':', bracket == server.npos ? host : bracket) != server.npos;
  if (!has_port) server += address.starts_with("https:") ? ":443" : ":80";
  return server;
}

}  // namespace

void Pusher::beat(SteadyTime now) {
  beaten_at_ = now;
  std::set<Place> places;
  for (const Place& place : health_.unreachable()) {
    if (ownership_.has(place.first)) places.insert(place);
  }
  for (const auto& [log_id, run] : runs_) {
    if (run.phase == Phase::kRunning) places.emplace(run.row.group, run.row.address);
  }
  for (const Place& place : places) (void)ask_whether_there(place);
}

// An idle connection was closed: checks the executor immediately, because a restarted one may be
// back soon.
void Pusher::on_hang_up(const std::string& server) {
  hung_up_.insert(server);
  const SteadyTime now = clock_.steady_now();
  if (now - beaten_at_ < kBeatLeast) {
    beaten_at_ = SteadyTime{};
  } else {
    beat(now);
  }
}

// Checks new executors, and those whose connection was closed: this detects a dead executor without
// runs.
void Pusher::ask_who_may_be_gone() {
  const std::set<std::string> servers = std::exchange(hung_up_, {});
  for (const GroupId group : executors_.groups()) {
    if (!ownership_.has(group)) continue;
    for (const std::string& address : executors_.addresses(group)) {
      const Place place{group, address};
      const bool is_new = !asked_.contains(place);
      const bool may_be_gone = !servers.empty() && servers.contains(server_of(address));
      if (!is_new && !may_be_gone) continue;
      if (ask_whether_there(place)) asked_.insert(place);
    }
  }
}

bool Pusher::ask_whether_there(const Place& place) {
  return post({.kind = Call::Kind::kThere, .group = place.first, .address = place.second}, "beat",
              "{}");
}

// ---- silent executors ----

// Only heartbeats count: they continue while the executor has runs. Runs at a closed port are lost
// sooner.
void Pusher::note_silence(const Call& call, const net::PostOutcome& outcome) {
  if (outcome.is_refused) return hear(call.place());
  if (call.kind != Call::Kind::kThere) return;
  if (silence_.miss(call.place(), clock_.steady_now()))
    log_.warn("an executor with runs is silent: it neither registers nor answers heartbeats",
              "address", call.address, "runs_lost_after", format_duration(config_.silence));
}

void Pusher::hear(const Place& place) {
  if (silence_.hear(place)) log_.info("an executor is no longer silent", "address", place.second);
}

// Its executor has been silent for too long, and has had the run for that time.
bool Pusher::is_given_up(const Run& run, SteadyTime now) const {
  const auto since = silence_.since({run.row.group, run.row.address});
  return since && now - std::max(*since, run.since) >= config_.silence;
}

}  // namespace carillon::jobtracker
