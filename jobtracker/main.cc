#include <atomic>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "jobtracker/cluster/membership.h"
#include "jobtracker/http/operations_pages.h"
#include "jobtracker/job_tracker.h"
#include "jobtracker/program.h"
#include "jobtracker/store/sql/mysql_store.h"
#include "jobtracker/store/sql/sqlite_store.h"
#include "jobtracker/store/store_thread.h"
#include "jobtracker/waiting_room.h"
#include "shared/base/clock.h"
#include "shared/base/host_name.h"
#include "shared/base/random.h"
#include "shared/net/endpoint.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/life_executor.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/sd_notify.h"
#include "shared/runtime/signals.h"
#include "shared/runtime/thread.h"
#include "shared/runtime/wakeup.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr int kExitConfiguration = 2;
constexpr int kExitStore = 3;
constexpr int kExitBug = 70;
constexpr Duration kStoreRetry = std::chrono::milliseconds{500};
constexpr Duration kStopPatience = std::chrono::seconds{5};  // for what is under way to the store
constexpr Duration kLoopStuck = std::chrono::seconds{60};  // longer than any start takes to decide

int fail(int status, const std::string& message) {
  std::fprintf(stderr, "jobtracker: %s\n", message.c_str());
  return status;
}

bool is_sqlite(const Settings& settings) { return settings.store.rfind("sqlite:", 0) == 0; }
std::string sqlite_path(const Settings& settings) { return settings.store.substr(7); }

ScheduleText describe(std::string_view spec) {
  const auto decoded = wire::decode_spec(spec);
  if (!decoded.ok()) return {};
  return {.schedule = decoded.value().schedule.cron, .tz = decoded.value().schedule.tz};
}

Status make_data_folder(const Settings& settings) {
  if (!settings.default_store) return {};
  std::error_code failed;
  std::filesystem::create_directories(settings.data, failed);
  if (!failed) return {};
  return Error{ErrorCode::kInvalidArgument, "data folder " + settings.data + ": " +
                                                failed.message() + " (choose another with --data)"};
}

// Opens the store on a thread of its own, because that may take long: the database may be away, and
// others that work on it are watched first.
class StoreOpening {
 public:
  struct News {
    std::optional<SessionBeat> other{};  // at work on an older store: this one stands by
    std::optional<Result<OpenedStore>> end{};
  };

  // `on_news` is called on the loop, with the end last.
  static Result<std::unique_ptr<StoreOpening>> start(const Settings& settings, SessionId session,
                                                     Joining joining, const Clock& clock,
                                                     EventLoop& loop,
                                                     std::function<void(News)> on_news) {
    std::unique_ptr<StoreOpening> opening(
        new StoreOpening(settings, session, std::move(joining), clock, loop, std::move(on_news)));
    opening->thread_ =
        CARILLON_TRY(Thread::start("opening", [raw = opening.get()] { raw->run(); }));
    return opening;
  }
  ~StoreOpening() {
    stop_.signal();
    if (thread_) thread_->join();
    loop_.unwatch(news_.fd());
  }
  StoreOpening(const StoreOpening&) = delete;
  StoreOpening& operator=(const StoreOpening&) = delete;

 private:
  StoreOpening(const Settings& settings, SessionId session, Joining joining, const Clock& clock,
               EventLoop& loop, std::function<void(News)> on_news)
      : settings_(settings),
        who_{.session = session, .name = settings.name},
        joining_(std::move(joining)),
        clock_(clock),
        loop_(loop),
        on_news_(std::move(on_news)) {
    loop_.watch(news_.fd(), [this] {
      news_.clear();
      while (auto one = news_.take()) on_news_(std::move(*one));
    });
  }

  Result<OpenedStore> open() {
    if (is_sqlite(settings_))
      return open_sqlite_store(sqlite_path(settings_), who_, describe, clock_, log_);
    const StandBy stand_by{.on_other =
                               [this](const SessionBeat& other) {
                                 stands_by_ = true;
                                 news_.put({.other = other});
                               },
                           .wait = [this](Duration longest) { return !stop_.wait_for(longest); }};
    return open_mysql_store(settings_.store, who_, describe, joining_, stand_by, clock_, log_);
  }

