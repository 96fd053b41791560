// Messages of task trackers to a job tracker.
#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <utility>

#include "jobtracker/job_tracker.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kNameBytesMax = 200;
constexpr std::size_t kLabelsMax = 64;
constexpr std::int32_t kThreadsMax = 65'536;
constexpr std::int64_t kAttemptsMax = 1'000;  // of a job that are searched for one

Error wrong(const std::string& problem) { return {ErrorCode::kInvalidArgument, problem}; }

Status check_line(const std::string& field, const std::string& text) {
  if (text.size() > kNameBytesMax) {
    return wrong(field + " has " + std::to_string(text.size()) + " bytes, at most " +
                 std::to_string(kNameBytesMax));
  }
  if (is_printable_utf8(text)) return {};
  return wrong(field + " must be UTF-8 text without control characters");
}

// Sessions below 0 are those of executor groups.
Status check(SessionId session, const std::string& field) {
  if (session.value > 0) return {};
  return wrong(field + " is " + std::to_string(session.value) + ", must be above 0");
}

Status check(const wire::Register& message) {
  CARILLON_TRY(check(message.session, "Register.session"));
  if (message.name.empty()) return wrong("Register.name is empty");
  CARILLON_TRY(check_line("Register.name", message.name));
  CARILLON_TRY(check_line("Register.address", message.address));
  CARILLON_TRY(check_line("Register.version", message.version));
  if (message.threads < 1 || message.threads > kThreadsMax) {
    return wrong("Register.threads is " + std::to_string(message.threads) + ", must be 1 to " +
                 std::to_string(kThreadsMax));
  }
  if (message.labels.size() > kLabelsMax) {
    return wrong("Register.labels has " + std::to_string(message.labels.size()) +
                 " elements, at most " + std::to_string(kLabelsMax));
  }
  for (const auto& [key, value] : message.labels) {
    CARILLON_TRY(check_line("a label in Register.labels", key + "=" + value));
  }
  return {};
}

// Whether a rejected operation may succeed later.
bool may_be_stored_later(const Error& error) {
  return error.code == ErrorCode::kLimit || error.code == ErrorCode::kUnavailable ||
         error.code == ErrorCode::kTimeout;
}

wire::ErrorReply unknown_session(SessionId session) {
  return {
      {ErrorCode::kNotFound, "session " + std::to_string(session.value) + " is unknown, register"}};
}

Error unproven_error() {
  return {ErrorCode::kUnavailable,
          "the job tracker cannot reach its store; another one may have taken over"};
}

}  // namespace

// Reports for partitions of other owners are left to them.
void JobTracker::leave_others(const Worker& worker, wire::Report& report) const {
  if (catalog_.parts(worker.group) == 1) return;
  std::erase_if(report.results, [&](const wire::RunResult& result) {
    const bool is_said = result.bucket >= 0 && result.bucket < kBuckets;
    return is_said && !ownership_.has(catalog_.part(worker.group, result.bucket));
  });
}

Worker* JobTracker::worker_of(const Asker& asker, SessionId session) {
  if (const Status checked = check(session, "session"); !checked.ok()) {
    answer(asker, wire::ErrorReply{checked.error()});
    return nullptr;
  }
  Worker* worker = workers_.find(session);
  if (worker == nullptr) {
    recovery_.heard(session);
    answer(asker, unknown_session(session));
    return nullptr;
  }
  if (!is_foreign(asker, *worker)) return worker;
  // As above: its task tracker lives, and may have another connection by now.
  worker->heard_at = clock_.steady_now();
  return nullptr;
}

// Only the connection that registered a session speaks for it. The answer is that to an unknown
// session: a task tracker on a new connection registers, and others learn nothing.
bool JobTracker::is_foreign(const Asker& asker, const Worker& worker) {
  if (asker.peer == worker.peer) return false;
  count_foreign(worker.name);
  answer(asker, unknown_session(worker.session));
  return true;
}

void JobTracker::count_foreign(const std::string& node) {
  // Logs only some: a client that keeps trying must not fill the log.
  if (!std::has_single_bit(static_cast<std::uint64_t>(++foreign_frames_))) return;
  log_.warn("refused a message about the runs of another task tracker", "node", node,
            "refused_so_far", foreign_frames_);
}

