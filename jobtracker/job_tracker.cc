#include "jobtracker/job_tracker.h"

#include <utility>

#include "jobtracker/store/names.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

// The store counts as committing if its last commit is not older; each heartbeat is a commit.
constexpr Duration kCommits = std::chrono::seconds{5};
constexpr Duration kClockPeriod = std::chrono::seconds{1};
constexpr Duration kAnswersMax = std::chrono::milliseconds{250};
constexpr Duration kComesBack = std::chrono::seconds{1};  // after its lease

// The client number of a job tracker's own requests; each session has another one.
std::int64_t client_number_of(SessionId session) {
  return (session.value & ((std::int64_t{1} << 59) - 1)) | 1;
}

}  // namespace

Status JobTrackerConfig::validate() const {
  CARILLON_TRY(batcher.validate());
  CARILLON_TRY(recurrence.validate());
  CARILLON_TRY(alarms.validate());
  if (recovery.lease < pull_interval * 2) {
    return Error{ErrorCode::kInvalidArgument, "lease is " + format_duration(recovery.lease) +
                                                  ", must be at least " +
                                                  format_duration(pull_interval * 2) +
                                                  ", twice the interval of a task tracker's pulls"};
  }
  if (dispatcher.preload.capacity < 100) {
    return Error{ErrorCode::kInvalidArgument, "preload-capacity is " +
                                                  std::to_string(dispatcher.preload.capacity) +
                                                  ", must be at least 100"};
  }
  return {};
}

JobTracker::JobTracker(JobTrackerConfig config, SessionId session, const Clock& clock,
                       Random& random, TaskRunner& task_runner, StoreConnection& connection,
                       Questions& questions, std::function<void()> on_ready,
                       std::function<void(const Error&)> on_fatal)
    : config_(std::move(config)),
      session_(session),
      task_runner_(task_runner),
      questions_(questions),
      on_ready_(std::move(on_ready)),
      on_fatal_(std::move(on_fatal)),
      clock_(clock, log_),
      batcher_(config_.batcher, connection, clock, log_),
      feedback_(config_.feedback, catalog_, ownership_, batcher_, questions, *this, clock_, log_),
      alarms_(config_.alarms, catalog_, ownership_, workers_, executors_, executor_silence_,
              questions, batcher_, ids_, clock_, log_),
      recurrence_(config_.recurrence, catalog_, ownership_, *this, executing_, batcher_, *this,
                  feedback_, *this, ids_, clock_, task_runner, log_),
      completion_(catalog_, *this, executing_, workers_, batcher_, recurrence_, feedback_, alarms_,
                  *this, metrics_, *this, *this, ids_, clock_, random, log_),
      dispatcher_(config_.dispatcher, session, catalog_, executing_, workers_, metrics_, batcher_,
                  questions, clock_, task_runner, recurrence_.admission(), completion_, *this,
                  log_),
      recovery_(config_.recovery, executing_, workers_, completion_, clock_, log_),
      figures_(metrics_, catalog_, ownership_, executing_, workers_, executors_, questions,
               batcher_, clock_),
      auditor_(batcher_, ids_, clock_),
      access_(batcher_, questions, auditor_, *this, client_number_of(session) ^ 2, clock_),
      retention_(config_.retention, ownership_, batcher_, clock_,
                 [this] { return completion_.ended(); }),
      log_indexer_(config_.log_index, ownership_, batcher_, clock),
      management_(catalog_, ownership_, client_number_of(session),
                  [this](const Asker& asker, wire::Message message) {
                    if (const Status may = access_.check(asker, message); !may.ok())
                      return answer(asker, wire::ErrorReply{may.error()});
                    route(asker, std::move(message), 0);
                  }),
      run_logs_([this](const RunLogs::Place& place) -> std::optional<RunLogs::Caller> {
        if (executors_.find(place.group, place.address) == nullptr) return std::nullopt;
        return RunLogs::Caller{.token = executors_.token_to_send(place.group, config_.pusher.token),
                               .app_name = catalog_.group(place.group)->name};
      }),
      pusher_(
          config_.pusher, catalog_, ownership_, executing_, executors_, executor_health_,
          executor_silence_, workers_, batcher_, completion_, run_logs_, ids_, clock_, random, log_,
          {.report = [this](Worker& worker,
                            const wire::Report& message) { completion_.report(worker, message); },
           .touch = [this](GroupId group) { dispatcher_.touch(group); },
           .go_on = [this](Executing& entry) { dispatcher_.go_on(entry); },
           .may_begin_until =
               [this](const Executing& entry) { return dispatcher_.may_begin_until(entry); },
           .learn = [this](GroupId group, const std::string& address, bool ExecutorRow::*fact,
                           bool is_so) { registry_.learn(group, address, fact, is_so); }}),
      registry_(
          config_.executors, executors_, ownership_, *this, batcher_, clock_, log_,
          [this](GroupId group, const std::string& address) {
            pusher_.register_worker(group, address);
          },
          [this](GroupId group, const std::string& address) { pusher_.doubt(group, address); }),
      submit_(config_.submit, catalog_, workers_, executors_, *this, ownership_, recurrence_,
              batcher_, *this, feedback_, alarms_, *this, *this, auditor_, metrics_, ids_, clock_),
      stops_(catalog_, executing_, workers_, completion_, batcher_, *this, clock_),
      act_(catalog_, ownership_, executing_, workers_, recurrence_, completion_, batcher_, *this,
           feedback_, *this, stops_, auditor_, ids_, clock_),
      query_(catalog_, ownership_, executing_, workers_, executors_, executor_health_, run_logs_,
             questions, *this, clock_, config_.recovery.lease,
             {.stats = [this] { return stats(); },
              .alarms = [this] { return alarms_.firing(); },
              .alarm_rules = [this] { return alarms_.rules(); }}) {}

