#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <variant>

#include "jobtracker/store/batcher.h"
#include "jobtracker/store/store.h"
#include "jobtracker/store/store_work_queue.h"
#include "shared/base/log.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/runtime/thread.h"

namespace carillon::jobtracker {

// The database became unreachable, or reachable again.
struct StoreHealth {
  bool is_away = false;
  std::string reason{};
};

// Most reads at the store thread; further ones wait in the loop.
inline constexpr std::size_t kStoreReadsMax = 1024;

using StoreAnswer = std::variant<BatchDone, ReadDone, StoreHealth>;
using OnStoreAnswer = std::function<void(StoreAnswer)>;

// A store connection with its thread. It does requests in the order of StoreWorkQueue. While the
// database is unreachable it retries, first after 100 ms, at most every second. A commit with an
// unknown outcome is settled before anything else.
//
// Thread: the loop. The store is used only on the store thread.
class StoreThread final : public StoreConnection {
 public:
  // Answers arrive as calls of on_answer on `loop`.
  static Result<std::unique_ptr<StoreThread>> start(std::unique_ptr<Store> store, EventLoop& loop,
                                                    OnStoreAnswer on_answer);
  // Stops waiting for an unreachable database; pending requests are dropped.
  ~StoreThread() override;

  void commit(Batch batch) override;
  void read(std::uint64_t token, Read question) override;

  // The number of the commit in progress, unique per commit; 0: none. Thread: any.
  std::uint64_t commit_under_way() const { return commit_under_way_; }

 private:
  StoreThread(std::unique_ptr<Store> store, EventLoop& loop, OnStoreAnswer on_answer);
  void ask_more();
  void run();
  void do_batch(Batch batch);
  void end_batch(BatchDone done);
  // The end of a commit whose outcome was unknown.
  CommitResult settle(const Batch& batch, Unknown unknown);
  void do_read(StoreQuestion question);
  // False: asked to stop.
  bool wait_before_retry(const Error& error);
  void say_back();
  void answer(StoreAnswer answer);

  std::unique_ptr<Store> store_;
  EventLoop& loop_;
  Logger log_{"jobtracker.store"};
  OnStoreAnswer on_answer_;
  Mailbox<StoreWork> inbox_{kStoreReadsMax + 2};  // the current batch, and the stop request
  std::deque<StoreQuestion> to_ask_;              // reads beyond kStoreReadsMax
  std::size_t asked_ = 0;                         // unanswered reads
  std::uint64_t last_commit_ = 0;
  std::atomic<std::uint64_t> commit_under_way_{0};
  Mailbox<StoreAnswer> outbox_{16384};
  std::atomic<bool> stopping_{false};
  Wakeup stop_;
  Duration backoff_{};  // 0: the database answers
  std::unique_ptr<Thread> thread_;
};

// Answers queries of clients on its own thread and connection. Thread: the loop; on_answer is
// called on it.
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