void JobTracker::on_register(const Asker& asker, wire::Register message) {
  const Status checked = check(message);
  if (!checked.ok()) return answer(asker, wire::ErrorReply{checked.error()});
  const std::string name = message.group;
  with_group(name, [this, asker, message = std::move(message)](Result<const Group*> group) {
    if (!group.ok()) return answer(asker, wire::ErrorReply{group.error()});
    const auto parts = catalog_.parts_of(group.value()->id);
    if (std::none_of(parts.begin(), parts.end(), [this](GroupId id) { return ownership_.has(id); }))
      return answer(asker, ownership_.elsewhere(parts.front(), catalog_.parts(parts.front())));
    if (may_be_fenced()) {
      Worker* before = workers_.find(message.session);
      if (before != nullptr && before->is_newer(message)) {
        // A registering task tracker has dropped its pulls, and is alive.
        before->forget_pulls();
        before->registered = message.number;
        before->heard_at = clock_.steady_now();
      }
      recovery_.heard(message.session);
      return answer(asker, wire::ErrorReply{unproven_error()});
    }
    register_worker(asker, message, *group.value());
  });
}

void JobTracker::register_worker(const Asker& asker, const wire::Register& message,
                                 const Group& group) {
  Worker worker{
      .session = message.session, .peer = asker.peer, .name = message.name, .group = group.id};
  wire::Registered registered{.lease = config_.recovery.lease,
                              .pull_interval = config_.pull_interval,
                              .tracker_session = session_.value};
  const auto parts = catalog_.parts_of(group.id);
  if (parts.size() > 1) registered.parts = static_cast<std::int32_t>(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (!ownership_.has(parts[i])) continue;
    worker.parts.push_back(parts[i]);
    if (parts.size() == 1) continue;
    registered.owned.push_back(
        {.part = static_cast<std::int32_t>(i), .epoch = ownership_.epoch(parts[i])});
  }
  worker.address = message.address;
  worker.threads = message.threads;
  worker.kinds = RunKinds::of(message.allow);
  worker.labels = message.labels;
  worker.version = message.version;
  worker.waits = message.waits;
  worker.is_isolated = dispatcher_.is_isolated(message.session);
  worker.heard_at = clock_.steady_now();
  worker.registered = message.number;
  worker.pulls_before = message.pulls;
  worker.started_at = clock_.now();
  // Ids grow, also across restarts of the job tracker, and faster than hand-out numbers: so a
  // worker's "seen" never covers a new hand-out, and a new one never looks like a repetition.
  worker.handout_last = ids_.next(clock_.now());
  // It lists the jobs that it received before it registered; others are requeued.
  std::int64_t handout_seen = worker.handout_last;
  if (const Worker* before = workers_.find(message.session)) {
    // An outdated or repeated list is ignored.
    if (!before->is_newer(message)) return;
    worker.started_at = before->started_at;
    worker.handout_last = before->handout_last;
    worker.handed_at = before->handed_at;
    worker.overload = before->overload;
    worker.is_draining = before->is_draining;
    worker.is_drained = before->is_drained;
    handout_seen = before->handout_last;
    if (before->peer == asker.peer) {
      // The connection is the same, so a hand-out may have crossed this message: the pulls will
      // show it.
      handout_seen = before->handout_seen;
      worker.pull = before->pull;
      worker.handout_seen = before->handout_seen;
      worker.unseen = before->unseen;
      worker.unseen_jobs = before->unseen_jobs;
    }
  } else {
    log_.info("a task tracker connected", "node", message.name, "group", group.name, "threads",
              message.threads);
  }
  // Claims for it may be pending since before it was declared dead.
  for (const JobId id : executing_.of_session(message.session)) {
    const Phase phase = executing_.find(id)->phase;
    if (phase == Phase::kClaiming || phase == Phase::kHeld) ++worker.reserved;
  }
  leaving_.erase(message.session);  // It will sign off again.
  Worker& registered_worker = workers_.put(std::move(worker));
  answer(asker, std::move(registered));
  // For a group in partitions, hand-outs of an earlier owner may have arrived since this was sent:
  // the task tracker works with several job trackers. Its pulls will show it.
  if (parts.size() > 1) handout_seen = -1;
  recovery_.reconcile(registered_worker, handout_seen, 0, message.holding);
  stops_.stop_again(message.holding);
  stops_.stop_stale(registered_worker, message.holding);
  put_node(registered_worker, true);
  for (const GroupId part : registered_worker.parts) dispatcher_.touch(part);
}

void JobTracker::put_node(const Worker& worker, bool alive) {
  NodeRow row{.session = worker.session,
              .name = worker.name,
              .group = worker.group,
              .address = worker.address,
              .threads = worker.threads};
  row.started_at = worker.started_at;
  row.last_seen = clock_.now();
  row.alive = alive;
  catalog_.mark_served(worker.group);
  put_node(std::move(row));
}