JobTracker::~JobTracker() { leave_doors(); }

void JobTracker::leave_doors() {
  if (poster_ != nullptr) std::exchange(poster_, nullptr)->set_receiver(nullptr);
  alarms_.leave_courier();
}

// With an unknown commit, the next session reads everything again.
JobTracker::Memory JobTracker::take_memory(const Partitions& kept) {
  const bool is_known = ready_ && batcher_.is_settled();
  return {
      .alarms = alarms_.take_memory(),
      .silences = recovery_.silences(let_go_at_.value_or(clock_.steady_now()), ownership_.owned()),
      .called_off = stops_.take_called_off(),
      .executor_silence = std::exchange(executor_silence_, {}),
      .definitions = is_known ? catalog_.take_known(kept & ownership_.owned()) : KnownDefinitions{},
      .metrics = std::exchange(metrics_, {})};
}

void JobTracker::go_on_from(Memory memory) {
  alarms_.go_on_from(std::move(memory.alarms));
  recovery_.go_on_from(std::move(memory.silences));
  stops_.go_on_from(std::move(memory.called_off));
  executor_silence_ = std::move(memory.executor_silence);
  metrics_ = std::move(memory.metrics);
  first_question_ = {.known = memory.definitions.partitions,
                     .unsettled = std::move(memory.definitions.unsettled)};
  catalog_.go_on_from(std::move(memory.definitions.definitions));
}

void JobTracker::set_poster(net::Poster& poster) {
  poster_ = &poster;
  poster.set_receiver(this);
  pusher_.set_poster(&poster);
  run_logs_.set_poster(&poster);
}

void JobTracker::start(net::ServerTransport& transport) {
  transport_ = &transport;
  transport.set_receiver(this);
  access_.on_revoked(
      [&transport](const std::string& principal) { transport.end_connections(principal); });
  if (split_first_) {
    batcher_.ask(SplitGroup{.split = *split_first_}, [this](Result<ReadAnswer> answer) {
      if (!answer.ok()) split_error_ = answer.error();
    });
  }
  batcher_.ask(std::exchange(first_question_, {}),
               [this](Result<ReadAnswer> answer) { on_started(std::move(answer)); });
}

