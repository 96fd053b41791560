#include "jobtracker/host.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "jobtracker/exit_status.h"
#include "jobtracker/store/sql/sqlite_store.h"
#include "shared/base/host_name.h"
#include "shared/base/time_text.h"
#include "shared/net/endpoint.h"
#include "shared/net/http/curl_courier.h"
#include "shared/net/http_url.h"
#include "shared/net/own_machine.h"
#include "shared/net/zmq/curve_keys.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/runtime/sd_notify.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kStopPatience = std::chrono::seconds{5};  // longest wait for pending commits
// Then the longest wait for a store that does not answer. Unstored requests have no answer.
constexpr std::chrono::seconds kEndPatience{2};
// A prepared session that is not used is closed: idle connections may be lost unnoticed.
constexpr Duration kPreparedMax = std::chrono::seconds{5};
// Extension of the start time-out for a session that waits for the silence of others, until the
// next report or the end of its reads.
constexpr Duration kStartMore = std::chrono::minutes{1};
constexpr Duration kPauseMax = std::chrono::seconds{3};  // a longer pause shows as not ready
// A stopping job tracker waits at most this long for a look at the others.
constexpr Duration kUnseenMax = std::chrono::seconds{5};

int exit_with(int status, const std::string& message) {
  std::fprintf(stderr, "jobtracker: %s\n", message.c_str());
  return status;
}

int exit_status_of(const Error& error) {
  const bool away = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kConflict ||
                    error.code == ErrorCode::kTimeout || error.code == ErrorCode::kLimit;
  return away ? kExitStore : kExitConfiguration;
}

Status make_data_folder(const Settings& settings) {
  if (!settings.default_store) return {};
  std::error_code failed;
  std::filesystem::create_directories(settings.data, failed);
  if (!failed) return {};
  return Error{ErrorCode::kInvalidArgument, "data folder " + settings.data + ": " +
                                                failed.message() + " (choose another with --data)"};
}

// Moves checkpoints out of the commits.
Result<std::unique_ptr<Chore>> start_checkpoints(const std::string& path) {
  std::shared_ptr<SqliteCheckpointer> checkpointer = CARILLON_TRY(SqliteCheckpointer::open(path));
  return Chore::start("checkpoint",
                      [checkpointer, log = Logger{"jobtracker.store"}, said = false]() mutable {
                        const Status status = checkpointer->run_once();
                        if (!status.ok() && !std::exchange(said, true))
                          log.warn("cannot copy the write-ahead log into the database", "error",
                                   status.error().message);
                        if (status.ok()) said = false;
                        return SqliteCheckpointer::kPeriod;
                      });
}

}  // namespace

// Address for clients and task trackers of other machines.
std::string Host::own_address() const {
  if (!settings_.advertise.empty()) return settings_.advertise;
  auto endpoint = net::parse_endpoint(transport_->endpoint());
  if (!endpoint.ok()) return transport_->endpoint();
  const std::string& host = endpoint.value().host;
  if (host == "*" || host == "0.0.0.0" || host == "::") endpoint.value().host = host_name();
  return endpoint.value().text();
}

// ---- the doors ----

int Host::open_doors() {
  auto signals = Signals::open(loop_, [this](int signal, int) { on_signal(signal); });
  if (!signals.ok()) return exit_with(kExitBug, signals.error().message);
  signals_ = std::move(signals).value();
  if (const Status made = make_data_folder(settings_); !made.ok())
    return exit_with(kExitConfiguration, made.error().message);
  if (const Status open = listen(); !open.ok())
    return exit_with(kExitConfiguration, open.error().message);
  return 0;
}