void JobTracker::put_node(NodeRow row) {
  batcher_.post(Urgency::kHousekeeping, PutNode{.node = std::move(row)},
                [](Operation&, const Outcome&, const Error*) {});
}

// A task tracker that died without jobs while its group had no owner was never reported dead: it is
// detected because it did not register. For a group in partitions it may have registered with
// another job tracker.
void JobTracker::mark_gone() {
  has_marked_gone_ = true;
  batcher_.ask(ListNodes{}, [this](Result<ReadAnswer> answer) {
    if (!answer.ok())
      return log_.warn("cannot determine which task trackers have left", "error",
                       answer.error().message);
    for (NodeRow& node : std::get<NodesAnswer>(answer.value()).nodes) {
      const bool is_ours = ownership_.has(node.group) && catalog_.parts(node.group) == 1;
      if (!node.alive || !is_ours || workers_.find(node.session) != nullptr) continue;
      node.alive = false;
      put_node(std::move(node));
    }
  });
}

void JobTracker::on_pull(const Asker& asker, const wire::Pull& message) {
  Worker* worker = worker_of(asker, message.session);
  if (worker == nullptr) return;
  if (message.window < 0) {
    return answer(asker, wire::ErrorReply{wrong("Pull.window is " + std::to_string(message.window) +
                                                ", must be 0 or more")});
  }
  if (const Status overload = check_line("Pull.overload", message.overload); !overload.ok())
    return answer(asker, wire::ErrorReply{overload.error()});
  worker->heard_at = clock_.steady_now();
  const bool is_first = !worker->has_asked();
  const bool is_newest = worker->take_pull(message);
  if (is_first) dispatcher_.send_held(worker->session);
  worker->forget_unseen(clock_.steady_now() - 2 * config_.recovery.lease, message.answered);
  // Its request counts, but it gets no lease.
  if (may_be_fenced()) return answer(asker, wire::ErrorReply{unproven_error()});
  answer(asker, wire::Pulled{.number = message.number});
  if (!is_newest) return;
  if (message.holding) {
    recovery_.reconcile(*worker, message.handout_seen, message.answered, *message.holding);
    stops_.stop_stale(*worker, *message.holding);
  }
  for (const GroupId part : worker->parts) dispatcher_.touch(part);
}

// Whether another session than this one executes the attempt.
bool JobTracker::is_of_other(const wire::AttemptId& id, SessionId session) {
  const Executing* run = executing_.find(id.job_id);
  return run != nullptr && run->row.job.attempt == id.attempt && run->row.session != session;
}

void JobTracker::on_output(const Asker& asker, wire::Output message) {
  const Worker* worker = worker_of(asker, message.session);
  if (worker == nullptr) return;
  if (message.chunks.empty() || batcher_.is_full())
    return answer(asker, wire::OutputTaken{.chunks = 0});
  for (std::size_t i = 0; i < message.chunks.size(); ++i) {
    if (message.chunks[i].sequence >= 1) continue;
    return answer(asker, wire::ErrorReply{wrong(
                             "Output.chunks[" + std::to_string(i) + "].sequence is " +
                             std::to_string(message.chunks[i].sequence) + ", must be 1 or more")});
  }
  const SessionId ran_in = message.origin ? message.origin : message.session;
  for (std::size_t i = 0; i < message.chunks.size(); ++i) {
    if (!is_of_other(message.chunks[i].id, ran_in)) continue;
    count_foreign(worker->name);
    return answer(asker, wire::ErrorReply{wrong("Output.chunks[" + std::to_string(i) +
                                                "].id is a run of another task tracker")});
  }
  // One at a time: a resend of output that is being stored would be stored twice.
  if (!output_under_way_.insert(message.session).second) return;
  std::set<wire::AttemptId> late;
  for (const wire::OutputChunk& chunk : message.chunks) {
    const Executing* run = executing_.find(chunk.id.job_id);
    if (run == nullptr || run->row.job.attempt != chunk.id.attempt) late.insert(chunk.id);
  }
  const OutputSource source{.asker = asker,
                            .session = message.session,
                            .node = worker->name,
                            .group = worker->group,
                            .chunks = static_cast<std::int64_t>(message.chunks.size())};
  check_late_output(source, std::move(message.chunks), {late.begin(), late.end()});
}

