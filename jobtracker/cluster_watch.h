#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "jobtracker/store/sql/mysql_store.h"
#include "shared/runtime/chore.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"

namespace carillon::jobtracker {

// What the loop tells the watch of itself.
struct LoopState {
  std::atomic<SteadyTime> turned_at{SteadyTime{}};
  std::atomic<std::int32_t> last_group{0};  // the highest number that it knows
};

// Raises the session's beat, as long as the loop turns, because one that is stuck is to be
// replaced; and looks at the other job trackers in between. A lost connection is the store thread's
// to tell of.
//
// Thread: the loop; it has one of its own for its connection.
class ClusterWatch {
 public:
  // `on_view` is called on the loop.
  static Result<std::unique_ptr<ClusterWatch>> start(
      const std::string& store, SessionId session, const Clock& clock, const LoopState& state,
      EventLoop& loop, std::function<void(const ClusterView&)> on_view);
  ~ClusterWatch();
  ClusterWatch(const ClusterWatch&) = delete;
  ClusterWatch& operator=(const ClusterWatch&) = delete;

 private:
  ClusterWatch(const Clock& clock, const LoopState& state, EventLoop& loop,
               std::unique_ptr<MysqlBeat> beat, std::function<void(const ClusterView&)> on_view);

  void look();

  const Clock& clock_;
  const LoopState& state_;
  EventLoop& loop_;
  const std::unique_ptr<MysqlBeat> beat_;
  const std::function<void(const ClusterView&)> on_view_;
  SteadyTime next_beat_{};  // the thread's
  SteadyTime proven_{};     // likewise
  Partitions used_{};       // likewise
  std::int32_t groups_seen_ = 0;
  Mailbox<ClusterView> views_{64};
  std::unique_ptr<Chore> chore_;
};

}  // namespace carillon::jobtracker