  // A store that can't be reached is tried again for --store-wait; by one that stands by, for ever.
  void run() {
    const SteadyTime until = clock_.steady_now() + settings_.store_wait;
    bool said = false;
    while (true) {
      auto opened = open();
      const bool is_away = !opened.ok() && opened.error().code == ErrorCode::kUnavailable;
      const bool is_over = !is_away || (!stands_by_ && clock_.steady_now() >= until);
      if (!is_over && !std::exchange(said, true))
        log_.warn("the store can't be reached, trying again", "error", opened.error().message);
      if (is_over || stop_.wait_for(kStoreRetry)) {
        news_.put({.end = std::move(opened)});
        return;
      }
    }
  }

  const Settings& settings_;
  const StoreSession who_;
  const Joining joining_;
  const Clock& clock_;
  EventLoop& loop_;
  const std::function<void(News)> on_news_;
  const Logger log_{"jobtracker"};
  bool stands_by_ = false;  // the thread's
  Mailbox<News> news_{64};
  Wakeup stop_;
  std::unique_ptr<Thread> thread_;
};

// Runs the loop until the store is there, or cannot be opened, or the loop is stopped.
Result<OpenedStore> open_store(const Settings& settings, const Environment& environment,
                               SessionId session, const Joining& joining, const Clock& clock,
                               EventLoop& loop, WaitingRoom& room, bool& stands_by,
                               const Logger& log) {
  Result<OpenedStore> opened = Error{ErrorCode::kUnavailable, "the job tracker was stopped"};
  const auto on_news = [&](StoreOpening::News news) {
    if (news.other) {
      stands_by = true;
      const std::string other = "job tracker '" + news.other->name + "'";
      log.info("standing by, another job tracker works on the store, which is of an older version",
               "tracker", news.other->name, "session", news.other->session.value);
      room.set_reason("this job tracker stands by, " + other + " works on the store");
      // For a service manager it has started.
      (void)sd_notify(environment, "READY=1\nSTATUS=standing by, " + other + " works on the store");
      return;
    }
    stands_by = false;
    opened = std::move(*news.end);
    loop.stop();
  };
  const auto opening =
      CARILLON_TRY(StoreOpening::start(settings, session, joining, clock, loop, on_news));
  loop.run();
  return opened;
}

int exit_status_of(const Error& error) {
  const bool away = error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kConflict ||
                    error.code == ErrorCode::kTimeout;
  return away ? kExitStore : kExitConfiguration;
}

Result<std::unique_ptr<ReadOnlyStore>> open_reader(const Settings& settings) {
  if (is_sqlite(settings)) return open_sqlite_reader(sqlite_path(settings));
  return open_mysql_reader(settings.store);
}

// Does something again and again, on a thread of its own.
class Chore {
 public:
  static Result<std::unique_ptr<Chore>> start(const std::string& name, Duration period,
                                              std::function<void()> work) {
    std::unique_ptr<Chore> chore(new Chore);
    chore->thread_ =
        CARILLON_TRY(Thread::start(name, [raw = chore.get(), period, work = std::move(work)] {
          do {
            work();
          } while (!raw->stop_.wait_for(period));
        }));
    return chore;
  }
  ~Chore() {
    stop_.signal();
    if (thread_) thread_->join();
  }
  Chore(const Chore&) = delete;
  Chore& operator=(const Chore&) = delete;

 private:
  Chore() = default;

  Wakeup stop_;
  std::unique_ptr<Thread> thread_;
};

// Keeps checkpoints out of the commits.
Result<std::unique_ptr<Chore>> start_checkpoints(const std::string& path) {
  std::shared_ptr<SqliteCheckpointer> checkpointer = CARILLON_TRY(SqliteCheckpointer::open(path));
  return Chore::start("checkpoint", SqliteCheckpointer::kPeriod,
                      [checkpointer, log = Logger{"jobtracker.store"}, said = false]() mutable {
                        const Status status = checkpointer->run_once();
                        if (!status.ok() && !std::exchange(said, true))
                          log.warn("the write-ahead log could not be copied back", "error",
                                   status.error().message);
                        if (status.ok()) said = false;
                      });
}

