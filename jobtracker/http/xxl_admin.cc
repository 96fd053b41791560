#include "jobtracker/http/xxl_admin.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "shared/base/secret.h"
#include "shared/base/utf8.h"
#include "shared/net/http_url.h"
#include "shared/wire/xxl/read.h"
#include "shared/wire/xxl/write.h"

namespace carillon::jobtracker {
namespace {

using wire::xxl::Reply;

constexpr std::string_view kRoot = "/api/";
constexpr std::string_view kOldRoot = "/xxl-job-admin/api/";
constexpr std::size_t kWaitingMax = 4096;
constexpr std::ptrdiff_t kValuesMax = 1'000'000;  // of JSON, which needs memory for each
constexpr std::size_t kPortionMax = 10'000;       // of results
constexpr std::size_t kAppNameBytesMax = 64;
constexpr std::size_t kAddressBytesMax = 512;
// Code of a management call that is rejected for overload.
constexpr std::int64_t kTooManyRequests = 502;
// Code of a management call without a token.
constexpr std::int64_t kUnauthorized = 401;
const std::string kManaged = "Success";
const std::string kNeedsToken =
    "calls that change jobs need an access token (start the job tracker with --xxl-token, or give "
    "the app one: jobclient groups add APP --executor --token T)";

Error refused(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Clients append the path to an address that may end in a slash.
std::string with_single_slashes(std::string_view path) {
  std::string single;
  for (const char c : path) {
    if (c != '/' || !single.ends_with('/')) single += c;
  }
  return single;
}

std::optional<std::string> path_below_root(std::string_view target) {
  // With a trailing slash, so that "/api" alone is an empty path.
  const std::string path =
      with_single_slashes(std::string{target.substr(0, target.find('?'))} + '/');
  for (const std::string_view root : {kRoot, kOldRoot}) {
    if (path == root) return std::string{};
    if (path.starts_with(root)) return path.substr(root.size(), path.size() - root.size() - 1);
  }
  return std::nullopt;
}

bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n") == std::string_view::npos;
}

std::string header(const net::HttpCall& call, std::string_view name) {
  const auto found = call.headers.find(lower_ascii(name));
  return found == call.headers.end() ? std::string{} : found->second;
}

net::HttpResponse response_of(const Reply& reply, const std::string& data = {}) {
  return {.content_type = "application/json", .body = wire::xxl::write_admin_reply(reply, data)};
}

void answer(const net::HttpResponder& responder, const Reply& reply, const std::string& data = {}) {
  responder.send(response_of(reply, data));
}

Reply failure(std::string message) {
  return {.code = wire::xxl::kFailure, .message = std::move(message)};
}

std::optional<ManageJob::Verb> verb_of(std::string_view path) {
  using Verb = ManageJob::Verb;
  constexpr std::array<std::pair<std::string_view, Verb>, 6> kVerbs{
      {{"addJob", Verb::kAdd},
       {"updateJob", Verb::kUpdate},
       {"removeJob", Verb::kRemove},
       {"startJob", Verb::kStart},
       {"stopJob", Verb::kStop},
       {"triggerJob", Verb::kTrigger}}};
  for (const auto& [name, verb] : kVerbs) {
    if (name == path) return verb;
  }
  return std::nullopt;
}

Status check_app_name(const std::string& name) {
  constexpr std::string_view kFurther = "._-";
  const bool is_fine =
      name.size() <= kAppNameBytesMax && std::all_of(name.begin(), name.end(), [&](char c) {
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
               kFurther.find(c) != kFurther.npos;
      });
  if (is_fine) return {};
  return refused("registryKey is not an app name: use 1 to 64 letters, digits, '.', '_' and '-'");
}

Status check_address(const std::string& address, const net::AddressGuard& guard) {
  if (address.size() > kAddressBytesMax || !is_printable_utf8(address))
    return refused("registryValue is longer than " + std::to_string(kAddressBytesMax) +
                   " bytes or contains control characters");
  const net::HttpUrl url = CARILLON_TRY(net::parse_http_url(address));
  const Status allowed = guard.check_host(url.host);
  if (allowed.ok()) return {};
  return refused("registryValue '" + address + "': " + allowed.error().message);
}

}  // namespace

bool XxlAdmin::is_target(std::string_view target) { return path_below_root(target).has_value(); }

XxlAdmin::XxlAdmin(XxlAdminConfig config, EventLoop& loop, const Clock& clock, Desk desk)
    : config_(std::move(config)),
      loop_(loop),
      desk_(std::move(desk)),
      refusals_(Logger{"jobtracker.xxl"}, clock),
      false_claims_(Logger{"jobtracker.xxl"}, clock),
      waiting_(kWaitingMax) {
  loop_.watch(waiting_.fd(), [this] {
    waiting_.clear();
    hand_over();
  });
}

XxlAdmin::~XxlAdmin() { loop_.unwatch(waiting_.fd()); }

std::optional<net::HttpResponse> XxlAdmin::check_head(const net::HttpCall& head) {
  const auto why = refusal_of_head(head, path_below_root(head.target).value_or(""));
  if (!why) return std::nullopt;
  refusals_.add(head.peer, *why);
  return response_of(failure(*why));
}

void XxlAdmin::call(const net::HttpCall& call, const net::HttpResponder& responder) {
  const auto refuse = [&](const std::string& why) {
    refusals_.add(call.peer, why);
    answer(responder, failure(why));
  };
  const std::string path = path_below_root(call.target).value_or("");
  if (const auto why = refusal_of_head(call, path)) return refuse(*why);
  Result<std::optional<Request>> request = read(call, path);
  if (!request.ok()) return refuse(request.error().message);
  if (!request.value()) return answer(responder, {});
  Waiting waiting{.request = std::move(*request.value()),
                  .caller = {.has_common_token = has_common_token(call),
                             .app_name = header(call, wire::xxl::kAppNameHeader),
                             .token = header(call, wire::xxl::kTokenHeader)},
                  .peer = call.peer,
                  .responder = responder};
  if (!waiting_.put(std::move(waiting)))
    return refuse("too many requests are waiting to be stored (slow down)");
}

// The texts equal xxl-job's, where it has one.
std::optional<std::string> XxlAdmin::refusal_of_head(const net::HttpCall& head,
                                                     std::string_view path) const {
  if (head.method != "POST") return "invalid request, HttpMethod not support.";
  if (!config_.closed.empty()) return config_.closed;
  // A caller that names an app may have its token, which only the loop knows.
  const bool may_be_let_in = config_.tokens.empty() || has_common_token(head) ||
                             !header(head, wire::xxl::kAppNameHeader).empty();
  if (may_be_let_in) return std::nullopt;
  // Executors that speak Hessian send no header.
  if (path.empty())
    return "invalid request, uri-mapping empty (update xxl-job-core if it is older than 2.2).";
  return "The access token is wrong.";
}

bool XxlAdmin::has_common_token(const net::HttpCall& call) const {
  const std::string token = header(call, wire::xxl::kTokenHeader);
  bool is_one = false;
  for (const std::string& one : config_.tokens) is_one |= is_same_secret(token, one);
  return is_one;
}

bool XxlAdmin::may_speak_for(const Caller& caller, const std::string& app_name) const {
  if (caller.has_common_token) return true;
  const std::string token = desk_.token_of(app_name);
  if (!token.empty()) return is_same_secret(caller.token, token);
  // A caller with an app's token may act only for that app.
  return config_.tokens.empty() &&
         (caller.app_name == app_name || desk_.token_of(caller.app_name).empty());
}

bool XxlAdmin::may_end(const Caller& caller, std::int64_t log_id) const {
  if (caller.has_common_token) return true;
  const std::vector<std::string> apps = desk_.apps_of_run(log_id);
  return apps.empty() || std::any_of(apps.begin(), apps.end(), [&](const std::string& app) {
           return may_speak_for(caller, app);
         });
}

std::optional<std::string> XxlAdmin::refusal_of(Waiting& waiting) {
  const Caller& caller = waiting.caller;
  if (!caller.app_name.empty() && !may_speak_for(caller, caller.app_name))
    return "invalid request, accessToken or appname invalid.";
  auto* const request = std::get_if<ExecutorRequest>(&waiting.request);
  if (request == nullptr) {
    const bool has_token = caller.has_common_token || !desk_.token_of(caller.app_name).empty();
    return has_token ? std::nullopt : std::optional<std::string>{kNeedsToken};
  }
  if (const auto* registration = std::get_if<ExecutorRegistration>(request)) {
    if (may_speak_for(caller, registration->app_name)) return std::nullopt;
    return "The access token is not that of '" + registration->app_name + "'.";
  }
  const std::size_t foreign =
      std::erase_if(std::get<ExecutorResults>(*request).results,
                    [&](const auto& one) { return !may_end(caller, one.log_id); });
  if (foreign > 0)
    false_claims_.add(
        waiting.peer,
        std::to_string(foreign) +
            " results of a callback belong to runs of another app, whose access token is needed");
  return std::nullopt;
}

Result<std::optional<XxlAdmin::Request>> XxlAdmin::read(const net::HttpCall& call,
                                                        std::string_view path) {
  const auto unreadable = [](const Error& error) {
    return error.with_context("openapi invoke error");
  };
  if (path.empty() && wire::xxl::is_hessian(call.body))
    return refused(std::string{wire::xxl::kSpeaksHessian});
  if (path.empty()) return refused("invalid request, uri-mapping empty.");
  if (is_blank(call.body)) return refused("invalid request, requestBody empty.");
  if (std::count(call.body.begin(), call.body.end(), ',') > kValuesMax)
    return refused("the request has more than " + std::to_string(kValuesMax) + " values");
  if (path == "callback") {
    auto list = wire::xxl::read_results(call.body);
    if (!list.ok()) return unreadable(list.error());
    // The other results of the request count, because the executor may not send them again.
    if (list.value().refused > 0)
      refusals_.add(call.peer, std::to_string(list.value().refused) +
                                   " results of a callback are invalid: " + list.value().why);
    if (list.value().results.empty()) return std::optional<Request>{};
    list.value().results.shrink_to_fit();  // They may wait.
    return std::optional<Request>{ExecutorResults{.results = std::move(list.value().results)}};
  }
  if (const auto verb = verb_of(path)) {
    std::string app_name = header(call, wire::xxl::kAppNameHeader);
    if (app_name.empty()) return refused("invalid request, accessToken or appname is empty.");
    auto job = wire::xxl::read_managed_job(call.body);
    if (!job.ok()) return unreadable(job.error());
    return std::optional<Request>{ManageJob{.verb = *verb,
                                            .app_name = std::move(app_name),
                                            .job = std::move(job).value(),
                                            .peer = call.peer}};
  }
  if (path != "registry" && path != "registryRemove")
    return refused("invalid request, uri-mapping(" + std::string{path} + ") not found.");
  auto read = wire::xxl::read_registration(call.body);
  if (!read.ok()) return unreadable(read.error());
  wire::xxl::Registration& registration = read.value();
  if (registration.group.empty() || registration.app_name.empty() || registration.address.empty())
    return refused("Illegal Argument.");
  // xxl-job admins register among themselves with the same call.
  if (registration.group != "EXECUTOR") return std::optional<Request>{};
  CARILLON_TRY(check_app_name(registration.app_name));
  CARILLON_TRY(check_address(registration.address, config_.guard));
  return std::optional<Request>{ExecutorRegistration{.removes = path == "registryRemove",
                                                     .app_name = std::move(registration.app_name),
                                                     .address = std::move(registration.address),
                                                     .peer = call.peer}};
}

void XxlAdmin::set_open(bool is_open) {
  is_open_ = is_open;
  hand_over();
}

void XxlAdmin::hand_over() {
  while (is_open_) {
    std::optional<Waiting> next = waiting_.take();
    if (!next) return;
    if (const auto why = refusal_of(*next)) {
      false_claims_.add(next->peer, *why);
      answer(next->responder,
             *why == kNeedsToken ? Reply{.code = kUnauthorized, .message = *why} : failure(*why));
      continue;
    }
    if (auto* managed = std::get_if<ManageJob>(&next->request)) {
      desk_.manage(
          std::move(*managed), [responder = next->responder](const Result<std::string>& made) {
            if (made.ok()) return answer(responder, {.message = kManaged}, made.value());
            const bool are_too_many = made.error().code == ErrorCode::kLimit;
            answer(responder, {.code = are_too_many ? kTooManyRequests : wire::xxl::kFailure,
                               .message = made.error().message});
          });
      continue;
    }
    ExecutorRequest& request = std::get<ExecutorRequest>(next->request);
    if (auto* results = std::get_if<ExecutorResults>(&request)) {
      hand_over(std::make_shared<Results>(std::move(results->results)), 0, next->responder);
    } else {
      desk_.take(std::move(request), [responder = next->responder](const Status& stored) {
        answer(responder, stored.ok() ? Reply{} : failure(stored.error().message));
      });
    }
  }
}

// In portions: on its way to the store a result needs much more memory than in a request.
void XxlAdmin::hand_over(const std::shared_ptr<Results>& results, std::size_t from,
                         const net::HttpResponder& responder) {
  const std::size_t end = std::min(from + kPortionMax, results->size());
  ExecutorResults portion;
  portion.results.assign(
      std::make_move_iterator(results->begin() + static_cast<std::ptrdiff_t>(from)),
      std::make_move_iterator(results->begin() + static_cast<std::ptrdiff_t>(end)));
  desk_.take(std::move(portion), [this, results, end, responder](const Status& stored) {
    if (!stored.ok()) return answer(responder, failure(stored.error().message));
    if (end == results->size()) return answer(responder, {});
    if (!is_open_) return answer(responder, failure("the job tracker restarts, try again"));
    hand_over(results, end, responder);
  });
}

}  // namespace carillon::jobtracker
