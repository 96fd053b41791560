#include "jobtracker/feedback/feedback_desk.h"

#include <algorithm>
#include <utility>

#include "jobtracker/state/id_source.h"
#include "jobtracker/store/names.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker {

FeedbackDesk::FeedbackDesk(FeedbackConfig config, Catalog& catalog, const Ownership& ownership,
                           Batcher& batcher, Questions& questions, ClientLink& clients,
                           SchedulingClock& clock, const Logger& log)
    : config_(config),
      catalog_(catalog),
      ownership_(ownership),
      batcher_(batcher),
      questions_(questions),
      clients_(clients),
      clock_(clock),
      log_(log) {}

void FeedbackDesk::start(const StartAnswer& found) { counted({.rows = found.feedback}); }

std::int64_t FeedbackDesk::waiting() const {
  std::int64_t rows = 0;
  for (const auto& [client_group, queue] : queues_) {
    if (ownership_.has_client_group(client_group)) rows += queue.count;
  }
  return rows;
}

// ---- feedback that other job trackers stored ----

void FeedbackDesk::count() {
  count_at_ = SteadyTime::max();
  const SteadyTime asked = clock_.steady_now();
  questions_.ask(CountFeedback{}, [this, asked](Result<ReadAnswer> answer) {
    const SteadyTime now = clock_.steady_now();
    const auto took = std::chrono::duration_cast<Duration>(now - asked);
    count_at_ = now + std::max(config_.count, 100 * took);
    if (answer.ok())
      counted(std::get<FeedbackCounts>(answer.value()));  // Otherwise the next count.
  });
}

// Feedback that was stored or removed during the count may make it wrong until the next count.
void FeedbackDesk::counted(const FeedbackCounts& counts) {
  for (auto& [client_group, queue] : queues_) queue.count = 0;
  all_ = 0;
  for (const auto& [client_group, rows] : counts.rows) {
    Queue& queue = queues_[client_group];
    queue.count = rows;
    all_ += rows;
  }
  for (auto& [client_group, queue] : queues_) {
    if (queue.count < config_.group_max && all_ < config_.all_max) queue.was_full = false;
  }
}

// ---- ends of jobs ----

// Most jobs request no feedback.
std::string FeedbackDesk::client_group_of(const WaitingJob& job) const {
  std::optional<JobSpec> own;
  const JobSpec* spec = catalog_.spec_of(job, own, "need_feedback");
  return spec != nullptr && spec->need_feedback ? lower_ascii(spec->client_group) : std::string{};
}

void FeedbackDesk::address(LogEntry& entry, const WaitingJob& job) {
  const std::string client_group = client_group_of(job);
  if (client_group.empty()) return;
  Queue& queue = queues_[client_group];
  if (queue.count < config_.group_max && all_ < config_.all_max) {
    entry.feedback_to = client_group;
    return;
  }
  ++dropped_;
  entry.message = "no feedback: too much is undelivered for client group '" + client_group + "'" +
                  (entry.message.empty() ? "" : "; ") + entry.message;
  if (std::exchange(queue.was_full, true)) return;
  log_.warn("no client takes the feedback of a client group; dropping new feedback", "client_group",
            client_group, "waiting", queue.count);
}

void FeedbackDesk::was_stored(const LogEntry& entry, std::int64_t rows) {
  if (entry.feedback_to.empty() || rows == 0) return;
  queues_[entry.feedback_to].count += rows;
  all_ += rows;
  give(entry.feedback_to);
}

void FeedbackDesk::removed(const std::string& client_group, std::int64_t rows) {
  Queue& queue = queues_[client_group];
  queue.count = std::max<std::int64_t>(queue.count - rows, 0);
  all_ = std::max<std::int64_t>(all_ - rows, 0);
  if (rows > 0) queue.was_full = false;
}

// ---- listeners ----

