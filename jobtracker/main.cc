#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include <sys/stat.h>

#include "jobtracker/http/operations_pages.h"
#include "jobtracker/job_tracker.h"
#include "jobtracker/program.h"
#include "jobtracker/store/sql/mysql_store.h"
#include "jobtracker/store/sql/sqlite_store.h"
#include "jobtracker/store/store_thread.h"
#include "shared/base/clock.h"
#include "shared/base/random.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/sd_notify.h"
#include "shared/runtime/signals.h"
#include "shared/runtime/thread.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr int kExitConfiguration = 2;
constexpr int kExitStore = 3;
constexpr int kExitBug = 70;
constexpr Duration kStoreRetry = std::chrono::milliseconds{500};
constexpr Duration kStopPatience = std::chrono::seconds{5};  // for what is under way to the store
constexpr Duration kCheckpointPeriod = std::chrono::seconds{1};

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

Result<OpenedStore> open_store(const Settings& settings, SessionId session, const Clock& clock,
                               const Logger& log) {
  const StoreSession who{.session = session, .name = settings.name};
  if (is_sqlite(settings))
    return open_sqlite_store(sqlite_path(settings), who, describe, clock, log);
  return open_mysql_store(settings.store, who, describe, clock, log);
}

// A store that can't be reached is tried again for --store-wait, or until `stopped`.
Result<OpenedStore> open_store_patiently(const Settings& settings, SessionId session,
                                         EventLoop& loop, const bool& stopped, const Clock& clock,
                                         const Logger& log) {
  const SteadyTime until = clock.steady_now() + settings.store_wait;
  bool said = false;
  while (true) {
    auto opened = open_store(settings, session, clock, log);
    if (opened.ok() || opened.error().code != ErrorCode::kUnavailable ||
        clock.steady_now() >= until)
      return opened;
    if (!std::exchange(said, true))
      log.warn("the store can't be reached, trying again", "error", opened.error().message);
    const SteadyTime next = clock.steady_now() + kStoreRetry;
    while (!stopped && clock.steady_now() < next) loop.run_once(kStoreRetry);
    if (stopped) return opened;
  }
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

// Keeps checkpoints out of the commits, on a thread of its own.
class Checkpoints {
 public:
  static Result<std::unique_ptr<Checkpoints>> start(const std::string& path) {
    auto checkpoints = std::make_unique<Checkpoints>();
    checkpoints->checkpointer_ = CARILLON_TRY(SqliteCheckpointer::open(path));
    checkpoints->thread_ =
        CARILLON_TRY(Thread::start("checkpoint", [raw = checkpoints.get()] { raw->run(); }));
    return checkpoints;
  }
  ~Checkpoints() {
    stop_.signal();
    if (thread_) thread_->join();
  }

 private:
  void run() {
    bool said = false;
    while (!stop_.wait_for(kCheckpointPeriod)) {
      const Status status = checkpointer_->run_once();
      if (!status.ok() && !std::exchange(said, true))
        log_.warn("the write-ahead log could not be copied back", "error", status.error().message);
      if (status.ok()) said = false;
    }
  }

  Logger log_{"jobtracker.store"};
  Wakeup stop_;
  std::unique_ptr<SqliteCheckpointer> checkpointer_;
  std::unique_ptr<Thread> thread_;
};

int run(const Settings& settings, const Environment& environment) {
  // Commands, payloads and output are nobody else's business: the store and its folder are private.
  ::umask(S_IRWXG | S_IRWXO);
  const SystemClock clock;
  SystemRandom random;
  const Logger log{"jobtracker"};
  EventLoop loop(clock);
  bool stopped = false;
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
    auto open_pages = OperationsPages::open(settings.http, loop, [&tracker] {
      return tracker == nullptr ? std::vector<NamedNumber>{} : tracker->stats();
    });
    if (!open_pages.ok()) return fail(kExitConfiguration, "--http: " + open_pages.error().message);
    pages = std::move(open_pages).value();
  }
  auto opened = open_store_patiently(settings, session, loop, stopped, clock, log);
  if (stopped) return 0;
  if (!opened.ok()) return fail(exit_status_of(opened.error()), "store: " + opened.error().message);
  const std::string place = opened.value().place;
  if (opened.value().newly_made) log.info("made a new store", "at", place);
  std::unique_ptr<Checkpoints> checkpoints;
  if (is_sqlite(settings)) {
    auto started = Checkpoints::start(sqlite_path(settings));
    if (!started.ok()) return fail(kExitStore, "store: " + started.error().message);
    checkpoints = std::move(started).value();
  }
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
    (void)sd_notify(environment, "READY=1");  // As above.
  };
  const auto on_fatal = [&](const Error& error) {
    status = fail(kExitStore, "store: " + error.message);
    loop.stop();
  };
  JobTracker job_tracker(settings.tracker, session, clock, random, loop, *lane.value(),
                         *questions.value(), on_ready, on_fatal);
  tracker = &job_tracker;
  loop.at_end_of_turn([&] {
    const bool again = job_tracker.end_turn();
    if (stopped && job_tracker.is_idle()) loop.stop();
    return again;
  });
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
