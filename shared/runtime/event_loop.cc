#include "shared/runtime/event_loop.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "shared/base/assert.h"
#include "shared/runtime/wakeup.h"

namespace carillon {
namespace {

constexpr int kEventsPerTurnMax = 128;
constexpr std::uint64_t kTimerEvent = 0;  // Watches are numbered from 1.

int checked(int result, const char* what) {
  if (result < 0) abort_with(what, std::strerror(errno));
  return result;
}

void epoll_change(int epoll_fd, int operation, int fd, std::uint64_t tag) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = tag;
  checked(::epoll_ctl(epoll_fd, operation, fd, &event), "cannot change the loop's descriptors");
}

}  // namespace

struct EventLoop::Inside {
  struct Watch {
    int fd = -1;
    std::function<void()> on_readable{};
  };
  using TimerKey = std::pair<SteadyTime, TimerId>;

  explicit Inside(const Clock& its_clock)
      : clock(its_clock),
        epoll_fd(checked(::epoll_create1(EPOLL_CLOEXEC), "cannot create an epoll descriptor")),
        timer_fd(checked(::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC),
                         "cannot create a timer descriptor")) {
    epoll_change(epoll_fd, EPOLL_CTL_ADD, timer_fd, kTimerEvent);
  }
  ~Inside() {
    ::close(timer_fd);
    ::close(epoll_fd);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  void turn(std::optional<Duration> wait_max);
  int wait_milliseconds(std::optional<Duration> wait_max);
  void arm_timer();
  void run_ready(int wait_ms);
  void run_timers();
  void run_posted();
  void run_hooks();

  const Clock& clock;
  const int epoll_fd;
  const int timer_fd;
  Wakeup wakeup;
  std::atomic<bool> stopping{false};

  std::uint64_t last_watch = 0;
  std::unordered_map<std::uint64_t, std::shared_ptr<Watch>> watches;
  std::unordered_map<int, std::uint64_t> watch_of_fd;

  TimerId last_timer = 0;
  std::map<TimerKey, std::function<void()>> timers;
  std::unordered_map<TimerId, SteadyTime> time_of_timer;
  std::optional<SteadyTime> armed_for;  // the time that timer_fd was set to, until it fires

  std::vector<std::function<void()>> posted;

  std::vector<std::function<bool()>> hooks;
  bool again = false;  // a hook requested another turn
};