Status Host::listen() {
  transport_ =
      CARILLON_TRY(net::listen_zmq(loop_, environment_, settings_.listen, settings_.access,
                                   [this](const std::string& key) { return stored_key(key); }));
  internal_ = std::make_unique<net::InternalServer>(loop_);
  auto courier =
      net::CurlCourier::start({.smtp = settings_.smtp, .from = settings_.smtp_from}, loop_, clock_);
  if (!courier.ok()) return courier.error().with_context("--smtp");
  courier_ = std::move(courier).value();
  CARILLON_TRY(listen_to_executors());
  if (settings_.http.empty()) return {};
  CARILLON_TRY(start_api());
  auto pages = OperationsPages::open(
      settings_.http, settings_.http_access, loop_,
      {.metrics = [this] { return metrics(); },
       .levels =
           [this](const std::string& group, OperationsPages::OnLevels done) {
             if (tracker() != nullptr) return tracker()->ask_levels(group, std::move(done));
             done(Error{ErrorCode::kUnavailable, "the job tracker is starting, try again"});
           },
       .on_answered = [this](Duration time) { http_times_.record(time); },
       .names = settings_.http_names},
      settings_.xxl_listen.empty() ? xxl_.get() : nullptr, api_pages());
  if (!pages.ok()) return pages.error().with_context("--http");
  pages_ = std::move(pages).value();
  return {};
}

void Host::on_signal(int signal) {
  if (signal == SIGHUP && reloads_on_hangup()) return reload_certificates();
  if (std::exchange(is_to_stop_, true)) return stop();
  // An error of the service manager is ignored.
  (void)sd_notify(environment_, "STOPPING=1");
  const bool works = tracker() != nullptr && tracker()->is_ready();
  works || change_ ? leave() : stop();
}

// The other job trackers take over its node groups in portions, while it works.
void Host::leave() {
  if (!membership_.has_others()) return stop();
  log_.info("stopping; first handing the node groups to the other job trackers");
  seen_at_ = clock_.steady_now();
  membership_.leave(seen_at_, seen_at_ + kNotice + settings_.tracker.recovery.lease);
  loop_state_.yields = true;
  if (tracker() != nullptr) tracker()->expect_pause(true);
  watch_leaving();
}

// Does not wait for job trackers that it cannot see.
void Host::watch_leaving() {
  const SteadyTime now = clock_.steady_now();
  if (stopped_) return;
  if (now >= seen_at_ + kUnseenMax) return stop();
  loop_.post_at(now + kLook, [this] { watch_leaving(); });
}

void Host::stop() {
  if (std::exchange(stopped_, true)) return;
  Signals::end_process_on_next(0);
  if (tracker() == nullptr || is_opening_) return loop_.stop();
  xxl_->set_open(false);
  tracker()->stop();
  if (pages_) pages_->set_ready(false);
  loop_.post_at(clock_.steady_now() + kStopPatience, [this] { loop_.stop(); });
}

// New requests wait in the waiting room.
void Host::wait_in_room() {
  room_.reset();
  room_ = std::make_unique<StartupResponder>(*transport_);
  room_->set_internal(*internal_);
}

// ---- a session begins ----

Joining Host::joining() const {
  Joining joining{.address = own_address(), .silence = settings_.silence};
  if (!change_) return joining;
  joining.before = session_;
  joining.wanted = change_->wanted;
  joining.silent = change_->silent;
  return joining;
}

// Prepares the next session while the current one works.
Status Host::prepare() {
  if (next_) return {};
  auto next = std::make_unique<Next>();
  next->session = SessionId{static_cast<std::int64_t>(random_.next() >> 2) + 1};
  next->opening = CARILLON_TRY(
      StoreOpening::start(settings_, next->session, clock_, loop_,
                          [this](StoreOpening::News news) { on_opening(std::move(news)); }));
  next_ = std::move(next);
  return {};
}

