#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <variant>

#include "jobtracker/store/batcher.h"
#include "jobtracker/store/lane_line.h"
#include "jobtracker/store/store.h"
#include "shared/base/log.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon::jobtracker {

// The database went away, or came back.
struct StoreHealth {
  bool is_away = false;
  std::string reason{};
};

// Reads that lie with the store thread at a time; more wait on the loop's side.
inline constexpr std::size_t kLaneReadsMax = 1024;

using LaneAnswer = std::variant<BatchDone, ReadDone, StoreHealth>;
using OnLaneAnswer = std::function<void(LaneAnswer)>;

// A lane: one thread with one connection, which does what it is asked in the order that LaneLine
// says. While the database is away it tries again, every 100 ms at first and every second at last;
// a commit whose outcome is unknown is settled before anything else is done.
//
// Thread: the loop's, inside and out; the store is used on the lane's own thread only.
class StoreThread final : public StoreLane {
 public:
  // Answers come as calls of on_answer on `loop`.
  static Result<std::unique_ptr<StoreThread>> start(std::unique_ptr<Store> store, EventLoop& loop,
                                                    OnLaneAnswer on_answer);
  // Gives up waiting for a database that is away; what was asked and not begun is dropped.
  ~StoreThread() override;

  void commit(Batch batch) override;
  void read(std::uint64_t token, Read question) override;

  // Each commit has a number of its own; 0: none is under way. Thread: any.
  std::uint64_t commit_under_way() const { return commit_under_way_; }

 private:
  StoreThread(std::unique_ptr<Store> store, EventLoop& loop, OnLaneAnswer on_answer);
  void ask_more();
  void run();
  void do_batch(Batch batch);
  void end_batch(BatchDone done);
  // The end of a commit whose outcome was unknown.
  CommitResult settle(const Batch& batch, Unknown unknown);
  void do_read(LaneQuestion question);
  // False: asked to stop.
  bool wait_before_retry(const Error& error);
  void say_back();
  void answer(LaneAnswer answer);

  std::unique_ptr<Store> store_;
  EventLoop& loop_;
  Logger log_{"jobtracker.store"};
  OnLaneAnswer on_answer_;
  Mailbox<LaneWork> inbox_{kLaneReadsMax + 2};  // the batch under way, and the word to stop
  std::deque<LaneQuestion> to_ask_;             // reads beyond kLaneReadsMax
  std::size_t asked_ = 0;                       // reads that were not answered yet
  std::uint64_t last_commit_ = 0;
  std::atomic<std::uint64_t> commit_under_way_{0};
  Mailbox<LaneAnswer> outbox_{16384};
  std::atomic<bool> stopping_{false};
  Wakeup stop_;
  Duration backoff_{};  // 0: the database answers
  std::unique_ptr<Thread> thread_;
};

// Answers people's reads on a thread and a connection of its own.
// Thread: the loop's; on_answer is called on it.
class QueryThread final : public Questions {
 public:
  static Result<std::unique_ptr<QueryThread>> start(std::unique_ptr<ReadOnlyStore> store,
                                                    EventLoop& loop);
  ~QueryThread() override;

  void ask(Read question, std::function<void(Result<ReadAnswer>)> on_answer) override;

 private:
  struct Question {
    Read read{};
    std::function<void(Result<ReadAnswer>)> on_answer{};
  };
  struct Answer {
    Result<ReadAnswer> answer = Error{};
    std::function<void(Result<ReadAnswer>)> on_answer{};
  };

  QueryThread(std::unique_ptr<ReadOnlyStore> store, EventLoop& loop);
  void run();

  std::unique_ptr<ReadOnlyStore> store_;
  EventLoop& loop_;
  Mailbox<Question> inbox_{1024};
  Mailbox<Answer> outbox_{2048};
  std::atomic<bool> stopping_{false};
  Wakeup stop_;
  std::unique_ptr<Thread> thread_;
};

}  // namespace carillon::jobtracker