void JobTracker::on_started(Result<ReadAnswer> answer) {
  if (!answer.ok()) return on_fatal_(answer.error());
  const auto& found = std::get<StartAnswer>(answer.value());
  ids_ = IdSource(found.id_high, found.number.value_or(0));
  ownership_.begin(found.owned, found.epochs);
  if (found.clock.shows) {
    clock_.follow(*found.clock.shows, found.clock.at, found.clock.took);
    every(kClockPeriod, [this] { follow_store_clock(); });
  }
  for (const Group& group : found.groups) {
    catalog_.put_group(group);
    if (ownership_.has(group.id)) dispatcher_.open_group(group.id);
  }
  feedback_.start(found);
  alarms_.start(found);
  began_at_ = clock_.steady_now();
  recovery_.start(found);
  recurrence_.start(found);
  registry_.start(found);
  pusher_.start(found);
  every(std::chrono::milliseconds{100}, [this] {
    // It accepts or answers no task trackers any more.
    if (stopping_ || may_be_fenced()) return;
    for (const Worker& dead : recovery_.run_once()) put_node(dead, false);
    const bool all_had_time =
        clock_.steady_now() > began_at_ + recovery_.longest_lease() + kComesBack;
    if (all_had_time && !has_marked_gone_ && batcher_.is_idle()) mark_gone();
  });
  every(std::chrono::milliseconds{200}, [this] {
    const Duration set_by = clock_.adjust();
    if (set_by == Duration{}) return;
    dispatcher_.reload_all();
    recurrence_.clock_was_set(set_by);
  });
  every(config_.heartbeat, [this] {
    // The log is settled up to an assigned id; this keeps it growing in an idle session.
    (void)ids_.next(clock_.now());
    batcher_.heartbeat();
  });
  every(std::chrono::seconds{1}, [this] {
    const SteadyTime now = clock_.steady_now();
    if (now < batcher_.committed_at() + kCommits) slow_down(bulk_.take_late(now));
    if (!store_is_away_) batcher_.watch_commit();  // An unreachable store is already reported.
  });
  every(std::chrono::milliseconds{200}, [this] { feedback_.run_once(); });
  every(std::chrono::milliseconds{500}, [this] {
    if (stopping_ || may_be_fenced()) return;
    registry_.run_once();
    pusher_.run_once();
    alarms_.run_once();
  });
  every(std::chrono::seconds{1}, [this] {
    if (!stopping_ && !may_be_fenced()) figures_.run_once();
  });
  every(std::chrono::minutes{1}, [this] { retention_.run_once(); });
  every(LogIndexer::kPeriod, [this] { log_indexer_.run_once(); });
  every(std::chrono::hours{1}, [this] { feedback_.purge(); });
  every(AccessRegistry::kPeriod, [this] {
    access_.run_once(/*is_shared=*/proven_at_.has_value());
    if (proven_at_) alarms_.silences().refresh();
    transport_->end_outdated_connections();
  });
  access_.refresh();
  ready_ = true;
  // Calls that waited for this session precede all new reads and requests.
  if (hands_out()) send_due();
  batcher_.flush(batch_head());
  on_ready_();
}

GroupId JobTracker::last_group() const {
  return catalog_.groups().empty() ? GroupId{} : catalog_.groups().rbegin()->first;
}

void JobTracker::on_cluster(const ClusterView& view) {
  proven(view.proven);
  if (!ready_ || stopping_) return;
  ownership_.saw(view);
  if ((view.inbox & ownership_.owned()).any()) recurrence_.take_inbox();
  for (const Group& group : view.groups) {
    if (catalog_.group(group.id) != nullptr) continue;
    // Its number may be lower than that of groups seen before, so it was missed. The next look
    // finds it.
    const auto part = part_named(group.name);
    if (part && catalog_.group(part->whole) == nullptr) {
      return with_group(part->whole, [](const Result<const Group*>&) {});
    }
    know(group);
  }
}

void JobTracker::every(Duration period, std::function<void()> work) {
  task_runner_.post_at(clock_.steady_now() + period,
                       [this, period, work = std::move(work)]() mutable {
                         work();
                         every(period, std::move(work));
                       });
}

void JobTracker::proven(SteadyTime at) {
  proven_at_ = std::max(proven_at_.value_or(at), at);
  pusher_.may_call_until(*proven_at_ + kSilence);
}

void JobTracker::stop() {
  let_go(stopping_error());
  while (const auto waiting = bulk_.next()) take(waiting->sender.connection(), waiting->bytes);
}

void JobTracker::hand_over(net::ServerReceiver& next) {
  // They would notice at their next pull, a second later. `next` queues their registrations.
  let_go({ErrorCode::kNotFound, "the node groups were rebalanced, register again"});
  while (const auto waiting = bulk_.next())
    next.on_frame(waiting->sender.connection(), waiting->bytes);
}

void JobTracker::let_go(Error word) {
  stopping_ = true;
  let_go_at_ = clock_.steady_now();
  pusher_.stop();
  recurrence_.stop();
  log_indexer_.stop();
  if (!may_be_fenced()) dispatcher_.hand_out_early();
  const wire::Message farewell = wire::ErrorReply{std::move(word)};
  // An unreachable one notices by itself.
  for (const auto& [session, worker] : workers_.all()) (void)send(*worker, farewell);
}

bool JobTracker::awaits_answers() const {
  return let_go_at_ && clock_.steady_now() < *let_go_at_ + kAnswersMax && pusher_.is_calling();
}