// Raises the session's beat, as long as the loop turns, because one that is stuck is to be
// replaced; and looks at the other job trackers in between. A lost connection is the store thread's
// to tell of.
class ClusterWatch {
 public:
  static Result<std::unique_ptr<ClusterWatch>> start(
      const Settings& settings, SessionId session, const Clock& clock,
      const std::atomic<SteadyTime>& turned_at, const std::atomic<std::int32_t>& last_group,
      EventLoop& loop, std::function<void(const ClusterView&)> on_view) {
    std::unique_ptr<ClusterWatch> watch(new ClusterWatch(loop, std::move(on_view)));
    std::shared_ptr<MysqlBeat> beat = CARILLON_TRY(MysqlBeat::open(settings.store, session));
    watch->chore_ = CARILLON_TRY(Chore::start(
        "beat", kLook,
        [raw = watch.get(), beat, &clock, &turned_at, &last_group, next = SteadyTime{}]() mutable {
          const SteadyTime now = clock.steady_now();
          if (now >= next && now < turned_at.load() + kLoopStuck) {
            (void)beat->run_once();
            next = now + kBeat;
          }
          auto view = beat->look(clock, GroupId{last_group.load()});
          if (view.ok()) raw->views_.put(std::move(view).value());
        }));
    return watch;
  }
  ~ClusterWatch() {
    chore_.reset();
    loop_.unwatch(views_.fd());
  }
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

 private:
  ClusterWatch(EventLoop& loop, std::function<void(const ClusterView&)> on_view)
      : loop_(loop), on_view_(std::move(on_view)) {
    loop_.watch(views_.fd(), [this] {
      views_.clear();
      while (const auto view = views_.take()) on_view_(*view);
    });
  }

  EventLoop& loop_;
  const std::function<void(const ClusterView&)> on_view_;
  Mailbox<ClusterView> views_{64};
  std::unique_ptr<Chore> chore_;
};

// How clients and task trackers of other machines reach this one.
std::string address_of(const Settings& settings, const net::ServerTransport& transport) {
  if (!settings.advertise.empty()) return settings.advertise;
  auto endpoint = net::parse_endpoint(transport.endpoint());
  if (!endpoint.ok()) return transport.endpoint();
  const std::string& host = endpoint.value().host;
  if (host == "*" || host == "0.0.0.0" || host == "::") endpoint.value().host = host_name();
  return endpoint.value().text();
}

// A process of the job tracker, from the store's opening to its end: one session after the other,
// each with the partitions that it owns. Whenever these change, what is under way is stored, the
// next session takes the place of the last, and reads what it has to know.
class Host {
 public:
  Host(const Settings& settings, const Environment& environment)
      : settings_(settings), environment_(environment) {}

  int run();

 private:
  // Of one session.
  struct Life {
    explicit Life(Executor& outer) : executor(outer) {}
    LifeExecutor executor;
    std::unique_ptr<QueryThread> questions;
    std::unique_ptr<StoreThread> lane;
    std::unique_ptr<JobTracker> tracker;
    std::unique_ptr<Chore> checkpoints;
    std::unique_ptr<ClusterWatch> watch;
  };

  int fail(const Error& error) {
    return status_ = jobtracker::fail(kExitStore, "store: " + error.message);
  }
  Status listen();
  void on_signal();
  void wait_in_room();
  int begin(OpenedStore opened);
  void on_ready();
  void on_view(const ClusterView& view);
  bool end_turn();
  void turn_on();
  JobTracker* tracker() { return life_ ? life_->tracker.get() : nullptr; }

  const Settings& settings_;
  const Environment& environment_;
  const SystemClock clock_{};
  SystemRandom random_{};
  const Logger log_{"jobtracker"};
  EventLoop loop_{clock_};
  std::unique_ptr<net::ServerTransport> transport_;
  std::unique_ptr<OperationsPages> pages_;
  std::unique_ptr<Signals> signals_;
  Membership membership_{log_};
  std::unique_ptr<WaitingRoom> room_;
  std::unique_ptr<Life> life_;
  std::atomic<SteadyTime> turned_at_{SteadyTime{}};
  std::atomic<std::int32_t> last_group_{0};
  SessionId session_{};
  std::string place_{};
  bool stopped_ = false;
  bool stands_by_ = false;
  bool is_opening_ = false;
  bool is_known_ready_ = false;
  std::optional<OwnershipChange> change_{};  // this session is to make way for another
  TimerId patience_ = 0;
  int status_ = 0;
};

