#include "jobtracker/store_opening.h"

#include <string_view>
#include <utility>

#include "jobtracker/store/sql/sqlite_store.h"
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

}  // namespace

bool is_sqlite(const Settings& settings) { return settings.store.rfind(kSqlite, 0) == 0; }

std::string sqlite_path(const Settings& settings) { return settings.store.substr(kSqlite.size()); }

Result<std::unique_ptr<ReadOnlyStore>> open_reader(const Settings& settings) {
  if (is_sqlite(settings)) return open_sqlite_reader(sqlite_path(settings));
  return open_mysql_reader(settings.store);
}

Result<std::unique_ptr<StoreOpening>> StoreOpening::start(const Settings& settings,
                                                          SessionId session, Joining joining,
                                                          const Clock& clock, EventLoop& loop,
                                                          std::function<void(News)> on_news) {
  std::unique_ptr<StoreOpening> opening(
      new StoreOpening(settings, session, std::move(joining), clock, loop, std::move(on_news)));
  opening->thread_ = CARILLON_TRY(Thread::start("opening", [raw = opening.get()] { raw->run(); }));
  return opening;
}

StoreOpening::StoreOpening(const Settings& settings, SessionId session, Joining joining,
                           const Clock& clock, EventLoop& loop, std::function<void(News)> on_news)
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

StoreOpening::~StoreOpening() {
  stop_.signal();
  if (thread_) thread_->join();
  loop_.unwatch(news_.fd());
}

Result<OpenedStore> StoreOpening::open() {
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

void StoreOpening::run() {
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

}  // namespace carillon::jobtracker
