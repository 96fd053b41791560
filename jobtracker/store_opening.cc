#include "jobtracker/store_opening.h"

#include <string_view>
#include <utility>

#include "jobtracker/store/sql/sqlite_store.h"
#include "shared/base/time_text.h"
#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kStoreRetry = std::chrono::milliseconds{500};
constexpr std::string_view kSqlite = "sqlite:";

ScheduleText describe(std::string_view spec) {
  const auto decoded = wire::decode_spec(spec);
  if (!decoded.ok()) return {};
  return {.schedule = decoded.value().schedule.cron, .tz = decoded.value().schedule.tz};
}

// kTimeout: the outcome of a commit is unknown. The next try finds out whether it is stored.
// kLimit: a disk is full.
bool may_pass(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kTimeout ||
         error.code == ErrorCode::kLimit;
}

}  // namespace

bool is_sqlite(const Settings& settings) { return settings.store.rfind(kSqlite, 0) == 0; }

std::string sqlite_path(const Settings& settings) { return settings.store.substr(kSqlite.size()); }

Result<std::unique_ptr<ReadOnlyStore>> open_reader(const Settings& settings) {
  if (is_sqlite(settings)) return open_sqlite_reader(sqlite_path(settings));
  return open_mysql_reader(settings.store);
}

Result<std::unique_ptr<StoreOpening>> StoreOpening::start(const Settings& settings,
                                                          SessionId session, const Clock& clock,
                                                          EventLoop& loop,
                                                          std::function<void(News)> on_news) {
  std::unique_ptr<StoreOpening> opening(
      new StoreOpening(settings, session, clock, loop, std::move(on_news)));
  opening->thread_ = CARILLON_TRY(Thread::start("opening", [raw = opening.get()] { raw->run(); }));
  return opening;
}

StoreOpening::StoreOpening(const Settings& settings, SessionId session, const Clock& clock,
                           EventLoop& loop, std::function<void(News)> on_news)
    : settings_(settings),
      who_{.session = session, .name = settings.name, .lease = settings.tracker.recovery.lease},
      clock_(clock),
      loop_(loop),
      on_news_(std::move(on_news)) {
  loop_.watch(news_.fd(), [this] {
    news_.clear();
    while (auto one = news_.take()) on_news_(std::move(*one));
  });
}

StoreOpening::~StoreOpening() {
  is_stopping_ = true;
  woken_.signal();
  if (thread_) thread_->join();
  loop_.unwatch(news_.fd());
}

void StoreOpening::join(Joining joining) {
  joinings_.put(std::move(joining));
  woken_.signal();
}

bool StoreOpening::wait(Duration longest) {
  woken_.wait_for(longest);
  return !is_stopping_;
}

// None: it must stop.
std::optional<Joining> StoreOpening::await_joining() {
  bool said = false;
  do {
    if (auto joining = joinings_.take()) return joining;
    if (is_sqlite(settings_) || connections_.connection) continue;
    auto connected = connect_mysql_store(settings_.store, who_);
    if (!connected.ok()) {
      // The opening reports permanent errors.
      if (may_pass(connected.error()) && !std::exchange(said, true))
        log_.warn("cannot connect to the store for the next session; retrying", "error",
                  connected.error().message);
      continue;
    }
    connections_ = std::move(connected).value();
    news_.put({.is_connected = true});
  } while (wait(kStoreRetry));
  return std::nullopt;
}

Result<OpenedStore> StoreOpening::open(const Joining& joining) {
  if (is_sqlite(settings_))
    return open_sqlite_store(sqlite_path(settings_), who_, describe, clock_, log_);
  const StandBy stand_by{.on_other =
                             [this](const SessionHeartbeat& other) {
                               stands_by_ = true;
                               news_.put({.other = other});
                             },
                         .on_quiet = [this](const auto& quiet) { say_waiting(quiet); },
                         .wait = [this](Duration longest) { return wait(longest); }};
  return open_mysql_store(std::exchange(connections_, {}), settings_.store, who_, describe, joining,
                          stand_by, clock_, log_);
}

void StoreOpening::run() {
  const auto joining = await_joining();
  if (!joining) return;
  // A process that has worked waits for its store without limit, also during a change of its
  // session.
  const bool is_patient = static_cast<bool>(joining->before);
  const SteadyTime until = clock_.steady_now() + settings_.store_wait;
  while (true) {
    auto opened = open(*joining);
    const bool is_away = !opened.ok() && may_pass(opened.error());
    const bool is_over = !is_away || (!is_patient && !stands_by_ && clock_.steady_now() >= until);
    if (!is_over) say_away(opened.error(), is_patient);
    if (opened.ok() && is_known_away_) log_.info("the store is reachable again");
    if (is_over || !wait(kStoreRetry)) {
      news_.put({.end = std::move(opened)});
      return;
    }
  }
}

// The other job tracker may be this one before it was killed.
void StoreOpening::say_waiting(const std::vector<SessionHeartbeat>& quiet) {
  const SteadyTime now = clock_.steady_now();
  if (said_waiting_ && now < *said_waiting_ + kSayWaiting) return;
  if (!said_waiting_) {
    std::string names;
    for (const SessionHeartbeat& one : quiet) names += (names.empty() ? "" : ", ") + one.name;
    log_.info(
        "waiting until job trackers without a clean stop have sent a heartbeat or count as dead",
        "trackers", names, "at_most", format_duration(settings_.silence));
  }
  said_waiting_ = now;
  news_.put({.is_waiting = true});
}

void StoreOpening::say_away(const Error& error, bool is_patient) {
  if (std::exchange(is_known_away_, true)) return;
  const bool is_full = error.code == ErrorCode::kLimit;
  const char* what = is_full      ? "the store is full; retrying"
                     : is_patient ? "the store is unreachable; retrying"
                                  : "cannot reach the store; retrying";
  log_.warn(what, "error", error.message);
  news_.put({.is_away = true});
}

}  // namespace carillon::jobtracker