void FeedbackDesk::fetch(const Asker& asker, wire::FetchFeedback message) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    clients_.answer(asker, wire::ErrorReply{Error{code, why}});
  };
  if (const Status valid = check_group_name(message.client_group); !valid.ok()) {
    return refuse(valid.error().code, "client_group: " + valid.error().message);
  }
  if (message.listener == 0 || message.limit < 0) {
    return refuse(ErrorCode::kInvalidArgument,
                  "a listener needs a number and a limit of 0 or more");
  }
  if (const Status room = batcher_.check_room(); !room.ok()) {
    return refuse(room.error().code, room.error().message);
  }
  const std::string client_group = lower_ascii(message.client_group);
  if (!ownership_.has_client_group(client_group))
    return (void)clients_.answer(asker, ownership_.elsewhere(client_group));
  if (message.done.empty()) return go_on(asker, client_group, message);
  RemoveFeedback removal{.client_group = client_group, .ids = message.done};
  batcher_.post(Urgency::kRequest, std::move(removal),
                [this, asker, client_group, message = std::move(message)](
                    Operation&, const Outcome& outcome, const Error* refused) {
                  if (refused != nullptr) return clients_.answer(asker, wire::ErrorReply{*refused});
                  taken_ += outcome.count;
                  removed(client_group, outcome.count);
                  go_on(asker, client_group, message);
                });
}

// The acknowledged results are removed on disk.
void FeedbackDesk::go_on(const Asker& asker, const std::string& client_group,
                         const wire::FetchFeedback& message) {
  Queue& queue = queues_[client_group];
  const SteadyTime now = clock_.steady_now();
  const auto open = std::find_if(queue.listeners.begin(), queue.listeners.end(),
                                 [&](const Listener& one) { return one.id == message.listener; });
  if (open != queue.listeners.end() && open->asker.correlation == asker.correlation) {
    // Clients repeat an unanswered request each second: that is neither another rejection nor
    // another wait.
    open->asker = asker;
    return;
  }
  if (open != queue.listeners.end()) {
    clients_.answer(open->asker, wire::Feedback{});  // It asks again, or ends.
    queue.listeners.erase(open);
  }
  const bool is_holder = queue.holder == message.listener;
  if (message.limit == 0) {
    if (is_holder) queue.held_until = now + config_.lease;
    // A holder that acknowledges and requests no more has left; otherwise it keeps its turn.
    if (is_holder && !message.done.empty()) queue.holder = 0;
    clients_.answer(asker, wire::Feedback{});
    give(client_group);
    return forget_if_idle(client_group);
  }
  if (is_holder) queue.holder = 0;
  if (message.refused) {
    queue.refuser = message.listener;
    queue.not_before = now + config_.wait;
  } else if (queue.refuser == message.listener) {
    queue.refuser = 0;
  }
  if (listeners() >= config_.listeners_max) {
    clients_.answer(asker, wire::ErrorReply{Error{ErrorCode::kLimit,
                                                  "too many feedback listeners, try again later"}});
    return;
  }
  queue.listeners.push_back({.asker = asker,
                             .id = message.listener,
                             .limit = std::min<std::int64_t>(message.limit, wire::kFeedbackMax),
                             .until = now + config_.patience});
  give(client_group);
}

void FeedbackDesk::give(const std::string& client_group, bool looks) {
  const auto found = queues_.find(client_group);
  if (found == queues_.end()) return;
  Queue& queue = found->second;
  const bool is_open = (queue.count > 0 || looks) && queue.holder == 0 && !queue.is_reading &&
                       !queue.listeners.empty() && clock_.steady_now() >= queue.not_before;
  if (!is_open) return;
  queue.is_reading = true;
  std::int64_t limit = 0;
  for (const Listener& one : queue.listeners) limit = std::max(limit, one.limit);
  // Reads on the store connection, so that acknowledged results are already removed.
  batcher_.ask(ReadFeedback{.client_group = client_group, .limit = limit},
               [this, client_group](Result<ReadAnswer> answer) {
                 queues_[client_group].is_reading = false;
                 if (!answer.ok()) {
                   log_.error("cannot read feedback; retrying", "error", answer.error().message);
                   queues_[client_group].not_before = clock_.steady_now() + config_.wait;
                   return;
                 }
                 give_rows(client_group, std::get<FeedbackAnswer>(answer.value()).entries);
               });
}