void Host::on_opening(StoreOpening::News news) {
  if (news.other) return stand_by(*news.other);
  if (news.is_away) {
    room_->set_reason("the store is unreachable or full, try again");
    if (pages_) pages_->set_ready(false);
    return;
  }
  if (news.is_waiting) {
    room_->set_reason("this job tracker is waiting until another one counts as dead, try again");
    // Extends the service manager's start time-out while it waits.
    (void)sd_notify(environment_, "EXTEND_TIMEOUT_USEC=" + std::to_string(kStartMore.count()) +
                                      "\nSTATUS=waiting until another job tracker counts as dead");
    return;
  }
  if (news.is_connected) {
    next_->connected_at = clock_.steady_now();
    return make_way_if_prepared();
  }
  stands_by_ = false;
  next_->opened = std::move(news.end);
  loop_.stop();
}

// Runs the loop until the store is open, cannot be opened, or the loop is stopped.
Result<OpenedStore> Host::open_store() {
  CARILLON_TRY(prepare());
  next_->opening->join(joining());
  // The replaced session must not use its store any more.
  is_opening_ = true;
  loop_.run();
  is_opening_ = false;
  if (!next_->opened) return Error{ErrorCode::kUnavailable, "the job tracker was stopped"};
  return *std::move(next_->opened);
}

void Host::stand_by(const SessionHeartbeat& other) {
  stands_by_ = true;
  const std::string name = "job tracker '" + other.name + "'";
  log_.info("standing by: a job tracker of an older version uses the store", "tracker", other.name,
            "session", other.session.value);
  room_->set_reason("this job tracker stands by while " + name + " uses the store");
  // For the service manager the program has started.
  (void)sd_notify(environment_, "READY=1\nSTATUS=standing by while " + name + " uses the store");
}

// Returns 0 if the session works.
int Host::begin(OpenedStore opened, JobTracker::Memory memory) {
  auto life = std::make_unique<Life>(loop_);
  loop_state_.turned_at = clock_.steady_now();
  loop_state_.last_group = 0;
  loop_state_.yields = membership_.is_leaving();
  loop_state_.is_in_a_hurry = true;
  auto reader = open_reader(settings_);
  if (!reader.ok())
    return exit_with(exit_status_of(reader.error()), "store: " + reader.error().message);
  auto questions = QueryThread::start(std::move(reader).value(), loop_);
  if (!questions.ok()) return exit_with(kExitBug, questions.error().message);
  life->questions = std::move(questions).value();
  // Its connection is opened meanwhile: with thousands of tables SQLite takes half a second for it.
  life->questions->ask(FindGroup{}, [](const Result<ReadAnswer>&) {});
  auto connection = start_store_thread(std::move(opened.store));
  if (!connection.ok()) return exit_with(kExitBug, connection.error().message);
  life->connection = std::move(connection).value();
  if (const Status started = start_chores(*life); !started.ok()) return fail(started.error());
  const auto on_fatal = [this](const Error& error) {
    if (is_opening_) return;  // The opening reports this.
    fail(error);
    loop_.stop();
  };
  life->tracker = std::make_unique<JobTracker>(
      settings_.tracker, session_, clock_, random_, life->task_runner, *life->connection,
      *life->questions, [this] { on_ready(); }, on_fatal);
  life_ = std::move(life);
  if (!is_sqlite(settings_)) tracker()->proven(opened.proven);
  tracker()->use(access_);
  tracker()->set_console(console_url());
  tracker()->set_poster(*poster_);
  tracker()->set_courier(*courier_);
  tracker()->go_on_from(std::move(memory));
  if (!is_sqlite(settings_)) tracker()->set_splitting(begin_split());
  if (const auto split = std::exchange(split_, std::nullopt)) tracker()->split_first(*split);
  tracker()->set_internal(*internal_);
  tracker()->start(*transport_);
  if (is_known_ready_)
    room_->receive();  // Requests are queued until the session has read its store.
  return 0;
}

Status Host::start_chores(Life& life) {
  if (is_sqlite(settings_)) {
    life.checkpoints = CARILLON_TRY(start_checkpoints(sqlite_path(settings_)));
  } else {
    life.watch = CARILLON_TRY(
        ClusterWatch::start(settings_.store, session_, clock_, loop_state_, *life.connection, loop_,
                            [this](const ClusterView& view) { on_view(view); }));
  }
  return {};
}

