#include "carillon/feedback_listener.h"

#include <exception>
#include <utility>
#include <vector>

#include "shared/base/mutex.h"
#include "shared/base/random.h"
#include "shared/runtime/thread.h"

namespace carillon {
namespace {

constexpr std::int64_t kResultsAtOnce = 100;
// While a handler takes its time; far below what a job tracker waits for.
constexpr Duration kBeat = std::chrono::seconds{4};
constexpr Duration kTryAgain = std::chrono::seconds{1};
constexpr Duration kPause = std::chrono::milliseconds{20};  // when there was nothing

// The one place where an exception of a handler becomes an Error.
Status call(const FeedbackHandler& handler, const JobResult& result) {
  try {
    return handler(result);
  } catch (const std::exception& failure) {
    return Error{ErrorCode::kConflict, failure.what()};
  } catch (...) {
    return Error{ErrorCode::kConflict, "the handler threw an unknown exception"};
  }
}

}  // namespace

// Two threads: one that fetches and handles, and one that says meanwhile that somebody is there.
class FeedbackListener::Threads {
 public:
  Threads(std::unique_ptr<JobClient> client, std::string client_group, FeedbackHandler handler)
      : client_(std::move(client)),
        client_group_(std::move(client_group)),
        handler_(std::move(handler)) {
    SystemRandom random;
    listener_ = static_cast<std::int64_t>(random.next() >> 2) + 1;
  }

  Status start() {
    listening_ = CARILLON_TRY(Thread::start("feedback", [this] { listen(); }));
    beating_ = CARILLON_TRY(Thread::start("feedback-beat", [this] { beat(); }));
    return {};
  }

  void stop() {
    {
      const MutexLock lock(mutex_);
      is_stopping_ = true;
    }
    changed_.notify_all();
    if (listening_) {
      // Ends the wait of a request that is open; when it fails, that ends by itself.
      (void)client_->fetch_feedback({.client_group = client_group_, .listener = listener_});
      listening_->join();
    }
    if (beating_) beating_->join();
  }

 private:
  // False: the listener stops.
  bool rest(Duration time) {
    MutexLock lock(mutex_);
    if (!is_stopping_) changed_.wait_for(lock, time);
    return !is_stopping_;
  }
  bool is_stopping() {
    const MutexLock lock(mutex_);
    return is_stopping_;
  }
  void set_handling(bool handling) {
    const MutexLock lock(mutex_);
    is_handling_ = handling;
  }
  bool is_handling() {
    const MutexLock lock(mutex_);
    return is_handling_;
  }

  void listen() {
    FeedbackFetch next{
        .client_group = client_group_, .listener = listener_, .limit = kResultsAtOnce};
    while (!is_stopping()) {
      const auto results = client_->fetch_feedback(next);
      if (!results.ok()) {
        rest(kTryAgain);
        continue;  // With the same acknowledgements.
      }
      next.done.clear();
      next.refused = false;
      set_handling(true);
      for (const JobResult& result : results.value()) {
        if (is_stopping()) break;
        next.refused = !call(handler_, result).ok();
        if (next.refused) break;
        next.done.push_back(result.id);
      }
      set_handling(false);
      if (results.value().empty()) rest(kPause);
    }
    next.limit = 0;
    // When it fails, what was done comes again.
    if (!next.done.empty()) (void)client_->fetch_feedback(next);
  }

  void beat() {
    while (rest(kBeat)) {
      if (!is_handling()) continue;
      // When it fails, the next one may not.
      (void)client_->fetch_feedback({.client_group = client_group_, .listener = listener_});
    }
  }

  const std::unique_ptr<JobClient> client_;
  const std::string client_group_;
  const FeedbackHandler handler_;
  std::int64_t listener_ = 0;
  Mutex mutex_;
  Condition changed_;
  bool is_stopping_ CARILLON_GUARDED_BY(mutex_) = false;
  bool is_handling_ CARILLON_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Thread> listening_;
  std::unique_ptr<Thread> beating_;
};

FeedbackListener::FeedbackListener(std::unique_ptr<Threads> threads)
    : threads_(std::move(threads)) {}

FeedbackListener::~FeedbackListener() { threads_->stop(); }

Result<std::unique_ptr<FeedbackListener>> FeedbackListener::open(const JobClientOptions& options,
                                                                 const std::string& client_group,
                                                                 FeedbackHandler handler) {
  auto client = CARILLON_TRY(JobClient::open(options));
  return start(std::move(client), client_group, std::move(handler));
}

Result<std::unique_ptr<FeedbackListener>> FeedbackListener::start(std::unique_ptr<JobClient> client,
                                                                  const std::string& client_group,
                                                                  FeedbackHandler handler) {
  if (client_group.empty() || !handler) {
    return Error{ErrorCode::kInvalidArgument, "a listener needs a client group and a handler"};
  }
  std::unique_ptr<FeedbackListener> listener(new FeedbackListener(
      std::make_unique<Threads>(std::move(client), client_group, std::move(handler))));
  CARILLON_TRY(listener->threads_->start());
  return listener;
}

}  // namespace carillon
