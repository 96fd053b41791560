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

#include "jobtracker/http/operations_pages.h"
#include "jobtracker/job_tracker.h"
#include "jobtracker/program.h"
#include "jobtracker/store/sql/mysql_store.h"
#include "jobtracker/store/sql/sqlite_store.h"
#include "jobtracker/store/store_thread.h"
#include "jobtracker/waiting_room.h"
#include "shared/base/clock.h"
#include "shared/base/random.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/runtime/event_loop.h"
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
// another job tracker may work on it.
class StoreOpening {
 public:
  struct News {
    std::optional<SessionBeat> other{};  // at work on the store: this one stands by
    std::optional<Result<OpenedStore>> end{};
  };

  // `on_news` is called on the loop, with the end last.
  static Result<std::unique_ptr<StoreOpening>> start(const Settings& settings, SessionId session,
                                                     const Clock& clock, EventLoop& loop,
                                                     std::function<void(News)> on_news) {
    std::unique_ptr<StoreOpening> opening(
        new StoreOpening(settings, session, clock, loop, std::move(on_news)));
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
  StoreOpening(const Settings& settings, SessionId session, const Clock& clock, EventLoop& loop,
               std::function<void(News)> on_news)
      : settings_(settings),
        who_{.session = session, .name = settings.name},
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
    return open_mysql_store(settings_.store, who_, describe, stand_by, clock_, log_);
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
                               SessionId session, const Clock& clock, EventLoop& loop,
                               net::ServerTransport& transport, bool& stands_by,
                               const Logger& log) {
  WaitingRoom room(transport);
  Result<OpenedStore> opened = Error{ErrorCode::kUnavailable, "the job tracker was stopped"};
  const auto on_news = [&](StoreOpening::News news) {
    if (news.other) {
      stands_by = true;
      const std::string other = "job tracker '" + news.other->name + "'";
      log.info("standing by, another job tracker works on the store", "tracker", news.other->name,
               "session", news.other->session.value);
      room.set_reason("this job tracker stands by, " + other + " works on the store");
      // For a service manager it has started.
      (void)sd_notify(environment, "READY=1\nSTATUS=standing by, " + other + " works on the store");
      return;
    }
    stands_by = false;
    opened = std::move(*news.end);
    loop.stop();
  };
  const auto opening = CARILLON_TRY(StoreOpening::start(settings, session, clock, loop, on_news));
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

// Raises the session's beat, as long as the loop turns: one that is stuck is to be replaced. A lost
// connection is the store thread's to tell of.
Result<std::unique_ptr<Chore>> start_beats(const Settings& settings, SessionId session,
                                           const Clock& clock,
                                           const std::atomic<SteadyTime>& turned_at) {
  std::shared_ptr<MysqlBeat> beat = CARILLON_TRY(MysqlBeat::open(settings.store, session));
  return Chore::start("beat", kBeat, [beat, &clock, &turned_at] {
    if (clock.steady_now() < turned_at.load() + kLoopStuck) (void)beat->run_once();
  });
}

int run(const Settings& settings, const Environment& environment) {
  // Commands, payloads and output are nobody else's business: the store and its folder are private.
  ::umask(S_IRWXG | S_IRWXO);
  const SystemClock clock;
  SystemRandom random;
  const Logger log{"jobtracker"};
  EventLoop loop(clock);
  bool stopped = false;
  bool stands_by = false;
  JobTracker* tracker = nullptr;
  std::unique_ptr<OperationsPages> pages;
  auto signals = Signals::open(loop, [&](int, int) {
    if (std::exchange(stopped, true)) return;
    Signals::end_process_on_next(0);
    (void)sd_notify(environment,
                    "STOPPING=1");  // A manager that does not listen is its own problem.
    if (tracker == nullptr) return loop.stop();
    tracker->stop();
    if (pages) pages->set_ready(false);
    loop.post_at(clock.steady_now() + kStopPatience, [&loop] { loop.stop(); });
  });
  if (!signals.ok()) return fail(kExitBug, signals.error().message);

  const SessionId session{static_cast<std::int64_t>(random.next() >> 2) + 1};
  if (const Status made = make_data_folder(settings); !made.ok())
    return fail(kExitConfiguration, made.error().message);
  auto transport = net::listen_zmq(loop, environment, settings.listen, settings.access);
  if (!transport.ok()) return fail(kExitConfiguration, transport.error().message);
  if (!settings.http.empty()) {
    auto open_pages = OperationsPages::open(settings.http, loop, [&] {
      auto numbers = tracker == nullptr ? std::vector<NamedNumber>{} : tracker->stats();
      numbers.emplace_back("standing_by", stands_by ? 1 : 0);
      return numbers;
    });
    if (!open_pages.ok()) return fail(kExitConfiguration, "--http: " + open_pages.error().message);
    pages = std::move(open_pages).value();
  }
  auto opened =
      open_store(settings, environment, session, clock, loop, *transport.value(), stands_by, log);
  if (stopped) return 0;
  if (!opened.ok()) return fail(exit_status_of(opened.error()), "store: " + opened.error().message);
  const std::string place = opened.value().place;
  if (opened.value().newly_made) log.info("made a new store", "at", place);
  std::atomic<SteadyTime> turned_at{clock.steady_now()};
  auto chore = is_sqlite(settings) ? start_checkpoints(sqlite_path(settings))
                                   : start_beats(settings, session, clock, turned_at);
  if (!chore.ok()) return fail(kExitStore, "store: " + chore.error().message);
  auto reader = open_reader(settings);
  if (!reader.ok()) return fail(exit_status_of(reader.error()), "store: " + reader.error().message);
  auto questions = QueryThread::start(std::move(reader).value(), loop);
  if (!questions.ok()) return fail(kExitBug, questions.error().message);

  int status = 0;
  auto lane = StoreThread::start(std::move(opened.value().store), loop, [&](LaneAnswer answer) {
    if (auto* read = std::get_if<ReadDone>(&answer)) return tracker->on_read_done(std::move(*read));
    if (auto* batch = std::get_if<BatchDone>(&answer))
      tracker->on_batch_done(std::move(*batch));
    else
      tracker->on_store_health(std::get<StoreHealth>(answer).is_away);
    if (pages) pages->set_ready(tracker->is_ready());
  });
  if (!lane.ok()) return fail(kExitBug, lane.error().message);
  const auto on_ready = [&] {
    if (pages) pages->set_ready(true);
    std::printf("jobtracker: ready listen=%s http=%s store=%s\n",
                transport.value()->endpoint().c_str(), pages ? pages->url().c_str() : "off",
                place.c_str());
    std::fflush(stdout);
    (void)sd_notify(environment, "READY=1\nSTATUS=serving");  // As above.
  };
  const auto on_fatal = [&](const Error& error) {
    status = fail(kExitStore, "store: " + error.message);
    loop.stop();
  };
  JobTracker job_tracker(settings.tracker, session, clock, random, loop, *lane.value(),
                         *questions.value(), on_ready, on_fatal);
  tracker = &job_tracker;
  loop.at_end_of_turn([&] {
    turned_at = clock.steady_now();
    const bool again = job_tracker.end_turn();
    if (stopped && job_tracker.is_idle()) loop.stop();
    return again;
  });
  // The loop turns, also while the store is read for the first time.
  std::function<void()> turn = [&] { loop.post_at(clock.steady_now() + kBeat, turn); };
  turn();
  job_tracker.start(*transport.value());
  loop.run();
  Signals::end_process_on_next(status);
  log.info("stopped");
  return status;
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
  return run(settings.value(), environment);
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
