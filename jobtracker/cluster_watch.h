#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "jobtracker/store/commit_stall_detector.h"
#include "jobtracker/store/sql/mysql_store.h"
#include "jobtracker/store/store_thread.h"
#include "shared/base/log.h"
#include "shared/runtime/chore.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"

namespace carillon::jobtracker {

// State of the loop for the watch.
struct LoopState {
  std::atomic<SteadyTime> turned_at{SteadyTime{}};
  std::atomic<std::int32_t> last_group{0};  // the highest known group number
  std::atomic<bool> yields{false};          // ClusterMove::yields, announced with the heartbeat
  std::atomic<bool> is_in_a_hurry{true};    // look again soon
};

// Sends the session's heartbeat and observes the other job trackers. The heartbeat pauses while the
// loop or the store connection is stalled, because another job tracker should replace it then. The
// store thread reports lost connections.
//
// Thread: the loop. It has its own thread for its connection.
class ClusterWatch {
 public:
  // `connection` must outlive the watch. `on_view` is called on the loop.
  static Result<std::unique_ptr<ClusterWatch>> start(
      const std::string& store, SessionId session, const Clock& clock, const LoopState& state,
      const StoreThread& connection, EventLoop& loop,
      std::function<void(const ClusterView&)> on_view);
  ~ClusterWatch();
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

 private:
  ClusterWatch(const Clock& clock, const LoopState& state, const StoreThread& connection,
               EventLoop& loop, std::unique_ptr<MysqlHeartbeat> heartbeat,
               std::function<void(const ClusterView&)> on_view);

  Duration look();
  void heartbeat(SteadyTime now);
  void watch_connection(const ClusterView& view);

  const Clock& clock_;
  const LoopState& state_;
  const StoreThread& connection_;
  EventLoop& loop_;
  const std::unique_ptr<MysqlHeartbeat> heartbeat_;
  const std::function<void(const ClusterView&)> on_view_;
  const Logger log_{"jobtracker.cluster"};
  CommitStallDetector stall_detector_{};  // owned by its thread, like all that follows
  SteadyTime next_heartbeat_{};
  bool said_yields_ = false;
  SteadyTime proven_{};
  Partitions used_{};
  std::int32_t groups_seen_ = 0;
  Mailbox<ClusterView> views_{64};
  std::unique_ptr<Chore> chore_;
};

}  // namespace carillon::jobtracker