int EventLoop::Inside::wait_milliseconds(std::optional<Duration> wait_max) {
  if (again || !posted.empty()) return 0;
  if (!timers.empty() && timers.begin()->first.first <= clock.steady_now()) return 0;
  if (!wait_max) return -1;
  // Rounded up, so that a wait of less than a millisecond does not spin.
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(std::max(*wait_max, Duration{0}));
  return static_cast<int>(std::min<std::int64_t>(wait.count(), 60'000));
}

void EventLoop::Inside::arm_timer() {
  if (timers.empty()) return;  // An old setting wakes the loop once without effect.
  const SteadyTime first = timers.begin()->first.first;
  if (armed_for && *armed_for == first) return;
  const auto left =
      std::max(std::chrono::duration_cast<std::chrono::nanoseconds>(first - clock.steady_now()),
               std::chrono::nanoseconds{1});
  const auto seconds = std::chrono::floor<std::chrono::seconds>(left);
  itimerspec setting{};
  setting.it_value.tv_sec = seconds.count();
  setting.it_value.tv_nsec = (left - seconds).count();
  checked(::timerfd_settime(timer_fd, 0, &setting, nullptr), "cannot set the loop's timer");
  armed_for = first;
}

void EventLoop::Inside::run_ready(int wait_ms) {
  std::array<epoll_event, kEventsPerTurnMax> events;
  const int count = ::epoll_wait(epoll_fd, events.data(), kEventsPerTurnMax, wait_ms);
  if (count < 0) {
    if (errno != EINTR) abort_with("the loop cannot wait", std::strerror(errno));
    return;
  }
  for (int i = 0; i < count; ++i) {
    const std::uint64_t tag = events[static_cast<std::size_t>(i)].data.u64;
    if (tag == kTimerEvent) {
      std::uint64_t expirations = 0;
      // Nothing to read: it was set again in the meantime.
      [[maybe_unused]] const auto got = ::read(timer_fd, &expirations, sizeof expirations);
      armed_for.reset();
      continue;
    }
    // A descriptor that an earlier callback of this turn unwatched gets no callback.
    const auto found = watches.find(tag);
    if (found == watches.end()) continue;
    const std::shared_ptr<Watch> watch = found->second;  // It may unwatch itself.
    watch->on_readable();
  }
}

void EventLoop::Inside::run_timers() {
  if (timers.empty()) return;
  const SteadyTime now = clock.steady_now();
  // Timers set by the work itself wait for the next turn, even if they are due.
  const TimerId last = last_timer;
  auto next = timers.begin();
  while (next != timers.end() && next->first.first <= now) {
    const TimerKey key = next->first;
    if (key.second > last) {
      ++next;
      continue;
    }
    const std::function<void()> work = std::move(next->second);
    timers.erase(next);
    time_of_timer.erase(key.second);
    work();
    // The work may have set and cancelled timers: search again from the same position.
    next = timers.lower_bound(key);
  }
}

void EventLoop::Inside::run_posted() {
  std::vector<std::function<void()>> now;
  now.swap(posted);
  for (const auto& work : now) work();
}

void EventLoop::Inside::run_hooks() {
  again = false;
  for (const auto& hook : hooks) {
    if (hook()) again = true;
  }
}

void EventLoop::Inside::turn(std::optional<Duration> wait_max) {
  arm_timer();
  run_ready(wait_milliseconds(wait_max));
  run_timers();
  run_posted();
  run_hooks();
}

EventLoop::EventLoop(const Clock& clock) : inside_(std::make_unique<Inside>(clock)) {
  watch(inside_->wakeup.fd(), [inside = inside_.get()] { inside->wakeup.clear(); });
}

EventLoop::~EventLoop() = default;

void EventLoop::post(std::function<void()> work) { inside_->posted.push_back(std::move(work)); }

TimerId EventLoop::post_at(SteadyTime when, std::function<void()> work) {
  const TimerId id = ++inside_->last_timer;
  inside_->timers.emplace(Inside::TimerKey{when, id}, std::move(work));
  inside_->time_of_timer.emplace(id, when);
  return id;
}

void EventLoop::cancel(TimerId timer) {
  const auto found = inside_->time_of_timer.find(timer);
  if (found == inside_->time_of_timer.end()) return;
  inside_->timers.erase({found->second, timer});
  inside_->time_of_timer.erase(found);
}

void EventLoop::watch(int fd, std::function<void()> on_readable) {
  CARILLON_ASSERT(!inside_->watch_of_fd.contains(fd), "a descriptor is watched once");
  const std::uint64_t tag = ++inside_->last_watch;
  inside_->watches.emplace(
      tag, std::make_shared<Inside::Watch>(Inside::Watch{fd, std::move(on_readable)}));
  inside_->watch_of_fd.emplace(fd, tag);
  epoll_change(inside_->epoll_fd, EPOLL_CTL_ADD, fd, tag);
}

void EventLoop::unwatch(int fd) {
  const auto found = inside_->watch_of_fd.find(fd);
  if (found == inside_->watch_of_fd.end()) return;
  epoll_change(inside_->epoll_fd, EPOLL_CTL_DEL, fd, found->second);
  inside_->watches.erase(found->second);
  inside_->watch_of_fd.erase(found);
}

void EventLoop::at_end_of_turn(std::function<bool()> hook) {
  inside_->hooks.push_back(std::move(hook));
}

void EventLoop::run() {
  while (!inside_->stopping.exchange(false)) inside_->turn(std::nullopt);
}

void EventLoop::run_once(Duration wait_max) { inside_->turn(wait_max); }

void EventLoop::stop() {
  inside_->stopping.store(true);
  wake();
}

void EventLoop::wake() { inside_->wakeup.signal(); }

}  // namespace carillon