Result<std::unique_ptr<StoreThread>> Host::start_store_thread(std::unique_ptr<Store> store) {
  return StoreThread::start(std::move(store), loop_, [this](StoreAnswer answer) {
    if (auto* read = std::get_if<ReadDone>(&answer))
      return tracker()->on_read_done(std::move(*read));
    if (auto* batch = std::get_if<BatchDone>(&answer))
      tracker()->on_batch_done(std::move(*batch));
    else
      tracker()->on_store_health(std::get<StoreHealth>(answer).is_away);
    show_readiness();
  });
}

void Host::on_ready() {
  loop_state_.last_group = tracker()->last_group().value;
  seen_at_ = clock_.steady_now();
  membership_.begin(session_, tracker()->owned(), seen_at_);
  if (pause_since_) {
    const Duration pause = std::chrono::duration_cast<Duration>(seen_at_ - *pause_since_);
    log_.info("working with the node groups that it owns now", "partitions",
              tracker()->owned().count(), "pause", format_duration(pause));
  }
  pause_since_.reset();
  if (pages_) pages_->set_ready(true);
  xxl_->set_open(true);
  clear_away();
  if (std::exchange(is_known_ready_, true)) return room_->pass_to(*tracker());
  const std::string xxl = xxl_server_ ? " xxl=" + xxl_server_->url() : "";
  std::printf("jobtracker: ready listen=%s http=%s%s store=%s\n", transport_->endpoint().c_str(),
              pages_ ? pages_->url().c_str() : "off", xxl.c_str(), place_.c_str());
  std::fflush(stdout);
  (void)sd_notify(environment_, "READY=1\nSTATUS=serving");  // See above.
}

// Freeing the memory of the last session is slow, and must not block the loop.
void Host::clear_away() {
  if (!last_) return;
  std::shared_ptr<JobTracker> last = std::move(last_);
  auto started = Thread::start("clear", [last = std::move(last)]() mutable { last.reset(); });
  if (started.ok()) clearing_ = std::move(started).value();
}

void Host::close_doors() {
  room_.reset();
  pages_.reset();
  if (api_) api_->gateway().stop();  // Its work asks the sign-in who is known.
  sign_in_.reset();
  api_.reset();
  internal_.reset();
  transport_.reset();
}

// The remaining parts of the session must not use its store.
void Host::end_session(Life& life) {
  life.watch.reset();
  life.connection.reset();
}

// ---- and makes way for the next ----

void Host::on_view(const ClusterView& view) {
  if (tracker() == nullptr) return;
  tracker()->on_cluster(view);
  if (!tracker()->is_ready() || stopped_ || change_) return;
  seen_at_ = clock_.steady_now();
  loop_state_.last_group = tracker()->last_group().value;
  ClusterMove move =
      membership_.saw(view, !tracker()->awaits_silent(), tracker()->definition_counts());
  if (move.ends) return stop();
  wanted_ = std::move(move.change);
  loop_state_.yields = move.yields;
  loop_state_.is_in_a_hurry = move.is_unsettled;
  tracker()->expect_pause(membership_.is_leaving() || (move.prepares && move.is_unsettled));
  const bool is_stale = is_prepared() && clock_.steady_now() >= *next_->connected_at + kPreparedMax;
  if (!move.prepares && is_stale) next_.reset();
  if (move.prepares && !prepare().ok()) return;  // The next look tries again.
  make_way_if_prepared();
}

void Host::make_way_if_prepared() {
  if (wanted_ && is_prepared() && !stopped_ && !change_) make_way(*std::move(wanted_));
}

void Host::make_way(OwnershipChange change) {
  change_ = std::move(change);
  wanted_.reset();
  if (membership_.is_leaving()) {
    // See above: the wait may exceed the service manager's time-out.
    (void)sd_notify(environment_, "EXTEND_TIMEOUT_USEC=" + std::to_string(kStartMore.count()));
  }
  pause_since_ = clock_.steady_now();
  wait_in_room();
  room_->keep();
  xxl_->set_open(false);
  tracker()->hand_over(*room_);
  patience_ = loop_.post_at(clock_.steady_now() + kStopPatience, [this] { loop_.stop(); });
}

