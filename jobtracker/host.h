#pragma once

#include <memory>
#include <optional>
#include <string>

#include "jobtracker/access/access_registry.h"
#include "jobtracker/api/api_server.h"
#include "jobtracker/api/sign_in.h"
#include "jobtracker/cluster/membership.h"
#include "jobtracker/cluster_watch.h"
#include "jobtracker/http/operations_pages.h"
#include "jobtracker/http/xxl_admin.h"
#include "jobtracker/job_tracker.h"
#include "jobtracker/program.h"
#include "jobtracker/startup_responder.h"
#include "jobtracker/store/store_thread.h"
#include "jobtracker/store_opening.h"
#include "shared/base/clock.h"
#include "shared/base/random.h"
#include "shared/net/courier.h"
#include "shared/net/http/http_poster.h"
#include "shared/net/http/http_server.h"
#include "shared/net/internal_transport.h"
#include "shared/runtime/chore.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/scoped_task_runner.h"
#include "shared/runtime/signals.h"
#include "shared/runtime/thread.h"

namespace carillon::jobtracker {

// A job tracker process, from the opening of the store to the end. It runs one session after the
// other, each with the partitions that it owns. When the partitions change, pending work is stored,
// and the next session replaces the current one; it reads its state like after a restart. The
// sockets (ZeroMQ, HTTP) and signals stay open, and requests wait for the next session.
//
// Thread: the main thread, which becomes the loop.
class Host {
 public:
  // `settings` and `environment` must outlive the host.
  Host(const Settings& settings, const Environment& environment)
      : settings_(settings), environment_(environment) {}
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Runs until the process is to exit. Returns the exit status.
  int run();

 private:
  // Of one session.
  struct Life {
    explicit Life(TaskRunner& outer) : task_runner(outer) {}
    ScopedTaskRunner task_runner;
    std::unique_ptr<QueryThread> questions;
    std::unique_ptr<StoreThread> connection;
    std::unique_ptr<JobTracker> tracker;
    std::unique_ptr<Chore> checkpoints;
    std::unique_ptr<ClusterWatch> watch;
  };

  // The next session.
  struct Next {
    SessionId session{};
    std::unique_ptr<StoreOpening> opening;
    std::optional<SteadyTime> connected_at{};  // when its preparation started
    std::optional<Result<OpenedStore>> opened{};
  };

  int open_doors();
  Status listen();
  std::function<std::vector<Metric>()> metrics();
  Status listen_to_executors();
  Status start_api();
  Status start_sign_in();
  FurtherPages api_pages();
  Result<bool> stored_key(const std::string& public_key) const;
  bool is_own_port(const std::string& address) const;
  std::string console_url() const;
  std::string own_address() const;
  void on_signal(int signal);
  bool reloads_on_hangup() const;
  void reload_certificates();
  void stop();
  void leave();
  void watch_leaving();
  void wait_in_room();
  Joining joining() const;
  Status prepare();
  void on_opening(StoreOpening::News news);
  bool is_prepared() const { return next_ && next_->connected_at; }
  Result<OpenedStore> open_store();
  void stand_by(const SessionHeartbeat& other);
  int begin(OpenedStore opened, JobTracker::Memory memory);
  Status start_chores(Life& life);
  void close_doors();
  static void end_session(Life& life);
  void clear_away();
  Result<std::unique_ptr<StoreThread>> start_store_thread(std::unique_ptr<Store> store);
  void on_ready();
  void on_view(const ClusterView& view);
  void make_way_if_prepared();
  void make_way(OwnershipChange change);
  JobTracker::BeginSplit begin_split();
  bool end_turn();
  void turn_on();
  void show_readiness();
  int fail(const Error& error);
  JobTracker* tracker() { return life_ ? life_->tracker.get() : nullptr; }

  const Settings& settings_;
  const Environment& environment_;
  const SystemClock clock_{};
  SystemRandom random_{};
  const Logger log_{"jobtracker"};
  EventLoop loop_{clock_};
  AccessRegistry access_{[this] { return clock_.wall_now(); }};
  SharedHistogram<kShortTimeBounds> http_times_{};
  std::unique_ptr<net::ServerTransport> transport_;
  std::unique_ptr<net::InternalServer> internal_;  // for the API
  std::unique_ptr<api::ApiServer> api_;            // nullptr: no HTTP
  std::unique_ptr<SignIn> sign_in_;                // uses the API's gateway
  std::unique_ptr<net::Poster> poster_;
  std::unique_ptr<net::Courier> courier_;
  std::unique_ptr<XxlAdmin> xxl_;
  // Nullptr: the server of the pages forwards to xxl_.
  std::unique_ptr<net::HttpServer> xxl_server_;
  std::unique_ptr<OperationsPages> pages_;
  std::unique_ptr<Signals> signals_;
  Membership membership_{log_, settings_.silence};
  std::unique_ptr<StartupResponder> room_;
  LoopState loop_state_{};
  std::unique_ptr<Life> life_;
  std::unique_ptr<JobTracker> last_;  // the previous session, until this one works
  std::unique_ptr<Thread> clearing_;
  SessionId session_{};
  std::string place_{};
  std::unique_ptr<Next> next_;
  bool is_to_stop_ = false;
  bool stopped_ = false;
  bool stands_by_ = false;
  bool is_opening_ = false;
  bool is_known_ready_ = false;
  std::optional<GroupSplit> split_{};  // the first action of the next session
  // From the last look; applied when the next session is ready.
  std::optional<OwnershipChange> wanted_{};
  std::optional<OwnershipChange> change_{};  // the change for which this session ends
  std::optional<SteadyTime> pause_since_{};  // since when no session works
  SteadyTime seen_at_{};                     // last observation of the other job trackers
  TimerId patience_ = 0;
  int status_ = 0;
};

}  // namespace carillon::jobtracker
