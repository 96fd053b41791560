#include "jobtracker/store/store_thread.h"

#include <algorithm>
#include <utility>

#include "shared/base/assert.h"

namespace carillon::jobtracker {
namespace {

constexpr Duration kBackoffFirst = std::chrono::milliseconds{100};
constexpr Duration kBackoffLast = std::chrono::seconds{1};
constexpr Duration kOutboxFull = std::chrono::milliseconds{1};  // until the next try

bool may_pass(const Error& error) {
  return error.code == ErrorCode::kUnavailable || error.code == ErrorCode::kConflict ||
         error.code == ErrorCode::kTimeout;
}

}  // namespace

Result<std::unique_ptr<StoreThread>> StoreThread::start(std::unique_ptr<Store> store,
                                                        EventLoop& loop, OnStoreAnswer on_answer) {
  std::unique_ptr<StoreThread> connection(
      new StoreThread(std::move(store), loop, std::move(on_answer)));
  connection->thread_ =
      CARILLON_TRY(Thread::start("store", [raw = connection.get()] { raw->run(); }));
  return connection;
}

StoreThread::StoreThread(std::unique_ptr<Store> store, EventLoop& loop, OnStoreAnswer on_answer)
    : store_(std::move(store)), loop_(loop), on_answer_(std::move(on_answer)) {
  loop_.watch(outbox_.fd(), [this] {
    outbox_.clear();
    while (auto one = outbox_.take()) {
      if (std::holds_alternative<ReadDone>(*one)) --asked_;
      on_answer_(std::move(*one));
    }
    ask_more();
  });
}

void StoreThread::ask_more() {
  while (!to_ask_.empty() && asked_ < kStoreReadsMax) {
    const bool taken = inbox_.put(std::move(to_ask_.front()));
    CARILLON_ASSERT(taken, "the inbox has room for all reads in progress");
    to_ask_.pop_front();
    ++asked_;
  }
}

StoreThread::~StoreThread() {
  stopping_ = true;
  stop_.signal();
  inbox_.put(StoreQuestion{});  // Wakes the thread; a full inbox means that it is awake.
  if (thread_) thread_->join();
  loop_.unwatch(outbox_.fd());
}

void StoreThread::commit(Batch batch) {
  commit_under_way_ = ++last_commit_;
  const bool taken = inbox_.put(std::move(batch));
  CARILLON_ASSERT(taken, "one batch is in progress at a time, and reads leave room for it");
}

void StoreThread::read(std::uint64_t token, Read question) {
  to_ask_.push_back({token, std::move(question)});
  ask_more();
}

void StoreThread::run() {
  StoreWorkQueue line;
  while (!stopping_) {
    while (auto work = inbox_.take()) line.put(std::move(*work));
    if (stopping_) break;
    auto work = line.next();
    if (!work) {
      inbox_.wait();
    } else if (auto* batch = std::get_if<Batch>(&*work)) {
      do_batch(std::move(*batch));
    } else {
      do_read(std::move(std::get<StoreQuestion>(*work)));
    }
  }
}

void StoreThread::do_batch(Batch batch) {
  while (true) {
    CommitResult result = store_->commit(batch);
    if (auto* unknown = std::get_if<Unknown>(&result)) result = settle(batch, std::move(*unknown));
    if (auto* committed = std::get_if<Committed>(&result)) {
      say_back();
      return end_batch({std::move(batch), std::move(*committed)});
    }
    if (auto* rolled_back = std::get_if<RolledBack>(&result)) {
      if (rolled_back->fenced || !may_pass(rolled_back->error)) {
        return end_batch({std::move(batch), std::move(*rolled_back)});
      }
      if (!wait_before_retry(rolled_back->error)) return;
    } else {
      return;  // Settling ended early, because the process stops.
    }
  }
}

void StoreThread::end_batch(BatchDone done) {
  commit_under_way_ = 0;  // Before the loop learns of this end and starts another commit.
  answer(std::move(done));
}

CommitResult StoreThread::settle(const Batch& batch, Unknown unknown) {
  log_.warn("the outcome of a commit is unknown; checking it", "batch", batch.number);
  while (true) {
    const Result<bool> settled = store_->settle(batch.number);
    if (settled.ok()) {
      log_.info("the outcome of a commit is known now", "batch", batch.number, "committed",
                settled.value() ? "yes" : "no");
      if (settled.value()) return std::move(unknown.if_committed);
      return RolledBack{
          .error = Error{ErrorCode::kUnavailable, "the connection broke before the commit"}};
    }
    if (!may_pass(settled.error())) {
      return RolledBack{.error = settled.error(),
                        .fenced = settled.error().code == ErrorCode::kDenied};
    }
    if (!wait_before_retry(settled.error())) return unknown;
  }
}

void StoreThread::do_read(StoreQuestion question) {
  while (true) {
    auto result = store_->read(question.read);
    if (result.ok() || !may_pass(result.error())) {
      if (result.ok()) say_back();
      answer(ReadDone{question.token, std::move(result)});
      return;
    }
    if (!wait_before_retry(result.error())) return;
  }
}

bool StoreThread::wait_before_retry(const Error& error) {
  if (error.code == ErrorCode::kConflict) return !stopping_;  // A deadlock: retry immediately.
  if (backoff_ == Duration{}) {
    log_.warn("the store is unreachable; retrying", "error", error.message);
    answer(StoreHealth{.is_away = true, .reason = error.message});
    backoff_ = kBackoffFirst;
  } else {
    backoff_ = std::min(backoff_ * 2, kBackoffLast);
  }
  return !stop_.wait_for(backoff_) && !stopping_;
}

void StoreThread::say_back() {
  if (backoff_ == Duration{}) return;
  backoff_ = Duration{};
  log_.info("the store is reachable again");
  answer(StoreHealth{});
}

void StoreThread::answer(StoreAnswer answer) {
  while (!outbox_.put(std::move(answer))) {
    if (stop_.wait_for(kOutboxFull) || stopping_) return;
  }
}

Result<std::unique_ptr<QueryThread>> QueryThread::start(std::unique_ptr<ReadOnlyStore> store,
                                                        EventLoop& loop) {
  std::unique_ptr<QueryThread> query(new QueryThread(std::move(store), loop));
  query->thread_ = CARILLON_TRY(Thread::start("query", [raw = query.get()] { raw->run(); }));
  return query;
}

QueryThread::QueryThread(std::unique_ptr<ReadOnlyStore> store, EventLoop& loop)
    : store_(std::move(store)), loop_(loop) {
  loop_.watch(outbox_.fd(), [this] {
    outbox_.clear();
    while (auto one = outbox_.take()) one->on_answer(std::move(one->answer));
  });
}

QueryThread::~QueryThread() {
  stopping_ = true;
  stop_.signal();
  inbox_.put(Question{});  // Wakes the thread; a full inbox means that it is awake.
  if (thread_) thread_->join();
  loop_.unwatch(outbox_.fd());
}

void QueryThread::ask(Read question, std::function<void(Result<ReadAnswer>)> on_answer) {
  Question asked{std::move(question), std::move(on_answer)};
  if (!inbox_.put(std::move(asked))) {
    asked.on_answer(Error{ErrorCode::kLimit, "too many queries are waiting, try again"});
  }
}

void QueryThread::run() {
  while (!stopping_) {
    auto question = inbox_.take();
    if (!question) {
      inbox_.wait();
      continue;
    }
    if (stopping_) return;
    Answer answer{store_->read(question->read), std::move(question->on_answer)};
    while (!outbox_.put(std::move(answer))) {
      if (stop_.wait_for(kOutboxFull) || stopping_) return;
    }
  }
}

}  // namespace carillon::jobtracker