// The session that executes the split also answers the request.
JobTracker::BeginSplit Host::begin_split() {
  return [this](const GroupSplit& split, const net::Sender& sender, const std::string& frame) {
    loop_.post([this, split, sender, frame] {
      if (stopped_) return;
      if (is_to_stop_) room_->set_reason("the job tracker is stopping");
      if (!is_to_stop_ && !change_ && tracker() != nullptr &&
          tracker()->is_ready()) {  // Otherwise the next session gets the request.
        log_.info("split a node group", "group", split.group, "parts", split.parts);
        split_ = split;
        make_way({.wanted = tracker()->owned()});
      }
      room_->on_frame(sender, frame);
    });
  };
}

bool Host::end_turn() {
  loop_state_.turned_at = clock_.steady_now();
  if (tracker() == nullptr || is_opening_) return false;
  const bool again = tracker()->end_turn();
  if ((stopped_ || change_) && tracker()->is_idle()) loop_.stop();
  return again;
}

// Called when the loop turns, also while the store is read for the first time.
void Host::turn_on() {
  loop_.post_at(clock_.steady_now() + kHeartbeat, [this] {
    show_readiness();
    turn_on();
  });
}

// Two consecutive sessions are one short pause; only a long pause shows as not ready.
void Host::show_readiness() {
  if (!pages_ || tracker() == nullptr) return;
  if (pause_since_ && clock_.steady_now() < *pause_since_ + kPauseMax) return;
  pages_->set_ready(tracker()->is_ready() && !tracker()->is_stalled());
}

int Host::fail(const Error& error) {
  return status_ = exit_with(kExitStore, "store: " + error.message);
}

int Host::run() {
  if (const int failed = open_doors(); failed != 0) return failed;
  turn_on();
  loop_.at_end_of_turn([this] { return end_turn(); });
  while (true) {
    if (!change_) wait_in_room();
    auto opened = open_store();
    if (stopped_) break;
    if (!opened.ok()) {
      const bool was_fenced = opened.error().code == ErrorCode::kDenied && change_;
      return exit_with(was_fenced ? kExitStore : exit_status_of(opened.error()),
                       "store: " + opened.error().message);
    }
    auto before = std::exchange(life_, nullptr);
    JobTracker::Memory memory;
    if (before) {
      // A split moves definitions between partitions.
      memory = before->tracker->take_memory(split_ ? Partitions{} : change_->wanted);
      before->tracker->leave_doors();
    }
    if (opened.value().newly_made) log_.info("created a new store", "at", opened.value().place);
    place_ = opened.value().place;
    session_ = next_->session;
    next_.reset();
    change_.reset();
    const int failed = begin(std::move(opened).value(), std::move(memory));
    if (before) last_ = std::move(before->tracker);
    before.reset();
    if (failed != 0) return failed;
    loop_.run();
    if (!change_ || stopped_ || status_ != 0) break;
    loop_.cancel(patience_);
    log_.info("rebalanced the node groups", "partitions", change_->wanted.count(), "before",
              tracker()->owned().count(), "fenced", change_->silent.size());
  }
  Signals::end_process_on_next(status_);
  const bool is_away = life_ && !tracker()->is_idle();
  if (is_away) {
    log_.warn("the store does not answer; this job tracker stops without it");
    close_doors();
  }
  if (!is_sqlite(settings_)) Signals::end_process_after(kEndPatience, status_);
  // First, because others wait for the end of the session.
  if (life_) end_session(*life_);
  // Then, because task trackers change to others when their connection closes. Freeing the rest may
  // be slow.
  close_doors();
  life_.reset();
  log_.info("stopped");
  return status_;
}

}  // namespace carillon::jobtracker
