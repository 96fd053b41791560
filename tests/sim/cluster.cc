#include "tests/sim/cluster.h"

#include <algorithm>
#include <array>
#include <utility>

#include "shared/base/assert.h"
#include "shared/base/time_text.h"
#include "shared/wire/codec.h"
#include "tests/sim/parts.h"

namespace carillon::sim {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using std::chrono::sys_days;
using std::chrono::year;

namespace {

// A standby has taken over so soon after the last word of the one before.
constexpr Duration kTakesOver = seconds{3};
// After a disturbance has ended it takes so long until all is as if it had not been.
constexpr Duration kSettles = seconds{30};
// A commit that is to hang has begun by then, if there is anything to commit.
constexpr Duration kHangs = seconds{5};
// A job tracker and the clock that it follows are apart by less.
constexpr Duration kFollowed = milliseconds{1};
// As in the product, a later session may have a lower number.
SessionId scattered_session(std::int64_t which) {
  constexpr std::uint64_t kOdd = 0x5851F42D4C957F2D;
  return SessionId{static_cast<std::int64_t>(static_cast<std::uint64_t>(which) * kOdd >> 2) + 1};
}
// A clock that was set by more than the first is believed by then; by less, it is followed slowly.
constexpr Duration kJump = milliseconds{2100};
constexpr Duration kJumpBelieved = seconds{10};
constexpr Duration kSlewed = minutes{5};
constexpr Duration kSlack = milliseconds{100};
// One whose commit hangs is replaced by then.
constexpr Duration kReplaced = seconds{15};

// A little before something happens to the clocks or the calendar somewhere; or not.
WallTime begin_of(std::uint64_t seed) {
  constexpr Duration kBefore = minutes{40};
  const std::array moments{
      WallTime{sys_days{year{2026} / 10 / 25} + hours{1}},  // Berlin's clocks go back
      WallTime{sys_days{year{2026} / 3 / 29} + hours{1}},   // and forward
      WallTime{sys_days{year{2026} / 11 / 1} + hours{6}},   // New York's go back
      WallTime{sys_days{year{2027} / 1 / 1}},
      WallTime{sys_days{year{2028} / 2 / 29}},
      WallTime{sys_days{year{2026} / 6 / 10} + hours{12}},
  };
  return moments.at(seed / 7 % moments.size()) - kBefore - hours{1};  // Steady time begins at 1 h.
}

jobtracker::JobTrackerConfig tracker_config(std::uint64_t seed) {
  jobtracker::JobTrackerConfig config;
  config.dispatcher.preload.capacity = 5 + seed % 100;
  config.dispatcher.refill = 4 + static_cast<std::int64_t>(seed % 50);
  config.dispatcher.deadlines.capacity = seed % 5 == 0 ? 10 : 1000;
  if (seed % 6 == 1) config.dispatcher.isolation.after = 3;
  config.recurrence.blocked_max = seed % 4 == 0 ? 5 : 1000;
  config.recurrence.rows_max = seed % 6 == 0 ? 40 : 1'000'000;
  config.feedback.group_max = seed % 7 == 0 ? 3 : 100'000;
  config.pusher.silence = kExecutorSilence;
  config.retention.log = hours{1};
  config.log_index.rows = 1 + static_cast<std::int64_t>(seed % 50);
  config.retention.clients = hours{1};
  if (seed % 2 == 0) {
    config.recurrence.horizon = seconds{60};
    config.recurrence.period = seconds{50};
  }
  return config;
}

// The place of a message in the list of all, without decoding it.
std::size_t type_of(std::string_view frame) {
  return frame.size() < 3 ? 0 : static_cast<unsigned char>(frame[2]);
}
template <class Message, class Then>
void if_is(std::string_view frame, Then then) {
  static const std::size_t type = wire::Message{Message{}}.index();
  if (type_of(frame) != type) return;
  auto envelope = wire::decode(frame);
  if (envelope.ok()) then(std::get<Message>(envelope.value().message));
}

}  // namespace

Cluster::Cluster(std::uint64_t seed, int trackers_at_work, int parts, bool push, Broken broken)
    : chance(seed),
      disk_chance(seed + 2'000'000'011),
      repeat_chance(seed + 3'000'000'019),
      cut_chance(seed + 4'000'000'007),
      crowd_chance(seed + 5'000'000'029),
      product_random(seed + 1'000'000'007),
      runs(timeline, by("runs", broken)),
      ledger(timeline, database.tables(), runs, broken),
      owners(timeline, database.tables(), ledger, by("owners", broken)),
      push_chance(seed + 3'000'000'019),
      pushed(timeline, database.tables(), runs, by("pushed", broken)),
      groups{"default", "other"},
      broken_(by("cluster", std::move(broken))),
      seed_(seed),
      at_work_(trackers_at_work),
      parts_(parts) {
  timeline.wall_begin = begin_of(seed);
  if (has_several()) groups.insert(groups.end(), {"mail", "night"});
  const int processes = has_several() ? at_work_ : static_cast<int>(1 + seed % 2);
  for (int i = 0; i < processes; ++i) endpoints_.push_back("tcp://tracker-" + std::to_string(i));
  if (parts_ > 1) split_group();
  watch_network();
  add_trackers();
  add_workers();
  for (int i = 0; i < 2; ++i) {
    clients.push_back(std::make_unique<ClientProcess>(
        timeline, network, "client-" + std::to_string(i), endpoints_, has_several()));
  }
  if (seed % 3 == 1) add_disks();
  if (push) add_executors();
}

// Of one app that keep their promises, but that one tells each result once; and of one that never
// call themselves busy.
void Cluster::add_executors() {
  ledger.on_pushed_end = [this](const Commit& commit, const Ledger::Job& job,
                                const jobtracker::LogEntry& log,
                                bool is_void) { pushed.check_end(commit, job, log, is_void); };
  for (const auto& tracker : trackers) {
    executor_network.add(*tracker, [this, one = tracker.get()] {
      return has_several() ? owners.works(one->session()) : one->session() == newest_tracker_;
    });
  }
  for (int i = 0; i < 5; ++i) {
    const std::string number = std::to_string(i);
    executors.push_back(std::make_unique<ExecutorProcess>(
        timeline, push_chance, pushed,
        [this](ExecutorProcess& from, const jobtracker::ExecutorRequest& request,
               std::function<void(bool)> done) {
          executor_network.tell(from, request, std::move(done));
        },
        ExecutorOptions{.name = "executor-" + number,
                        .app = i < 3 ? kHonestApp : kLyingApp,
                        .address = "http://executor-" + number + ":9999/",
                        .is_liar = i >= 3,
                        .is_forgetful = i == 2}));
    executor_network.add(*executors.back());
  }
}

bool Cluster::has_executor(GroupId group) const {
  return std::any_of(executors.begin(), executors.end(), [&](const auto& one) {
    return one->is_alive() && !one->is_paused() &&
           database.tables().executors.contains({group, one->options().address});
  });
}

// Before anybody works: its parts have job trackers like all groups.
void Cluster::split_group() {
  const auto made = database.make_group(groups.front(), timeline.wall_now());
  const auto split = database.split_group({.group = groups.front(), .parts = parts_},
                                          jobtracker::all_partitions(), timeline.wall_now());
  CARILLON_ASSERT(made.ok() && split.ok(), "an empty store takes every group");
  groups_made_ = database.tables().groups.size();
}

// Of each task tracker, and of one of the clients.
void Cluster::add_disks() {
  for (const auto& worker : workers) {
    Disk& disk = worker->add_disk(disk_chance);
    disk.on_removed = [this, name = worker->name()](const outbox::Entry& entry) {
      if_is<wire::Report>(entry.body, [&](const wire::Report& report) {
        if (confirmed_.contains(report.results.at(0).id)) return;
        broken_(name + " forgets the result of job " +
                std::to_string(report.results.at(0).id.job_id.value) + ", which nobody confirmed");
      });
    };
    disks.push_back(&disk);
  }
  disks.push_back(&clients.back()->add_disk(disk_chance, product_random));
  for (Disk* disk : disks) {
    disk->on_failed = [this] { disturbed_around(Duration{}); };
    disk->on_set_aside = [this](const outbox::Entry&, const std::string& reason) {
      broken_("what lies on a disk is not delivered: " + reason);
    };
  }
}

std::vector<Duration> Cluster::leases_of(std::size_t tracker) const {
  if (!has_differing_leases()) return {};
  std::vector<Duration> leases{seconds{2}, seconds{6}, seconds{3}};
  std::rotate(leases.begin(), leases.begin() + tracker % leases.size(), leases.end());
  return leases;
}

void Cluster::add_trackers() {
  for (std::size_t i = 0; i < endpoints_.size(); ++i) {
    TrackerOptions options{.name = "tracker-" + std::to_string(i),
                           .endpoint = endpoints_[i],
                           .config = tracker_config(seed_),
                           .leases = leases_of(i),
                           .is_watched = has_standbys(),
                           .is_one_of_several = has_several()};
    trackers.push_back(std::make_unique<TrackerProcess>(timeline, network, chance, product_random,
                                                        database, std::move(options)));
    TrackerProcess& tracker = *trackers.back();
    tracker.on_commit = [this](TrackerProcess& one, const jobtracker::Batch& batch,
                               const jobtracker::Committed& done) { committed(one, batch, done); };
    if (has_several()) watch_sessions(tracker);
  }
}

void Cluster::watch_sessions(TrackerProcess& tracker) {
  tracker.watch.on_begun = [this](const TrackerProcess& one, SessionId session, SessionId before,
                                  const jobtracker::SessionStart& start) {
    on_event(one.name() + " begins as session " + std::to_string(session.value) + " with " +
             std::to_string(start.owned.count()) + " partitions");
    notice_new_groups();
    if (timeline.now() >= quiet_from)
      broken_(one.name() + " divides the node groups anew though nothing has changed");
    owners.begun(one.name(), session, before, start.owned);
    // Who fences one ends its connection.
    for (const auto& other : trackers) {
      if (other->works() && !owners.works(other->session())) other->hang_commits({});
    }
  };
  tracker.watch.on_works = [this, &tracker](SessionId session, SessionId before,
                                            const jobtracker::Partitions& owned) {
    runs.tracker_began(session, before, owned, tracker.lease());
  };
  tracker.watch.on_beat = [this](SessionId session) { owners.beat(session); };
  tracker.watch.on_ended = [this](SessionId session) { owners.ended(session); };
  tracker.watch.on_dropped = [this](const TrackerProcess& one) {
    broken_(one.name() + " drops what was kept for its next session");
  };
  // A service manager starts it again.
  tracker.watch.on_fenced = [this](TrackerProcess& one) {
    on_event(one.name() + " was fenced");
    disturbed(Duration{});
    timeline.at(timeline.now() + chance.between(milliseconds{50}, seconds{1}), [this, &one] {
      if (!one.is_alive()) one.join();
    });
  };
}

// They are made by whoever first names them, and make shares unequal.
void Cluster::notice_new_groups() {
  const std::size_t made = database.tables().groups.size();
  if (std::exchange(groups_made_, made) != made) disturbed(Duration{});
}

void Cluster::committed(TrackerProcess& tracker, const jobtracker::Batch& batch,
                        const jobtracker::Committed& done) {
  if (has_several()) {
    notice_new_groups();
    owners.committed(tracker.name(), tracker.session(), batch, done);
  } else if (tracker.session() != newest_tracker_) {
    broken_(tracker.name() + " commits though it was fenced");
  }
  digest.add(static_cast<std::uint64_t>(batch.number));
  const Commit commit{.batch = batch,
                      .done = done,
                      .flushed_at = tracker.flushed_at(),
                      .was_disturbed = timeline.now() < quiet_from,
                      .was_tracker_disturbed = timeline.now() < trackers_quiet_from,
                      .were_executors_disturbed = !are_executors_quiet(),
                      .claim_ahead = tracker.claim_ahead(),
                      .push_claim_ahead = tracker.options().config.dispatcher.push_claim_ahead,
                      .blocked_max = tracker.options().config.recurrence.blocked_max,
                      .dead_times = has_several() ? owners.dead_times() : dead_times_,
                      .was_clock_set = clock_was_set_since(timeline.now() - minutes{10}),
                      .was_ever_set = clock_was_set_since(SteadyTime{Duration{1}})};
  for (const jobtracker::Operation& operation : batch.operations) {
    const auto* put = std::get_if<jobtracker::PutExecutorGroup>(&operation);
    if (put == nullptr) continue;
    ledger.worker_came(jobtracker::push_session(put->row.group),
                       {.group = database.tables().groups.at(put->row.group).name});
  }
  on_commit(tracker, commit);
  on_stored(commit);
  check_clock(tracker, batch);
  check_lost(tracker, batch);
  ledger.committed(commit);
  pushed.committed(commit);
  last_commit_ = batch.now;
  last_commit_at_ = timeline.now();
}

// It decides by the time of its machine, or of the database that several share.
void Cluster::check_clock(const TrackerProcess& tracker, const jobtracker::Batch& batch) const {
  const auto was_set_in = [&](Duration time) {
    return !has_several() && (tracker.was_set_since(timeline.now() - time) ||
                              tracker.was_paused_since(timeline.now() - time));
  };
  const auto gone_by = std::chrono::duration_cast<Duration>(timeline.now() - tracker.flushed_at());
  const Duration apart = std::chrono::abs(tracker.scheduling_now() - gone_by - batch.now);
  if (was_set_in(gone_by + kJumpBelieved) ||
      apart <= (was_set_in(gone_by + kSlewed) ? kJump : kSlack))
    return;
  broken_(tracker.name() + " decides by a time that is " + format_duration(apart) +
          " from its clock's");
}

// Only what was with a worker that was not heard of for a lease, and not with one that has left.
void Cluster::check_lost(const TrackerProcess& tracker, const jobtracker::Batch& batch) const {
  for (const jobtracker::Operation& operation : batch.operations) {
    const auto* end = std::get_if<jobtracker::End>(&operation);
    if (end == nullptr) continue;
    const Ledger::Job* job = ledger.find(end->id);
    if (job != nullptr && jobtracker::is_push_session(job->session)) {
      // What a run is lost for may be 90 s ago.
      const bool is_quiet =
          are_executors_quiet() && timeline.now() >= trackers_quiet_from + minutes{5};
      pushed.check_lost({end->id, end->attempt}, end->log, is_quiet);
      continue;
    }
    if (!end->log || end->log->state != jobtracker::LogState::kLost) continue;
    if (job != nullptr && runs.has_left(job->session)) {
      broken_("job " + std::to_string(end->id.value) + " attempt " + std::to_string(end->attempt) +
              " was lost, but " + end->log->node + " had been told that nothing is held for it");
    }
    if (job == nullptr ||
        runs.was_silent(tracker.session(), job->session, jobtracker::partition_of(job->row.group)))
      continue;
    broken_("job " + std::to_string(end->id.value) + " attempt " + std::to_string(end->attempt) +
            " was lost, but " + end->log->node + " was heard of all the time");
  }
}

// Two of them accept every kind of run, one handlers only; each other group has one of its own.
void Cluster::add_workers() {
  for (int i = 0; i < 2 + static_cast<int>(groups.size()); ++i) {
    WorkerOptions options{.name = "worker-" + std::to_string(i), .trackers = endpoints_};
    options.threads = 1 + static_cast<int>(chance.below(5));
    options.prefetch_max = seed_ % 3 == 0 ? 16 : 0;
    if (has_deep_queues()) {
      options.prefetch_max = 512;
      options.prefetch_work = seconds{1};
    }
    options.handlers_only = i == 2;
    if (i > 2) options.group = groups[static_cast<std::size_t>(i) - 2];
    workers.push_back(std::make_unique<WorkerProcess>(timeline, network, std::move(options)));
    WorkerProcess& worker = *workers.back();
    worker.watch.on_start = [this, &worker](const wire::HandedJob& job, const JobSpec& spec) {
      RunPlan planned = plan(job, spec);
      on_event(worker.name() + " begins job " + std::to_string(job.id.job_id.value) + " attempt " +
               std::to_string(job.id.attempt) + " of " + job.task_id);
      const bool has_parts = parts_of(worker.options().group) > 1;
      runs.began(job.id, {.session = worker.session(),
                          .worker = worker.name(),
                          .later = planned.later,
                          .partition = jobtracker::partition_of(
                              part_of(database.tables(), worker.options().group, job.task_id))});
      check_not_early(worker, job.id);
      if (spec.run.handler == kPoison) dies(worker);
      const auto& options_of = worker.options();
      // What one had claimed before it was told to leave room for another comes all the same.
      const int asked_for = options_of.threads * (has_parts ? at_work_ : 1);
      if (options_of.prefetch_max == 0 &&
          worker.unfinished() >= static_cast<std::size_t>(asked_for)) {
        broken_(worker.name() + " was given more than it asked for");
      }
      return planned;
    };
    worker.watch.on_end = [this](const wire::AttemptId& id,
                                 std::optional<wire::RunOutcome> outcome) {
      if (outcome) on_run_end();
      runs.ended(id, outcome);
    };
    worker.on_left = [this](SessionId session) { runs.took_leave(session); };
    worker.watch.on_queue = [this, &worker] { check_queue(worker); };
  }
}

// By the database's clock, which job trackers that share it follow.
void Cluster::check_not_early(const WorkerProcess& worker, const wire::AttemptId& id) {
  const Ledger::Job* job = ledger.find(id.job_id);
  if (!has_several() || job == nullptr || job->row.attempt != id.attempt) return;
  if (jobtracker::due_time(job->row) > timeline.wall_now() + kFollowed) {
    broken_(worker.name() + " begins job " + std::to_string(id.job_id.value) + " before its time");
  }
}

// A job that was lost may kill its worker again: what lay in a queue with it would be lost with it
// each time. What a worker was given before it was silent, it was given by somebody who takes it
// for dead.
void Cluster::check_queue(const WorkerProcess& worker) {
  if (parts_of(worker.options().group) > 1) return;
  const int partition =
      jobtracker::partition_of(part_of(database.tables(), worker.options().group, std::string{}));
  for (const TrackerProcess* tracker : active()) {
    if (tracker->works() && runs.was_silent(tracker->session(), worker.session(), partition))
      return;
  }
  std::ptrdiff_t held = 0;
  const Ledger::Job* suspect = nullptr;
  for (const wire::AttemptId& id : worker.unfinished_ids()) {
    const Ledger::Job* job = ledger.find(id.job_id);
    const bool is_current = job != nullptr && job->place == Ledger::Place::kExecuting &&
                            job->row.attempt == id.attempt && job->session == worker.session();
    if (!is_current) continue;
    ++held;
    if (jobtracker::is_suspect(job->row)) suspect = job;
  }
  if (suspect != nullptr && held > worker.options().threads) {
    broken_(worker.name() + " has a queue, and with it job " +
            std::to_string(suspect->row.id.value) + " of " + suspect->row.task_id +
            ", which was lost before");
  }
}

// And is started again.
void Cluster::dies(WorkerProcess& worker) {
  const SessionId session = worker.session();
  disturbed_around(seconds{10});
  timeline.at(timeline.now() + milliseconds{1}, [&worker, session] {
    if (worker.session() == session) worker.kill();
  });
  timeline.at(timeline.now() + chance.between(milliseconds{10}, seconds{5}),
              [this, &worker, session] {
                if (worker.session() == session && !worker.is_alive()) start_worker(worker);
              });
}

void Cluster::start_tracker(std::size_t index) {
  TrackerProcess& tracker = *trackers[index];
  if (tracker.is_alive()) tracker.kill(false);
  if (has_several()) {
    disturbed(Duration{});
    on_event(tracker.name() + " starts");
    return tracker.join();
  }
  newest_tracker_ = scattered_session(++last_session_);
  disturbed(Duration{});
  dead_times_.fill({.from = last_commit_, .until = tracker.wall_now()});
  last_commit_at_ = timeline.now();
  tracker.start(newest_tracker_);
  runs.tracker_began(newest_tracker_, {}, jobtracker::all_partitions(), tracker.lease());
  on_event(tracker.name() + " starts");
}

void Cluster::stand_by(std::size_t index) {
  TrackerProcess& tracker = *trackers[index];
  if (tracker.is_alive()) return;
  on_event(tracker.name() + " stands by");
  tracker.stand_by([this, index] {
    if (trackers[index]->stands_by()) take_over(index);
  });
}

void Cluster::stall_database(Duration time) {
  // Who was taken over by one that had not watched it could not come to know of it, and would go on
  // giving leases; unless others may stand by, since then it proves itself.
  const bool is_unproven = !has_several() && !has_standbys();
  for (const auto& tracker : trackers) {
    if (is_unproven && tracker->works() && tracker->session() != newest_tracker_)
      tracker->kill(false);
  }
  for (const auto& tracker : trackers) tracker->stall_store(time);
  // Shorter, it may pass for the silence of one of them.
  if (time > seconds{1}) {
    database_back_at_ = std::max<SteadyTime>(database_back_at_, timeline.now() + time);
    owners.database_is_back(database_back_at_);
  }
}

void Cluster::mend_stores() {
  for (const auto& tracker : trackers) tracker->mend_store();
  database_back_at_ = std::min(database_back_at_, timeline.now());
  owners.database_is_back(database_back_at_);
}

void Cluster::hang_commits(TrackerProcess& tracker, Duration time) {
  tracker.hang_commits(time);
  timeline.at(timeline.now() + kHangs, [this, &tracker, quiet = quiet_from] {
    if (active().size() < 2) return;  // Who comes later has to watch first.
    const SessionId session = tracker.session();
    const std::uint64_t commit = tracker.commit_under_way();
    timeline.at(timeline.now() + kReplaced, [this, &tracker, session, commit, quiet] {
      const bool hangs = commit != 0 && tracker.session() == session &&
                         tracker.commit_under_way() == commit && owners.works(session);
      const bool was_disturbed = quiet_from != quiet || active().size() < 2;
      if (hangs && !was_disturbed)
        broken_("a commit of " + tracker.name() + " hangs, and nobody takes over");
    });
  });
}

// Not before the other was silent for its time while the database answered, and soon after.
void Cluster::take_over(std::size_t index) {
  const TrackerProcess& tracker = *trackers[index];
  const SteadyTime word = std::max(last_commit_at_, database_back_at_);
  const Duration silent = std::chrono::duration_cast<Duration>(timeline.now() - word);
  if (silent + jobtracker::kLook < jobtracker::kSilence)
    broken_(tracker.name() + " takes over from one that was not silent for its time");
  const Duration watched =
      std::chrono::duration_cast<Duration>(timeline.now() - tracker.stands_by_since());
  const SteadyTime lately = timeline.now() - seconds{20};
  const bool was_kept = tracker.was_paused_since(lately) || tracker.was_stalled_since(lately);
  if (std::min(silent, watched) > kTakesOver && !was_kept)
    broken_(tracker.name() + " takes over too late");
  start_tracker(index);
}

// Several go by the database's.
bool Cluster::clock_was_set_since(SteadyTime when) const {
  if (has_several()) return false;
  return std::any_of(trackers.begin(), trackers.end(),
                     [when](const auto& one) { return one->was_set_since(when); });
}

void Cluster::start_worker(WorkerProcess& worker) {
  const SessionId session{1'000'000 + ++last_session_};
  ledger.worker_came(
      session, {.group = worker.options().group, .handlers_only = worker.options().handlers_only});
  worker.start(session);
}

void Cluster::start_client(ClientProcess& client) {
  client.start(2'000'000 + ++last_session_);
  on_client(client);
}

std::vector<TrackerProcess*> Cluster::active() {
  std::vector<TrackerProcess*> all;
  for (const auto& tracker : trackers) {
    if (!tracker->is_alive()) continue;
    if (has_several() || tracker->session() == newest_tracker_) all.push_back(tracker.get());
  }
  return all;
}

TrackerProcess* Cluster::any_active() {
  const auto all = active();
  if (all.empty()) return nullptr;
  return all.size() == 1 ? all.front() : all[chance.below(all.size())];
}

bool Cluster::looks_after(const TrackerProcess& tracker, GroupId group) const {
  return has_several() ? owners.owns(tracker.session(), group)
                       : tracker.session() == newest_tracker_;
}

std::vector<WorkerProcess*> Cluster::live_workers() {
  std::vector<WorkerProcess*> alive;
  for (const auto& worker : workers) {
    if (worker->is_alive()) alive.push_back(worker.get());
  }
  return alive;
}

void Cluster::disturbed(Duration time) {
  disturbed_around(time);
  trackers_quiet_from = std::max<SteadyTime>(trackers_quiet_from, timeline.now() + time + kSettles);
}

void Cluster::disturbed_around(Duration time) {
  quiet_from = std::max<SteadyTime>(quiet_from, timeline.now() + time + kSettles);
}

bool Cluster::is_idle() const {
  return std::all_of(trackers.begin(), trackers.end(), [](const auto& one) {
    return !one->is_alive() || !one->works() || one->tracker().is_idle();
  });
}

// ---- what is said ----

void Cluster::watch_network() {
  network.on_server_sends = [this](Process& process, const net::Peer& line,
                                   std::string_view frame) {
    auto& tracker = static_cast<TrackerProcess&>(process);
    check_sent(tracker, frame);
    if_is<wire::Pulled>(frame, [&](const wire::Pulled& pulled) {
      runs.pull_was_answered(line, pulled.number, tracker.tracker().owned(), tracker.lease());
    });
  };
  network.on_server_takes = [this](Process& process, std::string_view frame) {
    static_cast<TrackerProcess&>(process).came();
    const SessionId tracker = static_cast<TrackerProcess&>(process).session();
    if (!tracker) return;  // It does not work.
    if_is<wire::Pull>(frame, [&](const wire::Pull& pull) { runs.heard(tracker, pull.session); });
    if_is<wire::Register>(frame, [&](const wire::Register& one) {
      runs.registered(tracker, one.session, one.number);
    });
  };
  network.on_client_sends = [this](Process&, const net::Peer& line, std::string_view frame) {
    if_is<wire::Pull>(frame,
                      [&](const wire::Pull& pull) { runs.pull_was_sent(line, pull.number); });
  };
  network.on_client_takes = [this](Process& process, const net::Peer& line,
                                   std::string_view frame) {
    if_is<wire::Pulled>(frame, [&](const wire::Pulled& pulled) {
      runs.answer_was_taken(static_cast<WorkerProcess&>(process).session(), line, pulled.number);
    });
  };
}

bool Cluster::is_as_stored(const wire::HandedJob& handed, const jobtracker::WaitingJob& row) const {
  if (handed.task_id != row.task_id || handed.trigger_time != row.trigger_time) return false;
  if (!row.spec.empty()) return handed.spec == row.spec;
  const auto& definitions = database.tables().definitions;
  const auto definition = definitions.find(row.definition);
  return definition == definitions.end() || definition->second.spec == handed.spec;
}

// Whatever a tracker says is on disk by then.
void Cluster::check_sent(TrackerProcess& tracker, std::string_view frame) {
  const std::string who = tracker.name();
  if_is<wire::Submitted>(frame, [&](const wire::Submitted& submitted) {
    for (const wire::SubmitAnswer& answer : submitted.answers) {
      if (answer.status != wire::SubmitStatus::kAccepted) continue;
      const bool is_stored = answer.job_id ? ledger.knows(answer.job_id)
                                           : ledger.defines(answer.group, answer.task_id);
      // A resend may be answered when a job without a first run is long gone.
      if (!is_stored && answer.job_id)
        broken_(who + " acknowledges job " + std::to_string(answer.job_id.value) + " of " +
                answer.task_id + ", which is not stored");
    }
  });
  if_is<wire::Acted>(frame, [&](const wire::Acted& acted) {
    if (acted.job_id && !ledger.knows(acted.job_id))
      broken_(who + " says that it acted on job " + std::to_string(acted.job_id.value) +
              ", which is not stored");
  });
  // Before another one may take its place, it stops.
  const bool is_gone = has_several() && tracker.works() && !owners.works(tracker.session());
  if_is<wire::Pulled>(frame, [&](const wire::Pulled&) {
    if (is_gone) broken_(who + " gives a lease though it was fenced");
  });
  if_is<wire::HandOut>(frame, [&](const wire::HandOut& hand_out) {
    if (is_gone) broken_(who + " hands out jobs though it was fenced");
    for (const wire::HandedJob& handed : hand_out.jobs) {
      const Ledger::Job* job = ledger.find(handed.id.job_id);
      const std::string name = "job " + std::to_string(handed.id.job_id.value) + " attempt " +
                               std::to_string(handed.id.attempt);
      const bool is_claimed = job != nullptr && job->place == Ledger::Place::kExecuting &&
                              job->row.attempt == handed.id.attempt &&
                              job->session == hand_out.session;
      // One that was fenced may not know it yet; its workers refuse or are adopted.
      if (!is_claimed && (has_several() || tracker.session() == newest_tracker_))
        broken_(who + " hands out " + name + ", which is not claimed so");
      if (is_claimed && !is_as_stored(handed, job->row))
        broken_(who + " hands out " + name + " otherwise than it is stored");
      if (handed.wait > tracker.options().config.dispatcher.pause_claim_ahead)
        broken_(who + " hands out " + name + " long before its time");
      // Another tracker's clock may have said when it is due.
      if (is_claimed &&
          jobtracker::due_time(job->row) > tracker.scheduling_now() + handed.wait + kFollowed &&
          (has_several() || !tracker.was_set_since(timeline.now() - minutes{10})))
        broken_(who + " hands out " + name + " before its time");
    }
  });
  if_is<wire::Reported>(frame, [&](const wire::Reported& reported) {
    if (!disks.empty()) confirmed_.insert(reported.done.begin(), reported.done.end());
  });
  if_is<wire::Reported>(frame, [&](const wire::Reported& reported) {
    for (const wire::AttemptId& id : reported.done) {
      const Ledger::Job* job = ledger.find(id.job_id);
      const bool is_open = job != nullptr && job->place == Ledger::Place::kExecuting &&
                           job->row.attempt == id.attempt;
      const RunBook::Run* run = runs.find(id);
      // Of what others claimed it does not know; and a claim of one session may be confirmed to
      // another that told of it too late.
      const bool is_own = is_open && looks_after(tracker, job->row.group);
      if (is_own && run != nullptr && run->session == job->session)
        broken_(who + " confirms job " + std::to_string(id.job_id.value) + " attempt " +
                std::to_string(id.attempt) + ", whose end is not stored");
    }
  });
}

}  // namespace carillon::sim