void Host::on_signal() {
  if (std::exchange(stopped_, true)) return;
  Signals::end_process_on_next(0);
  (void)sd_notify(environment_,
                  "STOPPING=1");  // A manager that does not listen is its own problem.
  if (tracker() == nullptr || is_opening_) return loop_.stop();
  tracker()->stop();
  if (pages_) pages_->set_ready(false);
  loop_.post_at(clock_.steady_now() + kStopPatience, [this] { loop_.stop(); });
}

Status Host::listen() {
  transport_ =
      CARILLON_TRY(net::listen_zmq(loop_, environment_, settings_.listen, settings_.access));
  if (settings_.http.empty()) return {};
  auto pages = OperationsPages::open(settings_.http, loop_, [this] {
    auto numbers = tracker() == nullptr ? std::vector<NamedNumber>{} : tracker()->stats();
    numbers.emplace_back("standing_by", stands_by_ ? 1 : 0);
    return numbers;
  });
  if (!pages.ok()) return pages.error().with_context("--http");
  pages_ = std::move(pages).value();
  return {};
}

// Whoever comes waits there.
void Host::wait_in_room() {
  room_.reset();
  room_ = std::make_unique<WaitingRoom>(*transport_);
}

// 0: it works.
int Host::begin(OpenedStore opened) {
  auto life = std::make_unique<Life>(loop_);
  turned_at_ = clock_.steady_now();
  last_group_ = 0;
  if (is_sqlite(settings_)) {
    auto checkpoints = start_checkpoints(sqlite_path(settings_));
    if (!checkpoints.ok()) return fail(checkpoints.error());
    life->checkpoints = std::move(checkpoints).value();
  } else {
    auto watch = ClusterWatch::start(settings_, session_, clock_, turned_at_, last_group_, loop_,
                                     [this](const ClusterView& view) { on_view(view); });
    if (!watch.ok()) return fail(watch.error());
    life->watch = std::move(watch).value();
  }
  auto reader = open_reader(settings_);
  if (!reader.ok()) {
    return jobtracker::fail(exit_status_of(reader.error()), "store: " + reader.error().message);
  }
  auto questions = QueryThread::start(std::move(reader).value(), loop_);
  if (!questions.ok()) return jobtracker::fail(kExitBug, questions.error().message);
  life->questions = std::move(questions).value();
  auto lane = StoreThread::start(std::move(opened.store), loop_, [this](LaneAnswer answer) {
    if (auto* read = std::get_if<ReadDone>(&answer))
      return tracker()->on_read_done(std::move(*read));
    if (auto* batch = std::get_if<BatchDone>(&answer))
      tracker()->on_batch_done(std::move(*batch));
    else
      tracker()->on_store_health(std::get<StoreHealth>(answer).is_away);
    if (pages_) pages_->set_ready(tracker()->is_ready());
  });
  if (!lane.ok()) return jobtracker::fail(kExitBug, lane.error().message);
  life->lane = std::move(lane).value();
  const auto on_fatal = [this](const Error& error) {
    if (is_opening_) return;  // The opening tells.
    fail(error);
    loop_.stop();
  };
  life->tracker = std::make_unique<JobTracker>(
      settings_.tracker, session_, clock_, random_, life->executor, *life->lane, *life->questions,
      [this] { on_ready(); }, on_fatal);
  life_ = std::move(life);
  tracker()->start(*transport_);
  if (is_known_ready_) room_->receive();  // What comes is kept until it has read its store.
  return 0;
}

void Host::on_ready() {
  last_group_ = tracker()->last_group().value;
  membership_.begin(session_, tracker()->owned(), clock_.steady_now());
  if (pages_) pages_->set_ready(true);
  if (std::exchange(is_known_ready_, true)) return room_->pass_to(*tracker());
  std::printf("jobtracker: ready listen=%s http=%s store=%s\n", transport_->endpoint().c_str(),
              pages_ ? pages_->url().c_str() : "off", place_.c_str());
  std::fflush(stdout);
  (void)sd_notify(environment_, "READY=1\nSTATUS=serving");  // As above.
}

