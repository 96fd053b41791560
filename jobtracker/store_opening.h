#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "jobtracker/program.h"
#include "jobtracker/store/sql/mysql_store.h"
#include "shared/base/log.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"
#include "shared/runtime/wakeup.h"

namespace carillon::jobtracker {

bool is_sqlite(const Settings& settings);
std::string sqlite_path(const Settings& settings);  // Requires: is_sqlite().

Result<std::unique_ptr<ReadOnlyStore>> open_reader(const Settings& settings);

// Opens the store for a session on its own thread, because that may be slow: the database may be
// unreachable, and other job trackers are observed first. Before join() it only connects. It
// retries an unreachable or full store for --store-wait; without limit while standing by or
// changing the session.
//
// Thread: the loop.
class StoreOpening {
 public:
  static constexpr Duration kSayWaiting = std::chrono::seconds{10};
  struct News {
    bool is_connected = false;
    bool is_away = false;  // or full; once
    std::optional<SessionHeartbeat>
        other{};              // uses a store of an older version: this one stands by
    bool is_waiting = false;  // for the silence of others; every kSayWaiting
    std::optional<Result<OpenedStore>> end{};
  };

  // `on_news` is called on the loop; the result comes last.
  static Result<std::unique_ptr<StoreOpening>> start(const Settings& settings, SessionId session,
                                                     const Clock& clock, EventLoop& loop,
                                                     std::function<void(News)> on_news);
  ~StoreOpening();
  StoreOpening(const StoreOpening&) = delete;
  StoreOpening& operator=(const StoreOpening&) = delete;

  // Starts now. Call once.
  void join(Joining joining);

 private:
  StoreOpening(const Settings& settings, SessionId session, const Clock& clock, EventLoop& loop,
               std::function<void(News)> on_news);

  void run();
  std::optional<Joining> await_joining();
  Result<OpenedStore> open(const Joining& joining);
  void say_away(const Error& error, bool is_patient);
  void say_waiting(const std::vector<SessionHeartbeat>& quiet);
  // False: it must stop.
  bool wait(Duration longest);

  const Settings& settings_;
  const StoreSession who_;
  const Clock& clock_;
  EventLoop& loop_;
  const std::function<void(News)> on_news_;
  const Logger log_{"jobtracker"};
  MysqlConnections connections_{};  // owned by its thread, like all that follows
  bool stands_by_ = false;
  bool is_known_away_ = false;
  std::optional<SteadyTime> said_waiting_{};
  Mailbox<News> news_{64};
  Mailbox<Joining> joinings_{1};
  std::atomic<bool> is_stopping_{false};
  Wakeup woken_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon::jobtracker
