#include "carillon/task_tracker.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/folders.h"
#include "shared/base/host_name.h"
#include "shared/base/log.h"
#include "shared/base/mutex.h"
#include "shared/base/random.h"
#include "shared/net/address_guard.h"
#include "shared/net/http/http_client.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/outbox/outbox_thread.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/thread.h"
#include "shared/wire/spec_words.h"
#include "tasktracker/executor/xxl_executor.h"
#include "tasktracker/metrics/metrics_pages.h"
#include "tasktracker/run/run_as.h"
#include "tasktracker/run/run_environment.h"
#include "tasktracker/run/run_pool.h"
#include "tasktracker/run/runner.h"
#include "tasktracker/worker.h"

namespace carillon {
namespace {

using tasktracker::Runner;
using tasktracker::RunPool;
using tasktracker::Worker;

constexpr int kThreadsMax = 1024;
constexpr std::size_t kNameBytesMax = 200;
// Results and chunks of output on disk; the limit of output in memory is far below it.
constexpr std::int64_t kKeptMax = 2'000'000;

bool is_group_name(const std::string& group) {
  return !group.empty() && group.size() <= kGroupBytesMax &&
         std::all_of(group.begin(), group.end(), [](unsigned char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_' || c == '-';
         });
}

bool is_printable(const std::string& text) {
  return std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return c < 0x20 || c == 0x7F; });
}

Error invalid(const std::string& message) { return {ErrorCode::kInvalidArgument, message}; }

// Sets defaults, and rejects invalid options.
Status complete(TaskTrackerOptions& options) {
  if (options.trackers.empty() && options.xxl.admins.empty()) {
    return invalid(
        "neither a job tracker nor an xxl-job admin is given, so there is nothing to do");
  }
  if (!is_group_name(options.group)) {
    return invalid("group '" + options.group +
                   "' is not a name of 1 to 64 letters, digits, '.', '_' and '-'");
  }
  if (options.name.empty()) options.name = process_name();
  if (options.name.size() > kNameBytesMax || !is_printable(options.name)) {
    return invalid("the name is longer than " + std::to_string(kNameBytesMax) +
                   " bytes or contains control characters");
  }
  if (options.threads == 0) options.threads = hardware_threads();
  if (options.threads < 1 || options.threads > kThreadsMax) {
    return invalid("threads is " + std::to_string(options.threads) + ", must be 1 to " +
                   std::to_string(kThreadsMax));
  }
  for (const auto& [name, percent] :
       {std::pair{"cpu_max", options.cpu_max}, std::pair{"memory_max", options.memory_max}}) {
    if (percent < 0 || percent > 100) {
      return invalid(std::string(name) + " is " + std::to_string(percent) +
                     ", must be 1 to 100 percent, or 0 for none");
    }
  }
  if (options.kill_grace < Duration{0}) return invalid("kill_grace is negative");
  if (options.allow.empty()) return invalid("allow is empty, so no job could run");
  if (options.xxl.admins.empty() && !options.xxl.app_name.empty()) {
    return invalid("an app name for xxl-job is given without an admin (give --xxl-admin URL)");
  }
  return {};
}

struct Config {
  tasktracker::RunnerConfig runner{};
  tasktracker::RunPoolConfig pool{};
  tasktracker::WorkerConfig worker{};
  net::AddressGuard http_guard{};  // of HTTP jobs
};

Result<Config> make_config(const TaskTrackerOptions& options) {
  Config config;
  for (const std::string& word : options.allow) {
    config.runner.allow.insert(CARILLON_TRY(tasktracker::parse_run_kind(word)));
  }
  auto guard = net::AddressGuard::only(options.http_job_networks);
  if (!guard.ok()) return guard.error().with_context("http_job_networks");
  config.http_guard = std::move(guard).value();
  SystemRandom random;
  config.worker.fetcher.session = SessionId{static_cast<std::int64_t>(random.next() >> 5) | 1};
  config.worker.fetcher.name = options.name;
  config.worker.fetcher.address = host_name() + " pid " + std::to_string(::getpid());
  config.worker.fetcher.group = options.group;
  config.worker.fetcher.labels = options.labels;
  for (const RunKind kind : config.runner.allow) {
    config.worker.fetcher.allow.emplace_back(wire::word_of(kind, wire::kRunWords));
  }
  config.worker.fetcher.version = CARILLON_VERSION;
  config.worker.fetcher.threads = options.threads;
  config.runner.node = options.name;
  config.runner.group = options.group;
  config.runner.data = options.data;
  if (!options.run_as.empty()) {
    config.runner.run_as = CARILLON_TRY(tasktracker::find_run_as(options.run_as));
  }
  config.runner.process.kill_grace = options.kill_grace;
  config.runner.process.kill_leftovers = options.kill_leftovers;
  config.worker.kill_grace = options.kill_grace;
  config.pool.threads = options.threads;
  config.pool.output_max = options.output_max;
  config.pool.kill_grace = options.kill_grace;
  config.worker.stop_without_lease = options.stop_without_lease;
  config.worker.load = {.cpu = options.cpu_max, .memory = options.memory_max};
  if (config.worker.load.any()) {
    const auto load = tasktracker::read_machine_load();
    if (!load.ok()) return invalid("limits of the machine's load: " + load.error().message);
  }
  return config;
}