// Prefers another listener to the one that has just rejected the result.
void FeedbackDesk::give_rows(const std::string& client_group,
                             const std::vector<LogEntry>& entries) {
  Queue& queue = queues_[client_group];
  // The number is exact here: a read on the store connection follows all earlier writes.
  const auto found = static_cast<std::int64_t>(entries.size());
  if (const std::int64_t missed = found - queue.count; missed > 0 || found == 0) {
    queue.count += missed;
    all_ += missed;
  }
  if (entries.empty() || queue.listeners.empty() || queue.holder != 0) return;
  auto taker = std::find_if(queue.listeners.begin(), queue.listeners.end(),
                            [&](const Listener& one) { return one.id != queue.refuser; });
  if (taker == queue.listeners.end()) taker = queue.listeners.begin();
  wire::Feedback feedback;
  for (const LogEntry& entry : entries) {
    if (static_cast<std::int64_t>(feedback.results.size()) == taker->limit) break;
    feedback.results.push_back(entry_of(entry));
  }
  queue.holder = taker->id;
  queue.held_until = clock_.steady_now() + config_.lease;
  const Asker asker = taker->asker;
  queue.listeners.erase(taker);
  if (clients_.deliver(asker, std::move(feedback))) return;
  queue.holder = 0;  // The listener has left: the next one gets a turn.
  give(client_group);
}

wire::FeedbackEntry FeedbackDesk::entry_of(const LogEntry& entry) const {
  const Group* group = catalog_.whole_of(entry.group);
  return {.id = entry.id,
          .job_id = entry.job_id,
          .task_id = entry.task_id,
          .group = group == nullptr ? std::string{} : group->name,
          .attempt = entry.attempt,
          .state = to_string(entry.state),
          .trigger_time = entry.trigger_time,
          .started_at = entry.started_at,
          .ended_at = entry.ended_at,
          .node = entry.node,
          .exit_code = entry.exit_code,
          .message = entry.message};
}

void FeedbackDesk::run_once() {
  const SteadyTime now = clock_.steady_now();
  std::vector<std::string> groups;
  const bool looks = ownership_.are_several() && now >= look_at_;
  if (looks) look_at_ = now + config_.look;
  if (ownership_.are_several() && now >= count_at_) count();
  for (auto& [client_group, queue] : queues_) {
    if (queue.holder != 0 && now >= queue.held_until) {
      log_.warn("a feedback listener does not answer; its feedback is sent again", "client_group",
                client_group);
      queue.holder = 0;
    }
    while (!queue.listeners.empty() && now >= queue.listeners.front().until) {
      clients_.answer(queue.listeners.front().asker, wire::Feedback{});
      queue.listeners.pop_front();
    }
    groups.push_back(client_group);
  }
  for (const std::string& client_group : groups) {
    give(client_group, looks);
    forget_if_idle(client_group);
  }
}

void FeedbackDesk::purge() {
  const std::int64_t before = IdSource::first_of(clock_.now() - config_.retention);
  for (const auto& [client_group, queue] : queues_) {
    if (queue.count == 0 || !ownership_.has_client_group(client_group)) continue;
    batcher_.post(Urgency::kHousekeeping,
                  RemoveFeedback{.client_group = client_group, .before = before},
                  [this](Operation& operation, const Outcome& outcome, const Error*) {
                    if (outcome.count == 0) return;
                    const auto& removal = std::get<RemoveFeedback>(operation);
                    dropped_ += outcome.count;
                    removed(removal.client_group, outcome.count);
                    log_.warn("dropped feedback that no client fetched", "client_group",
                              removal.client_group, "results", outcome.count);
                  });
  }
}

void FeedbackDesk::forget_if_idle(const std::string& client_group) {
  const auto found = queues_.find(client_group);
  if (found == queues_.end()) return;
  const Queue& queue = found->second;
  const bool is_idle = queue.count == 0 && queue.listeners.empty() && queue.holder == 0 &&
                       !queue.is_reading && clock_.steady_now() >= queue.not_before;
  if (is_idle) queues_.erase(found);
}

std::size_t FeedbackDesk::listeners() const {
  std::size_t all = 0;
  for (const auto& [client_group, queue] : queues_) all += queue.listeners.size();
  return all;
}

}  // namespace carillon::jobtracker
