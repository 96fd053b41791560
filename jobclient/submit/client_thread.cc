#include "jobclient/submit/client_thread.h"

#include <utility>

#include "shared/base/mutex.h"
#include "shared/base/random.h"

namespace carillon {
namespace {

// A call so soon after a flush is of the same caller.
constexpr Duration kJustBefore = std::chrono::milliseconds{100};

// One answer for one thread that waits for it. A mutex, because a Mailbox would cost a descriptor
// a call.
template <class T>
class AnswerSlot {
 public:
  void put(Result<T> answer) {
    {
      const MutexLock lock(mutex_);
      answer_.emplace(std::move(answer));
    }
    // Not under the lock, on which the woken thread would go to sleep again.
    condition_.notify_one();
  }
  Result<T> wait() {
    MutexLock lock(mutex_);
    while (!answer_) condition_.wait(lock);
    return std::move(*answer_);
  }

 private:
  Mutex mutex_;
  Condition condition_;
  std::optional<Result<T>> answer_ CARILLON_GUARDED_BY(mutex_){};
};

Error overloaded() {
  return {ErrorCode::kLimit,
          std::to_string(kCallsMax) +
              " calls of this job client are in progress (make fewer at a time)"};
}

// 1 .. 2^59-1, see wire::RequestNumber.
std::int64_t draw_client(Random& random) {
  const auto drawn = static_cast<std::int64_t>(random.next() >> 5);
  return drawn == 0 ? 1 : drawn;
}

}  // namespace

ClientThread::ClientThread(const JobClientOptions& options) : options_(options) {}

Result<std::unique_ptr<ClientThread>> ClientThread::start(const JobClientOptions& options,
                                                          MakeTransport make_transport) {
  std::unique_ptr<ClientThread> client(new ClientThread(options));
  const RequestsConfig config{.trackers = options.trackers,
                              .connect_timeout = options.connect_timeout,
                              .answer_timeout = options.answer_timeout};
  EventLoop& loop = client->loop_;
  client->requests_ =
      CARILLON_TRY(Requests::open(config, client->clock_, draw_client(client->random_),
                                  [&loop, make = std::move(make_transport)](
                                      const std::string& tracker) { return make(loop, tracker); }));
  if (options.outbox != OutboxUse::kOff) CARILLON_TRY(client->open_outbox());
  client->submits_ = std::make_unique<SubmitQueue>(*client->requests_, client->clock_);
  loop.watch(client->calls_.fd(), [raw = client.get()] { raw->run_calls(); });
  loop.at_end_of_turn([raw = client.get()] { return raw->end_turn(); });
  client->thread_ =
      CARILLON_TRY(Thread::start("jobclient", [raw = client.get()] { raw->loop_.run(); }));
  return client;
}

Status ClientThread::open_outbox() {
  auto outbox = std::make_unique<outbox::Outbox>(
      outbox::OutboxConfig{.folder = submissions_folder(options_.data),
                           .addresses = options_.trackers,
                           .bytes_max = options_.outbox_bytes_max,
                           .shows_set_aside = true,
                           .logs_others = options_.logs_stored_for_others},
      clock_);
  const std::int64_t entries = outbox->entries();
  const std::int64_t last_id = outbox->last_id();
  outbox_ = CARILLON_TRY(outbox::OutboxThread::start(std::move(outbox), [this] { loop_.wake(); }));
  stored_ = std::make_unique<StoredSubmits>(*outbox_, entries, last_id, *requests_, clock_, random_,
                                            options_.on_delivered);
  if (options_.outbox != OutboxUse::kStore) return {};
  requests_->store_with([this](UnansweredSubmit submit) { stored_->store(std::move(submit)); },
                        [this] { return draw_client(random_); });
  return {};
}

ClientThread::~ClientThread() {
  if (thread_) {
    loop_.stop();
    thread_->join();
  }
  if (outbox_) outbox_->finish();
  // From here on this thread owns what the loop's thread owned.
  while (const auto work = calls_.take()) (*work)();
  if (submits_) submits_->close();
  if (requests_) requests_->close();
  if (stored_) stored_->close();
}

void ClientThread::run_calls() {
  calls_.clear();
  while (const auto work = calls_.take()) (*work)();
}

bool ClientThread::end_turn() {
  if (stored_) stored_->take_done();
  submits_->flush();
  requests_->run_due();
  submits_->flush();  // What waited behind what was stored just now.
  if (stored_) stored_->start_next();
  std::optional<SteadyTime> due = requests_->next_due();
  if (stored_) {
    const std::optional<SteadyTime> stored_due = stored_->next_due();
    if (stored_due && (!due || *stored_due < *due)) due = stored_due;
  }
  if (due == timer_at_) return false;
  if (timer_ != 0) loop_.cancel(timer_);
  timer_ = 0;
  timer_at_ = due;
  if (due) {
    timer_ = loop_.post_at(*due, [this] {
      timer_ = 0;
      timer_at_.reset();
    });
  }
  return false;
}

// When the caller of what is asked now began to wait, for a connection or behind what is stored:
// with the flush just before, so that the two do not wait twice.
SteadyTime ClientThread::waiting_since(bool changes) {
  const auto flushed = std::exchange(flushed_in_vain_, std::nullopt);
  const SteadyTime now = clock_.steady_now();
  const bool still_waits = !requests_->is_connected() || (changes && requests_->is_held());
  return flushed && still_waits && now - flushed->ended <= kJustBefore ? flushed->began : now;
}

bool ClientThread::put(std::function<void()> work) { return calls_.put(std::move(work)); }

void ClientThread::submit(std::vector<JobSpec> jobs, JobClient::SubmitDone done, bool suspended) {
  // Shared, because a std::function must be copyable, and jobs are dear to copy.
  auto call = std::make_shared<std::pair<std::vector<JobSpec>, JobClient::SubmitDone>>(
      std::move(jobs), std::move(done));
  const bool taken = put([this, call, suspended] {
    submits_->add(std::move(call->first), std::move(call->second), waiting_since(true), suspended);
  });
  if (!taken) call->second(overloaded());
}

Result<std::vector<SubmitAnswer>> ClientThread::submit_and_wait(std::vector<JobSpec> jobs,
                                                                bool suspended) {
  // Shared: who puts the answer may still be about it when who waits has gone on.
  const auto slot = std::make_shared<AnswerSlot<std::vector<SubmitAnswer>>>();
  submit(
      std::move(jobs),
      [slot](Result<std::vector<SubmitAnswer>> answers) { slot->put(std::move(answers)); },
      suspended);
  return slot->wait();
}

Result<wire::Message> ClientThread::ask_and_wait(wire::Message request) {
  const auto slot = std::make_shared<AnswerSlot<wire::Message>>();
  auto shared = std::make_shared<wire::Message>(std::move(request));
  const bool taken = put([this, shared, slot] {
    const bool changes = std::holds_alternative<wire::Act>(*shared);
    requests_->ask(std::move(*shared), waiting_since(changes),
                   [slot](Result<wire::Message> answer) { slot->put(std::move(answer)); });
  });
  if (!taken) return overloaded();
  return slot->wait();
}

Result<FlushAnswer> ClientThread::flush_and_wait(std::optional<Duration> longest) {
  if (!stored_) return FlushAnswer{};
  const auto slot = std::make_shared<AnswerSlot<FlushAnswer>>();
  const Duration most = longest.value_or(options_.answer_timeout);
  const bool taken = put([this, slot, most] {
    const SteadyTime began = clock_.steady_now();
    stored_->flush(options_.connect_timeout, most, [this, slot, began](Result<FlushAnswer> answer) {
      if (!answer.ok()) flushed_in_vain_ = {began, clock_.steady_now()};
      slot->put(std::move(answer));
    });
  });
  if (!taken) return overloaded();
  return slot->wait();
}

}  // namespace carillon