// `ca_file` and `guard`: see net::send_http().
tasktracker::HttpSend http_with(std::string ca_file, net::AddressGuard guard) {
  return [ca_file = std::move(ca_file), guard = std::move(guard)](
             const HttpRequest& request, Duration timeout, std::size_t body_max,
             const std::atomic<bool>& cancelled) -> Result<tasktracker::HttpAnswer> {
    net::HttpReply reply =
        CARILLON_TRY(net::send_http(request, timeout, body_max, cancelled, ca_file, guard));
    return tasktracker::HttpAnswer{.status = reply.status,
                                   .headers = std::move(reply.headers),
                                   .body = std::move(reply.body),
                                   .body_cut = reply.body_cut};
  };
}

Environment environment_for_runs(const Environment& own, const std::vector<std::string>& trackers,
                                 const std::optional<tasktracker::RunAs>& run_as) {
  Environment with_trackers = tasktracker::with_trackers(own, trackers);
  return run_as ? tasktracker::environment_as(with_trackers, *run_as) : with_trackers;
}

class Inside final : public TaskTracker {
 public:
  Inside(TaskTrackerOptions options, net::AddressGuard http_guard,
         const std::optional<tasktracker::RunAs>& run_as)
      : options_(std::move(options)),
        environment_(Environment::of_process()),
        environment_of_runs_(environment_for_runs(environment_, options_.trackers, run_as)),
        http_(http_with({}, std::move(http_guard))),
        metrics_(options_.threads),
        loop_(clock_) {}
  ~Inside() override {
    if (started_) {
      request_stop(Duration{0});
      wait_stopped();
    }
  }

  const TaskTrackerOptions& options() const { return options_; }
  Status serve_pages();
  Status connect(const Config& config);
  Status serve_xxl(const Config& config);
  Status handle(const std::string& name, JobRunner runner, HandlerHooks hooks) override;
  std::string xxl_address() const override { return executor_ ? executor_->address() : ""; }
  Status reload_certificate() override {
    if (executor_) CARILLON_TRY(executor_->reload_certificate());
    return pages_ ? pages_->reload_certificate() : Status{};
  }
  std::string http_address() const override { return pages_ ? pages_->url() : ""; }
  Status start() override;
  void request_stop(Duration drain) override;
  void wait_stopped() override;

 private:
  Result<tasktracker::ReportOutbox> open_outbox();
  std::string data_folder() const;
  Status start_worker();
  void part_stopped();

  const TaskTrackerOptions options_;
  const SystemClock clock_;
  const Environment environment_;
  const Environment environment_of_runs_;
  const tasktracker::HttpSend http_;  // for jobs
  const tasktracker::HttpSend admin_http_ = http_with(options_.xxl.ca, {});
  tasktracker::Handlers handlers_;
  tasktracker::HandlersHooks hooks_;
  const Logger log_{"worker"};
  tasktracker::WorkerMetrics metrics_;
  EventLoop loop_;
  std::unique_ptr<outbox::OutboxThread> outbox_;  // wakes the loop
  std::unique_ptr<Runner> runner_;
  std::unique_ptr<RunPool> pool_;
  std::unique_ptr<Worker> worker_;                      // for a job tracker, or null
  std::unique_ptr<tasktracker::XxlExecutor> executor_;  // for an xxl-job admin, or null
  std::unique_ptr<tasktracker::MetricsPages> pages_;    // or null
  std::atomic<int> parts_running_{0};
  std::atomic<bool> started_{false};
  Mutex mutex_;  // several threads may wait for the end
  std::unique_ptr<Thread> thread_;
};

Status Inside::serve_pages() {
  const net::HttpAccess access{.certificate = options_.http_certificate, .key = options_.http_key};
  if (!options_.insecure) CARILLON_TRY(net::check_http_privacy(access, "--metrics", options_.http));
  auto pages = tasktracker::MetricsPages::open(options_.http, access, metrics_);
  if (!pages.ok()) return pages.error().with_context("--metrics");
  pages_ = std::move(pages).value();
  return {};
}

Status Inside::connect(const Config& config) {
  const net::Access access{
      .keys = options_.keys, .token_file = options_.token_file, .insecure = options_.insecure};
  std::vector<tasktracker::TrackerAddress> addresses;
  for (const std::string& endpoint : options_.trackers) {
    const bool comes_again =
        std::any_of(addresses.begin(), addresses.end(),
                    [&](const auto& address) { return address.endpoint == endpoint; });
    if (comes_again) continue;
    // On its own line: an early return within an initializer would leak earlier members.
    auto transport = CARILLON_TRY(net::connect_zmq(loop_, clock_, environment_, endpoint, access));
    addresses.push_back({.endpoint = endpoint, .transport = std::move(transport)});
  }
  tasktracker::ReportOutbox outbox = CARILLON_TRY(open_outbox());
  runner_ = std::make_unique<Runner>(config.runner, handlers_, environment_of_runs_, http_, clock_);
  pool_ = std::make_unique<RunPool>(config.pool, *runner_, clock_, [this] { loop_.wake(); });
  worker_ = std::make_unique<Worker>(config.worker, *pool_, loop_, clock_, std::move(addresses),
                                     std::move(outbox),
                                     Worker::Callbacks{.on_ready = options_.on_ready,
                                                       .on_stopped = [this] { loop_.stop(); },
                                                       .wake = [this] { loop_.wake(); },
                                                       .metrics = &metrics_});
  loop_.at_end_of_turn([this] {
    worker_->end_turn();
    return false;
  });
  return {};
}

