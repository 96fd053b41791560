#include "tests/sim/listeners.h"

#include <variant>

namespace carillon::sim {

using jobtracker::LogEntry;
using jobtracker::OutcomeKind;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

const LogEntry* log_of(const jobtracker::Operation& operation) {
  if (const auto* end = std::get_if<jobtracker::End>(&operation)) {
    return end->log ? &*end->log : nullptr;
  }
  if (const auto* change = std::get_if<jobtracker::ChangeWaiting>(&operation)) {
    return change->log ? &*change->log : nullptr;
  }
  return nullptr;
}

}  // namespace

void Listeners::listen(ClientProcess& client) {
  for (const char* const group : kGroups) {
    const auto limit = static_cast<std::int64_t>(1 + cluster_.chance.below(50));
    ask(client, {.client_group = group, .listener = ++last_, .limit = limit});
  }
}

void Listeners::ask(ClientProcess& client, const wire::FetchFeedback& next) {
  client.fetch(next, [this, &client, next](Result<wire::Message> answer) {
    const auto* feedback = answer.ok() ? std::get_if<wire::Feedback>(&answer.value()) : nullptr;
    if (feedback != nullptr) return take(client, next, *feedback);
    if (answer.ok()) broken_(client.name() + " listens, and is answered with something else");
    // Nobody is there: later, with the same acknowledgements.
    client.post_at(client.steady_now() + seconds{1}, [this, &client, next] { ask(client, next); });
  });
}

void Listeners::take(ClientProcess& client, wire::FetchFeedback next,
                     const wire::Feedback& feedback) {
  next.done.clear();
  next.refused = false;
  std::int64_t before = 0;
  for (const wire::FeedbackEntry& result : feedback.results) {
    const std::string name = "the end of job " + std::to_string(result.job_id.value);
    const auto found = stored_.find(result.id);
    if (found == stored_.end() || found->second != next.client_group) {
      broken_(client.name() + " is told of " + name + ", which was not stored for " +
              next.client_group);
    }
    if (result.id <= before) broken_(client.name() + " is told of " + name + " out of order");
    before = result.id;
    next.refused = cluster_.chance.one_in(100);
    if (next.refused) break;
    told_.insert(result.id);
    next.done.push_back(result.id);
  }
  client.post_at(client.steady_now() + cluster_.chance.between(milliseconds{1}, milliseconds{500}),
                 [this, &client, next] { ask(client, next); });
}

void Listeners::committed(const Commit& commit) {
  for (std::size_t i = 0; i < commit.batch.operations.size(); ++i) {
    if (commit.done.outcomes[i].kind != OutcomeKind::kDone) continue;
    const jobtracker::Operation& operation = commit.batch.operations[i];
    if (const LogEntry* log = log_of(operation)) stored(*log);
    const auto* change = std::get_if<jobtracker::ChangeDefinition>(&operation);
    if (change != nullptr && change->voided) {
      LogEntry run = *change->voided;
      for (std::int64_t runs = commit.done.outcomes[i].next; runs > 0; --runs) {
        run.id += jobtracker::kIdStep;
        stored(run);
      }
    }
    if (const auto* removal = std::get_if<jobtracker::RemoveFeedback>(&operation)) {
      removed(*removal);
    }
  }
}

void Listeners::stored(const LogEntry& entry) {
  if (entry.feedback_to.empty()) return;
  if (!entry.final) broken_("clients are to be told of job " + entry.task_id + ", which goes on");
  stored_[entry.id] = entry.feedback_to;
  waits_.emplace(entry.feedback_to, entry.id);
}

void Listeners::removed(const jobtracker::RemoveFeedback& removal) {
  for (const std::int64_t id : removal.ids) {
    if (!told_.contains(id)) broken_("feedback is gone, and nobody was told of it");
    waits_.erase({removal.client_group, id});
  }
}

void Listeners::check_end() const {
  if (waits_.empty()) return;
  broken_(std::to_string(waits_.size()) + " results wait, and nobody is told, the first for " +
          waits_.begin()->first);
}

}  // namespace carillon::sim