// Of the other job trackers.
void Host::on_view(const ClusterView& view) {
  if (tracker() == nullptr || !tracker()->is_ready() || stopped_ || change_) return;
  tracker()->on_cluster(view);
  last_group_ = tracker()->last_group().value;
  change_ = membership_.saw(view);
  if (!change_) return;
  wait_in_room();
  room_->keep();
  tracker()->hand_over();
  patience_ = loop_.post_at(clock_.steady_now() + kStopPatience, [this] { loop_.stop(); });
}

bool Host::end_turn() {
  turned_at_ = clock_.steady_now();
  // One whose place is being taken says nothing more to its store.
  if (tracker() == nullptr || is_opening_) return false;
  const bool again = tracker()->end_turn();
  if ((stopped_ || change_) && tracker()->is_idle()) loop_.stop();
  return again;
}

// The loop turns, also while the store is read for the first time.
void Host::turn_on() {
  loop_.post_at(clock_.steady_now() + kBeat, [this] { turn_on(); });
}

int Host::run() {
  // Commands, payloads and output are nobody else's business: the store and its folder are private.
  ::umask(S_IRWXG | S_IRWXO);
  auto signals = Signals::open(loop_, [this](int, int) { on_signal(); });
  if (!signals.ok()) return jobtracker::fail(kExitBug, signals.error().message);
  signals_ = std::move(signals).value();
  if (const Status made = make_data_folder(settings_); !made.ok())
    return jobtracker::fail(kExitConfiguration, made.error().message);
  if (const Status open = listen(); !open.ok())
    return jobtracker::fail(kExitConfiguration, open.error().message);
  turn_on();
  loop_.at_end_of_turn([this] { return end_turn(); });
  while (true) {
    if (!change_) wait_in_room();
    Joining joining{.address = address_of(settings_, *transport_)};
    if (change_) {
      joining.before = session_;
      joining.wanted = change_->wanted;
      joining.silent = change_->silent;
    }
    const SessionId next{static_cast<std::int64_t>(random_.next() >> 2) + 1};
    is_opening_ = true;
    auto opened =
        open_store(settings_, environment_, next, joining, clock_, loop_, *room_, stands_by_, log_);
    is_opening_ = false;
    if (stopped_) break;
    if (!opened.ok()) {
      const bool is_fenced = opened.error().code == ErrorCode::kDenied && joining.before;
      return jobtracker::fail(is_fenced ? kExitStore : exit_status_of(opened.error()),
                              "store: " + opened.error().message);
    }
    life_.reset();
    if (!change_ && opened.value().newly_made)
      log_.info("made a new store", "at", opened.value().place);
    place_ = opened.value().place;
    session_ = next;
    change_.reset();
    if (const int failed = begin(std::move(opened).value()); failed != 0) return failed;
    loop_.run();
    if (!change_ || stopped_ || status_ != 0) break;
    loop_.cancel(patience_);
    log_.info("the node groups are divided anew", "partitions", change_->wanted.count(), "before",
              tracker()->owned().count(), "fenced", change_->silent.size());
  }
  Signals::end_process_on_next(status_);
  life_.reset();
  log_.info("stopped");
  return status_;
}

int main_of(int argc, const char* const* argv) {
  const Environment environment = Environment::of_process();
  const auto parsed = parse_configuration(make_program(environment), argc, argv);
  if (!parsed.ok()) return fail(kExitConfiguration, parsed.error().message);
  if (parsed.value().print) {
    std::fputs(parsed.value().print->c_str(), stdout);
    return 0;
  }
  const Configuration& configuration = parsed.value().configuration;
  Result<Settings> settings = read_settings(configuration, environment);
  if (!settings.ok()) return fail(kExitConfiguration, settings.error().message);
  set_log_level(settings.value().log_level);
  const Logger log{"configuration"};
  for (const EffectiveOption& option : configuration.effective()) {
    log.debug("option", "name", option.name, "value", option.value, "source", option.source);
  }
  return Host(settings.value(), environment).run();
}

}  // namespace
}  // namespace carillon::jobtracker

int main(int argc, char** argv) {
  try {
    return carillon::jobtracker::main_of(argc, argv);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "jobtracker: bug: %s\n", thrown.what());
    return carillon::jobtracker::kExitBug;
  }
}