Status Inside::serve_xxl(const Config& config) {
  if (!options_.xxl.ca.empty()) CARILLON_TRY(net::check_ca_file(options_.xxl.ca, "--xxl-ca"));
  executor_ = CARILLON_TRY(tasktracker::XxlExecutor::open(
      {.options = options_.xxl,
       .node = options_.name,
       .data = data_folder(),
       .allow = config.runner.allow,
       .insecure = options_.insecure,
       .access = {.certificate = options_.http_certificate, .key = options_.http_key},
       .run_as = config.runner.run_as,
       .process = config.runner.process,
       .metrics = &metrics_},
      handlers_, hooks_, environment_of_runs_, admin_http_, clock_));
  return {};
}

// Empty without a home folder: nothing is stored then; the first write reports the reason.
std::string Inside::data_folder() const {
  if (!options_.data.empty()) return options_.data;
  const Result<std::string> folder = state_folder(environment_, "tasktracker");
  return folder.ok() ? folder.value() : std::string{};
}

Result<tasktracker::ReportOutbox> Inside::open_outbox() {
  const std::string data = data_folder();
  auto outbox = std::make_unique<outbox::Outbox>(
      outbox::OutboxConfig{.folder = data.empty() ? "" : data + "/outbox/reports",
                           .addresses = options_.trackers,
                           .group = options_.group,
                           .entries_max = kKeptMax},
      clock_);
  const std::int64_t last_id = outbox->last_id();
  outbox_ = CARILLON_TRY(outbox::OutboxThread::start(std::move(outbox), [this] { loop_.wake(); }));
  return tasktracker::ReportOutbox(outbox_.get(), last_id);
}

Status Inside::handle(const std::string& name, JobRunner runner, HandlerHooks hooks) {
  if (started_) {
    return Error{ErrorCode::kConflict,
                 "handler '" + name +
                     "' is added too late: the task tracker has started (call "
                     "handle() before start())"};
  }
  if (name.empty() || !runner) return invalid("a handler needs a name and a function");
  // Runs copy it, so that a run that was given up keeps it.
  const auto shared = std::make_shared<const JobRunner>(std::move(runner));
  const auto call = [shared](JobContext& context) { return (*shared)(context); };
  if (!handlers_.emplace(name, call).second) {
    return Error{ErrorCode::kConflict, "there is a handler '" + name + "' already"};
  }
  hooks_.emplace(name, std::move(hooks));
  return {};
}

Status Inside::start() {
  if (started_.exchange(true)) {
    return Error{ErrorCode::kConflict, "the task tracker has already been started"};
  }
  parts_running_ = (worker_ ? 1 : 0) + (executor_ ? 1 : 0);
  if (worker_) CARILLON_TRY(start_worker());
  if (executor_) CARILLON_TRY(executor_->start([this] { part_stopped(); }));
  if (!worker_ && options_.on_ready) options_.on_ready("off");
  return {};
}

Status Inside::start_worker() {
  if (const Status guarded = runner_->start(); !guarded.ok()) {
    // Without the guard only the processes of a killed worker remain.
    log_.warn("cannot guard the processes of jobs", "reason", guarded.error().message);
  }
  CARILLON_TRY(pool_->start());
  thread_ = CARILLON_TRY(Thread::start("tasktracker", [this] {
    loop_.run();
    part_stopped();
  }));
  return {};
}

void Inside::part_stopped() {
  if (--parts_running_ == 0 && options_.on_stopped) options_.on_stopped();
}

void Inside::request_stop(Duration drain) {
  if (worker_) worker_->request_stop(drain);
  if (executor_) executor_->request_stop(drain);
}

void Inside::wait_stopped() {
  {
    const MutexLock lock(mutex_);
    if (thread_) thread_->join();
  }
  if (executor_) executor_->wait_stopped();
}

}  // namespace

Result<std::unique_ptr<TaskTracker>> TaskTracker::open(TaskTrackerOptions options) {
  CARILLON_TRY(complete(options));
  const Config config = CARILLON_TRY(make_config(options));
  auto inside =
      std::make_unique<Inside>(std::move(options), config.http_guard, config.runner.run_as);
  if (!inside->options().http.empty()) CARILLON_TRY(inside->serve_pages());
  if (!inside->options().trackers.empty()) CARILLON_TRY(inside->connect(config));
  if (!inside->options().xxl.admins.empty()) CARILLON_TRY(inside->serve_xxl(config));
  return std::unique_ptr<TaskTracker>(std::move(inside));
}

}  // namespace carillon