// Output of runs that do not execute here is stored if they have ended at this task tracker.
void JobTracker::check_late_output(const OutputSource& source,
                                   std::vector<wire::OutputChunk> chunks,
                                   std::vector<wire::AttemptId> late) {
  if (late.empty()) return store_output(source, std::move(chunks));
  const wire::AttemptId id = late.back();
  late.pop_back();
  questions_.ask(ListHistory{.job_id = id.job_id, .limit = kAttemptsMax},
                 [this, source, id, chunks = std::move(chunks),
                  late = std::move(late)](Result<ReadAnswer> answer) mutable {
                   if (!answer.ok()) {
                     output_under_way_.erase(source.session);
                     return this->answer(source.asker, wire::OutputTaken{.chunks = 0});
                   }
                   const auto& entries = std::get<HistoryAnswer>(answer.value()).entries;
                   const bool has_ended_there =
                       std::any_of(entries.begin(), entries.end(), [&](const LogEntry& entry) {
                         return entry.attempt == id.attempt && entry.node == source.node &&
                                catalog_.whole_of(entry.group) == catalog_.whole_of(source.group);
                       });
                   if (!has_ended_there) {
                     count_foreign(source.node);
                     std::erase_if(chunks, [&](const auto& chunk) { return chunk.id == id; });
                     return check_late_output(source, std::move(chunks), std::move(late));
                   }
                   check_late_output(source, std::move(chunks), std::move(late));
                 });
}

void JobTracker::store_output(const OutputSource& source, std::vector<wire::OutputChunk> chunks) {
  std::vector<Operation> rows;
  rows.reserve(chunks.size());
  for (wire::OutputChunk& chunk : chunks) {
    rows.emplace_back(AddOutput{.row = {.job_id = chunk.id.job_id,
                                        .attempt = chunk.id.attempt,
                                        .sequence = chunk.sequence,
                                        .stream = static_cast<int>(chunk.stream),
                                        .at = chunk.at,
                                        .bytes = std::move(chunk.bytes)}});
  }
  if (rows.empty()) {
    output_under_way_.erase(source.session);
    return answer(source.asker, wire::OutputTaken{.chunks = source.chunks});
  }
  batcher_.post_unit(Urgency::kRequest, std::move(rows),
                     [this, source](std::vector<Operation>& done, const std::vector<Outcome>&,
                                    const Error* refused) {
                       output_under_way_.erase(source.session);
                       if (refused == nullptr) watch_output(source.group, done);
                       // Output that can never be stored is dropped: it would block later output
                       // forever.
                       if (refused != nullptr && may_be_stored_later(*refused))
                         return answer(source.asker, wire::OutputTaken{.chunks = 0});
                       if (refused != nullptr)
                         log_.error("cannot store output", "error", refused->message);
                       answer(source.asker, wire::OutputTaken{.chunks = source.chunks});
                     });
}

void JobTracker::watch_output(GroupId group, const std::vector<Operation>& stored) {
  if (!alarms_.watches_output(group)) return;
  for (const Operation& one : stored) {
    const OutputRow& row = std::get<AddOutput>(one).row;
    const Executing* run = executing_.find(row.job_id);
    alarms_.wrote(group, run == nullptr ? "a run that has ended" : run->row.job.task_id, row);
  }
}

// A task tracker that this session does not know may have been known to the previous one, which had
// claimed jobs for it. Its sign-off is confirmed only after these jobs are requeued. Otherwise, if
// this session ended, the next session or another owner would wait for it and record the jobs as
// lost.
void JobTracker::on_bye(const Asker& asker, const wire::Bye& message) {
  const Status checked = check(message.session, "Bye.session");
  if (!checked.ok()) return answer(asker, wire::ErrorReply{checked.error()});
  if (const Worker* worker = workers_.find(message.session)) {
    if (is_foreign(asker, *worker)) return;
    log_.info("a task tracker left", "node", worker->name);
    put_node(*worker, false);
  } else if (const Group* group = catalog_.group(message.group);
             group != nullptr && catalog_.parts(group->id) == 1 && !ownership_.has(group->id)) {
    return answer(asker, unknown_session(message.session));
  }
  recovery_.leave(message.session);
  leaving_[message.session] = asker;
}

void JobTracker::answer_leaving() {
  std::erase_if(leaving_, [this](const auto& one) {
    const auto& [session, asker] = one;
    if (executing_.has_any(session)) return false;
    answer(asker, wire::Gone{});
    return true;
  });
}

}  // namespace carillon::jobtracker
