#include "tasktracker/executor/xxl_executor.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "shared/base/utf8.h"
#include "shared/job/zone.h"
#include "shared/outbox/outbox.h"
#include "shared/wire/xxl/write.h"
#include "tasktracker/executor/own_address.h"

namespace carillon::tasktracker {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::size_t kBodyMax = 5 * 1024 * 1024;
constexpr std::chrono::seconds kPatience{90};
constexpr std::chrono::seconds kCleanEvery{3600};
constexpr Duration kTalkEvery = std::chrono::seconds{30};
constexpr Duration kBeatAgain = std::chrono::seconds{5};          // after a failed registration
constexpr Duration kLookAtStop = std::chrono::milliseconds{100};  // interval during a drain
constexpr Duration kGoodbyeWait = std::chrono::seconds{5};  // longest wait for the admins' answers
constexpr Duration kLastPatience =
    std::chrono::milliseconds{500};                              // the same for an immediate stop
constexpr Duration kLateCalls = std::chrono::milliseconds{100};  // for calls that are on their way
constexpr std::size_t kNameBytesMax = 64;
constexpr int kPortMax = 65535;

Error invalid(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

std::int64_t microseconds(SteadyTime time) {
  return std::chrono::duration_cast<Duration>(time.time_since_epoch()).count();
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// The admin's database stores names of up to 255 bytes; its pages accept 4 to 64.
Status check(const XxlOptions& options) {
  if (options.app_name.empty()) {
    return invalid(
        "an xxl-job admin is given without an app name (give --xxl-appname NAME, the app name of "
        "the admin's executor group)");
  }
  if (options.app_name.size() > kNameBytesMax || !is_printable_utf8(options.app_name)) {
    return invalid("the app name for xxl-job is longer than " + std::to_string(kNameBytesMax) +
                   " bytes or contains control characters");
  }
  if (!is_printable_utf8(options.token)) {
    return invalid("the token for xxl-job contains control characters");
  }
  if (options.port < 0 || options.port > kPortMax) {
    return invalid("xxl.port is " + std::to_string(options.port) + ", must be 0 to 65535");
  }
  if (options.log_days < 0) return invalid("xxl.log_days is negative, must be 0 or more");
  for (const std::string& admin : options.admins) {
    const Result<net::HttpUrl> url = net::parse_http_url(admin);
    if (!url.ok()) return url.error().with_context("xxl-job admin");
  }
  if (options.address.empty()) return {};
  const Result<net::HttpUrl> url = net::parse_http_url(options.address);
  if (!url.ok()) return url.error().with_context("address for xxl-job");
  return {};
}

std::optional<std::string> header(const net::HttpCall& call, std::string_view name) {
  const auto found = call.headers.find(lower_ascii(name));
  if (found == call.headers.end()) return std::nullopt;
  return found->second;
}

ExecutorCall executor_call(const net::HttpCall& call) {
  return {.method = call.method,
          .target = call.target,
          .token = header(call, wire::xxl::kTokenHeader),
          .app_name = header(call, wire::xxl::kAppNameHeader),
          .body = call.body};
}

net::HttpResponse response_of(std::string json) {
  return {.content_type = std::string{wire::xxl::kContentType}, .body = std::move(json)};
}

AdminClientConfig admin_config(const XxlOptions& options, std::vector<std::string> admins) {
  return {.admins = std::move(admins), .app_name = options.app_name, .token = options.token};
}

AdminClientConfig goodbye_config(const XxlOptions& options, const std::string& admin) {
  AdminClientConfig config = admin_config(options, {admin});
  config.timeout = kGoodbyeWait;
  return config;
}

outbox::OutboxConfig outbox_config(const XxlExecutorConfig& config) {
  return {.folder = config.data.empty() ? "" : config.data + "/outbox/xxl",
          .addresses = config.options.admins,
          .entries_max = 2'000'000};
}

std::string log_path(const XxlExecutorConfig& config) {
  return config.options.log_path.empty() ? config.data + "/xxl-job/log" : config.options.log_path;
}

// Why handlers are not run; empty: they are.
std::string handlers_refusal(const XxlExecutorConfig& config) {
  if (config.allow.contains(RunKind::kHandler)) return {};
  return "this worker does not accept handlers (see its --allow)";
}

// The same for scripts. Without a token any user of this machine could run anything.
std::string scripts_refusal(const XxlExecutorConfig& config) {
  if (!config.allow.contains(RunKind::kScript)) {
    return "this worker does not accept scripts (see its --allow)";
  }
  if (config.options.token.empty() && !config.insecure) {
    return "this executor has no token (give --xxl-token or --insecure)";
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<XxlExecutor>> XxlExecutor::open(XxlExecutorConfig config,
                                                       const Handlers& handlers,
                                                       const HandlersHooks& hooks,
                                                       const Environment& environment,
                                                       const HttpSend& send, const Clock& clock) {
  CARILLON_TRY(check(config.options));
  if (config.data.empty()) {
    return invalid(
        "no folder is given for an executor's results and log files (give one with "
        "--data)");
  }
  const Zone zone = CARILLON_TRY(local_zone(environment));
  auto taken = CARILLON_TRY(TakenTriggers::open(config.data + "/xxl-job/taken"));
  std::unique_ptr<XxlExecutor> executor(new XxlExecutor(
      std::move(config), handlers, hooks, environment, send, clock, zone, std::move(taken)));
  CARILLON_TRY(executor->listen());
  return executor;
}

XxlExecutor::XxlExecutor(XxlExecutorConfig config, const Handlers& handlers,
                         const HandlersHooks& hooks, const Environment& environment,
                         const HttpSend& send, const Clock& clock, const Zone& zone,
                         std::unique_ptr<TakenTriggers> taken)
    : config_(std::move(config)),
      clock_(clock),
      send_(send),
      stop_at_us_(kNever),
      admin_(admin_config(config_.options, config_.options.admins), send, is_talk_cancelled_),
      runner_({.node = config_.node,
               .allow = {RunKind::kHandler, RunKind::kCommand},
               .data = config_.data,
               .run_as = config_.run_as,
               .process = config_.process},
              handlers, environment, send, clock_),
      scripts_(config_.data, environment, config_.run_as),
      logs_(log_path(config_), zone, clock_),
      taken_(std::move(taken)),
      results_(std::make_unique<outbox::Outbox>(outbox_config(config_), clock_), admin_, clock_,
               [this] { talk_wakeup_.signal(); }),
      works_({.app_name = config_.options.app_name,
              .node = config_.node,
              .handlers_refused = handlers_refusal(config_),
              .scripts_refused = scripts_refusal(config_)},
             handlers, hooks, runner_, scripts_, environment),
      jobs_({}, works_, logs_, clock_,
            {.on_taken =
                 [this](const wire::xxl::RunCall& call) {
                   taken_->add({call.log_id, call.log_time_ms});
                 },
             .report =
                 [this](const wire::xxl::RunResult& result) {
                   if (config_.metrics != nullptr)
                     config_.metrics->executor_ended(result.code == wire::xxl::kSuccess);
                   results_.add(result);
                   taken_->remove({result.log_id, result.log_time_ms});
                 },
             .wake = [this] { keeper_wakeup_.signal(); }}) {}

XxlExecutor::~XxlExecutor() {
  request_stop(Duration{0});
  wait_stopped();
}

Status XxlExecutor::listen() {
  const XxlOptions& options = config_.options;
  net::HttpUrl own;
  if (options.address.empty()) {
    const net::HttpUrl admin = CARILLON_TRY(net::parse_http_url(options.admins.front()));
    const Result<std::string> host = own_address_towards(admin);
    if (!host.ok()) {
      return host.error().with_context(
          "cannot determine this machine's address for xxl-job (give it with --xxl-address)");
    }
    own.host = host.value();
  } else {
    own = CARILLON_TRY(net::parse_http_url(options.address));
  }
  const bool is_local = is_loopback(own.host);
  const net::HttpAccess& access = config_.access;
  if (!is_local && options.token.empty() && !config_.insecure) {
    return invalid("an executor at " + own.host +
                   " would accept calls from every machine that reaches it (give the admin's token "
                   "with --xxl-token, or --insecure)");
  }
  api_ = CARILLON_TRY(ExecutorApi::start(
      {.path = own.path, .app_name = options.app_name, .token = options.token}, jobs_, logs_));
  server_ = CARILLON_TRY(net::HttpServer::open(
      (is_local ? "127.0.0.1:" : "*:") + std::to_string(options.port),
      {.names = {own.host},
       // A page of another site does not know the token.
       .any_name = !options.token.empty(),
       .body_max = kBodyMax,
       .patience = kPatience,
       .option = "--xxl-port",
       .access = access,
       .check_head =
           [this](const net::HttpCall& head) {
             const auto refusal = api_->check_head(executor_call(head));
             return refusal ? std::optional{response_of(*refusal)} : std::nullopt;
           }},
      [this](const net::HttpCall& call, const net::HttpResponder& responder) {
        answer(call, responder);
      }));
  const std::string& url = server_->url();
  const std::string scheme = access.has_tls() ? "https://" : "http://";
  address_ = !options.address.empty() ? options.address
                                      : scheme + own.host + url.substr(url.rfind(':')) + "/";
  if (!is_local && !access.has_tls() && !config_.insecure) {
    log_.warn(
        "the admin's calls are not encrypted, and the token can be read on their way (give a "
        "certificate with --http-cert and --http-key)",
        "address", address_);
  }
  if (access.has_tls() && !server_->is_certified_for(own.host)) {
    log_.warn(
        "the certificate does not name the host of this executor's address, so an admin that "
        "checks it will not call (give a certificate for this host, or another --xxl-address)",
        "host", own.host);
  }
  return {};
}

Status XxlExecutor::reload_certificate() {
  const MutexLock lock(server_mutex_);
  if (server_) return server_->reload_certificate();
  return Error{ErrorCode::kUnavailable, "the executor has stopped"};
}

void XxlExecutor::answer(const net::HttpCall& call, const net::HttpResponder& responder) {
  const auto send = [responder](std::string json) { responder.send(response_of(std::move(json))); };
  if (!is_started_) {
    return send(wire::xxl::write_reply(
        {.code = wire::xxl::kFailure, .message = "the executor has not started yet"}));
  }
  api_->call(executor_call(call), send);
}

Status XxlExecutor::start(std::function<void()> on_stopped) {
  if (const Status guarded = runner_.start(); !guarded.ok()) {
    // Without the guard only the processes of a killed worker remain.
    log_.warn("cannot guard the processes of jobs", "reason", guarded.error().message);
  }
  report_left_behind();
  on_stopped_ = std::move(on_stopped);
  is_started_ = true;
  talker_ = CARILLON_TRY(Thread::start("xxl-admin", [this] { talk(); }));
  const MutexLock lock(mutex_);
  keeper_ = CARILLON_TRY(Thread::start("xxl-keeper", [this] { keep(); }));
  return {};
}

// Triggers of killed executors. Their results on disk are sent first, and the first result counts.
void XxlExecutor::report_left_behind() {
  for (const TakenTrigger& trigger : taken_->left_behind()) {
    results_.add({.log_id = trigger.log_id,
                  .log_time_ms = trigger.log_time_ms,
                  .code = wire::xxl::kFailure,
                  .message = std::string{wire::xxl::kKilledBeforeEnd}});
  }
  taken_->forget_left_behind();
}

void XxlExecutor::request_stop(Duration drain) {
  if (drain <= Duration{0}) at_once_ = true;
  const std::int64_t wanted =
      microseconds(clock_.steady_now()) + std::max(drain, Duration{0}).count();
  std::int64_t before = stop_at_us_.load();
  while (wanted < before && !stop_at_us_.compare_exchange_weak(before, wanted)) {
  }
  keeper_wakeup_.signal();
  talk_wakeup_.signal();
}

void XxlExecutor::wait_stopped() {
  const MutexLock lock(mutex_);
  if (keeper_) keeper_->join();
}

bool XxlExecutor::is_stopping() const { return stop_at_us_.load() != kNever; }

// The thread that calls the admin.
void XxlExecutor::talk() {
  bool is_last = false;
  while (!is_last) {
    is_last = is_last_talk_.load();
    if (clock_.steady_now() >= beat_at_) beat();
    const std::optional<SteadyTime> next = results_.deliver(is_last);
    if (is_last) break;
    Duration pause = kTalkEvery;
    const SteadyTime now = clock_.steady_now();
    if (!is_stopping()) pause = std::min(pause, std::chrono::ceil<Duration>(beat_at_ - now));
    if (next) pause = std::min(pause, std::chrono::ceil<Duration>(*next - now));
    if (pause > Duration{0}) (void)talk_wakeup_.wait_for(pause);  // The loop checks again.
  }
  talk_ended_.signal();
}

void XxlExecutor::beat() {
  is_registering_ = true;  // Before the look: leave() looks in the other order.
  if (!is_stopping()) register_now();
  is_registering_ = false;
  registration_ended_.signal();
}

void XxlExecutor::register_now() {
  has_registered_ = true;
  const Status registered = admin_.register_at(address_);
  beat_at_ = clock_.steady_now() + (registered.ok() ? config_.beat : kBeatAgain);
  if (!registered.ok()) {
    if (!is_failure_said_) {
      log_.warn("an xxl-job admin does not register this executor; retrying", "reason",
                registered.error().message);
    }
    is_failure_said_ = true;
    return;
  }
  if (!is_registered_ || is_failure_said_) {
    log_.info("registered at an xxl-job admin", "appname", config_.options.app_name, "address",
              address_);
  }
  is_registered_ = true;
  is_failure_said_ = false;
}

// Unregisters at all admins concurrently: each calls this executor until it knows, and one that
// hangs must not delay the others.
void XxlExecutor::leave() {
  const std::int64_t each = std::ssize(config_.options.admins);
  while (is_registering_ && wait_for(registration_ended_, each * kGoodbyeWait)) {
  }
  if (!has_registered_) return;
  const std::vector<std::string>& admins = config_.options.admins;
  std::atomic<bool> cancelled{false};
  std::atomic<std::size_t> left{admins.size()};
  std::vector<Status> said(admins.size());
  Wakeup all_said;
  std::vector<std::unique_ptr<Thread>> threads;
  for (std::size_t i = 0; i < admins.size(); ++i) {
    const auto say = [&, i] {
      said[i] = AdminClient(goodbye_config(config_.options, admins[i]), send_, cancelled)
                    .deregister(address_);
      if (--left == 0) all_said.signal();
    };
    auto thread = Thread::start("xxl-goodbye", say);
    thread.ok() ? threads.push_back(std::move(thread).value()) : say();
  }
  (void)wait_for(all_said, kGoodbyeWait);
  cancelled = true;
  for (const auto& thread : threads) thread->join();
  const bool is_heard =
      std::any_of(said.begin(), said.end(), [](const Status& status) { return status.ok(); });
  if (!is_heard) {
    log_.warn("cannot leave the xxl-job admin; it counts this executor as alive for 90 s", "reason",
              said.back().error().message);
  } else if (!at_once_) {
    Wakeup nothing;
    (void)wait_for(nothing, kLateCalls);
  }
}

// Waits for a signal. False: it took longer than this, or than the remaining time.
bool XxlExecutor::wait_for(Wakeup& wakeup, Duration longest) {
  const SteadyTime begun = clock_.steady_now();
  while (true) {
    const Duration most = at_once_ ? std::min(longest, kLastPatience) : longest;
    const auto left = std::chrono::ceil<Duration>(begun + most - clock_.steady_now());
    if (left <= Duration{0}) return false;
    if (wakeup.wait_for(std::min(left, kLookAtStop))) return true;
    (void)jobs_.stop_late_runs(clock_.steady_now());  // Called again anyway.
  }
}

// The keeper's thread.
void XxlExecutor::keep() {
  SteadyTime clean_at{};
  while (!is_stopping()) {
    const SteadyTime now = clock_.steady_now();
    if (now >= clean_at) {
      logs_.clean(config_.options.log_days);
      clean_at = now + kCleanEvery;
    }
    const std::optional<SteadyTime> late = jobs_.stop_late_runs(now);
    const Duration pause = std::chrono::ceil<Duration>(late.value_or(clean_at) - now);
    if (pause > Duration{0}) (void)keeper_wakeup_.wait_for(pause);  // The loop checks again.
  }
  end();
  on_stopped_();
}

void XxlExecutor::end() {
  leave();  // First, because a rejected call fails.
  jobs_.close();
  while (microseconds(clock_.steady_now()) < stop_at_us_.load() &&
         !jobs_.wait_reported(kLookAtStop)) {
    (void)jobs_.stop_late_runs(clock_.steady_now());  // Called again anyway.
  }
  bool was_at_once = at_once_.load();
  jobs_.stop_all("the executor stops", was_at_once);
  while (!jobs_.wait_reported(kLookAtStop)) {
    if (was_at_once || !at_once_.load()) continue;
    was_at_once = true;
    jobs_.stop_all("the executor stops", true);
  }
  is_last_talk_ = true;
  talk_wakeup_.signal();
  if (!wait_for(talk_ended_, config_.deliver_wait)) is_talk_cancelled_ = true;
  talker_->join();
  if (const std::int64_t left = results_.left(); left > 0) {
    log_.warn("left results for the next executor with this data folder", "results", left);
  }
  // Before the objects that it calls.
  {
    const MutexLock lock(server_mutex_);
    server_.reset();
  }
  api_.reset();
}

}  // namespace carillon::tasktracker
