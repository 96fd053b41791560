#include "jobtracker/api/gateway.h"

#include <utility>

namespace carillon::jobtracker::api {
namespace {

constexpr Duration kConnectTimeout = std::chrono::seconds{5};
constexpr Duration kAnswerTimeout = std::chrono::seconds{20};

// 1 .. 2^59-1, see wire::RequestNumber.
std::int64_t draw_client_number(Random& random) {
  const auto drawn = static_cast<std::int64_t>(random.next() >> 5);
  return drawn == 0 ? 1 : drawn;
}

Error gateway_stopped() {
  return {ErrorCode::kUnavailable, "the job tracker is stopping (try again)"};
}

}  // namespace

wire::OnBehalf on_behalf_of(const Principal& principal, const std::string& address) {
  return {.kind = principal.kind,
          .name = principal.name,
          .role = to_string(principal.role),
          .groups = principal.groups,
          .address = address};
}

Result<std::unique_ptr<Gateway>> Gateway::start(std::string own_address,
                                                MakeTransport make_transport) {
  std::unique_ptr<Gateway> gateway(new Gateway());
  EventLoop& loop = gateway->loop_;
  gateway->requests_ =
      CARILLON_TRY(Requests::open({.trackers = {std::move(own_address)},
                                   .connect_timeout = kConnectTimeout,
                                   .answer_timeout = kAnswerTimeout},
                                  gateway->clock_, draw_client_number(gateway->random_),
                                  [&loop, make = std::move(make_transport)](
                                      const std::string& address) { return make(loop, address); }));
  gateway->submits_ = std::make_unique<SubmitQueue>(*gateway->requests_, gateway->clock_);
  loop.watch(gateway->work_.fd(), [raw = gateway.get()] { raw->run_work(); });
  loop.at_end_of_turn([raw = gateway.get()] { return raw->end_turn(); });
  gateway->aside_thread_ =
      CARILLON_TRY(Thread::start("api.aside", [raw = gateway.get()] { raw->work_aside(); }));
  gateway->thread_ =
      CARILLON_TRY(Thread::start("api", [raw = gateway.get()] { raw->loop_.run(); }));
  return gateway;
}

Gateway::~Gateway() { stop(); }

void Gateway::stop() {
  if (aside_thread_) {
    ends_aside_ = true;
    (void)aside_.put([] { return std::function<void()>{}; });  // It wakes up, if it does not work.
    aside_thread_->join();
    aside_thread_.reset();
  }
  if (!thread_) return;
  loop_.stop();
  thread_->join();
  thread_.reset();
  // From here on the owner's thread has what was the gateway's.
  is_stopped_ = true;
  submits_->close();
  requests_->close();
  while (work_.take()) {
  }
}

void Gateway::ask(wire::OnBehalf whose, wire::Message message, Done done) {
  if (is_stopped_) return done(gateway_stopped());
  requests_->ask(std::move(message), clock_.steady_now(), std::move(done), std::move(whose));
}

void Gateway::submit(wire::OnBehalf whose, std::vector<JobSpec> jobs, bool suspended,
                     SubmitDone done) {
  if (is_stopped_) return done(gateway_stopped());
  submits_->add(std::move(jobs), std::move(done), clock_.steady_now(), suspended, std::move(whose));
}

TimerId Gateway::after(Duration delay, std::function<void()> work) {
  if (is_stopped_) return 0;
  return loop_.post_at(clock_.steady_now() + delay, std::move(work));
}

void Gateway::work_aside() {
  while (!ends_aside_) {
    aside_.wait();
    aside_.clear();
    while (const auto work = aside_.take()) {
      if (ends_aside_) return;
      std::function<void()> then = (*work)();
      if (then) (void)work_.put(std::move(then));  // Full: the call gets 503.
    }
  }
}

void Gateway::run_work() {
  work_.clear();
  while (const auto work = work_.take()) (*work)();
}

bool Gateway::end_turn() {
  submits_->flush();
  requests_->run_due();
  submits_->flush();
  const std::optional<SteadyTime> due = requests_->next_due();
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

}  // namespace carillon::jobtracker::api