// While the store is unreachable, the clock continues.
void JobTracker::follow_store_clock() {
  if (std::exchange(is_asking_clock_, true)) return;
  batcher_.ask(ReadClock{}, [this](Result<ReadAnswer> answer) {
    is_asking_clock_ = false;
    if (!answer.ok()) return;
    const auto& clock = std::get<ClockAnswer>(answer.value());
    if (clock.shows) clock_.follow(*clock.shows, clock.at, clock.took);
  });
}

void JobTracker::send_due() {
  dispatcher_.send();
  pusher_.flush();
}

bool JobTracker::end_turn() {
  if (!ready_) {
    batcher_.flush(batch_head());
    return false;
  }
  const bool may = hands_out();
  if (may) {
    send_due();
    dispatcher_.pump();
  }
  completion_.flush();
  answer_leaving();
  batcher_.flush(batch_head());
  const bool has_bulk = take_bulk();
  batcher_.flush(batch_head());
  return has_bulk || (may && dispatcher_.has_work());
}

// One per turn, because each takes as long as many small ones. True: more are waiting.
bool JobTracker::take_bulk() {
  if (bulk_.empty() || !batcher_.wants_bulk()) return false;
  const BulkSubmitQueue::Frame frame = *bulk_.next();
  take(frame.sender.connection(), frame.bytes);
  return !bulk_.empty() && batcher_.wants_bulk();
}

BatchHead JobTracker::batch_head() const {
  return {.now = clock_.now(),
          .id_high = ids_.high(),
          .recovered = ready_ && recurrence_.has_recovered(),
          .lease = ready_ ? recovery_.longest_lease() : Duration{}};
}

void JobTracker::on_batch_done(BatchDone done) {
  if (batcher_.on_batch_done(std::move(done), batch_head())) {
    if (proven_at_) proven(batcher_.committed_at());
    return;
  }
  stopping_ = true;
  pusher_.stop();
  on_fatal_({ErrorCode::kConflict, "another job tracker took over this store; stopping"});
}

// ---- groups ----

// Another job tracker may have created the group since the last look.
bool JobTracker::may_be_new(const std::string& group) const {
  return !group.empty() && catalog_.group(group) == nullptr && !ownership_.has_all();
}

void JobTracker::know(const Group& group) {
  if (catalog_.group(group.id) != nullptr) return;
  catalog_.put_group(group);
  if (ownership_.has(group.id)) dispatcher_.open_group(group.id);
}

void JobTracker::find_groups(std::vector<std::string> names, std::function<void(Status)> then) {
  std::erase_if(names, [this](const std::string& name) { return !may_be_new(name); });
  if (names.empty()) return then({});
  const std::string name = std::move(names.back());
  names.pop_back();
  GroupSearch& one = searches_[name];
  one.next.push_back(
      [this, names = std::move(names), then = std::move(then)](const Status& asked) mutable {
        asked.ok() ? find_groups(std::move(names), std::move(then)) : then(asked);
      });
  if (one.asking.empty()) search(name);
}

void JobTracker::search(const std::string& name) {
  GroupSearch& one = searches_.at(name);
  one.asking = std::exchange(one.next, {});
  batcher_.ask(FindGroup{.name = name}, [this, name](Result<ReadAnswer> answer) {
    if (answer.ok()) know(std::get<GroupAnswer>(answer.value()).group);
    Status asked;
    if (!answer.ok() && answer.error().code != ErrorCode::kNotFound) asked = answer.error();
    if (stopping_) asked = stopping_error();
    GroupSearch& found = searches_.at(name);
    const auto all = std::exchange(found.asking, {});
    found.next.empty() ? (void)searches_.erase(name) : search(name);
    for (const auto& then : all) then(asked);
  });
}

void JobTracker::with_group(const std::string& name,
                            std::function<void(Result<const Group*>)> then) {
  if (const Group* group = catalog_.group(name)) return then(group);
  auto& waiting = groups_to_come_[name];
  waiting.push_back(std::move(then));
  if (waiting.size() > 1) return;
  batcher_.ask(MakeGroup{.name = name}, [this, name](Result<ReadAnswer> answer) {
    const auto all = std::move(groups_to_come_[name]);
    groups_to_come_.erase(name);
    if (!answer.ok()) {
      for (const auto& one : all) one(answer.error());
      return;
    }
    const Group& group = std::get<GroupAnswer>(answer.value()).group;
    know(group);
    for (const auto& one : all) one(catalog_.group(group.id));
  });
}

}  // namespace carillon::jobtracker
