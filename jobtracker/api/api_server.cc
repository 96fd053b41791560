#include "jobtracker/api/api_server.h"

#include <algorithm>
#include <array>
#include <exception>
#include <utility>

#include "jobtracker/api/refusals.h"
#include "shared/base/joined.h"
#include "shared/base/log.h"
#include "shared/base/utf8.h"
#include "shared/net/http/frame_transport.h"

namespace carillon::jobtracker::api {
namespace {

// How long calls wait for what they need.
constexpr Duration kReadyPeriod = std::chrono::milliseconds{25};
constexpr int kLooksForSecretMax = 200;
constexpr int kLooksForRoomMax = 120;

std::string path_of_target(const std::string& target) { return target.substr(0, target.find('?')); }

std::string header_of(const net::HttpCall& call, const char* name) {
  const auto found = call.headers.find(name);
  return found == call.headers.end() ? std::string{} : found->second;
}

// "Bearer crl_..."; empty: another scheme, or none.
std::string bearer_token(const net::HttpCall& call) {
  const std::string header = header_of(call, "authorization");
  constexpr std::size_t kSchemeLength = 7;
  if (header.size() <= kSchemeLength || lower_ascii(header.substr(0, kSchemeLength)) != "bearer ")
    return {};
  const auto begin = header.find_first_not_of(' ', kSchemeLength);
  return begin == std::string::npos ? std::string{} : header.substr(begin);
}

Problem not_signed_in() {
  return {.status = 401,
          .code = "unauthenticated",
          .detail =
              "the call needs a token (Authorization: Bearer TOKEN, see jobclient tokens) or a "
              "session"};
}

Problem unknown_path(const Router::Match& match, const std::string& path) {
  if (match.methods.empty()) {
    return {.status = 404,
            .code = "not_found",
            .detail = "there is no '" + path + "' (see " + std::string{kRoot} + "/docs)"};
  }
  return {.status = 405,
          .code = "method_not_allowed",
          .detail = "'" + path + "' has only " + joined(match.methods, ", ")};
}

bool is_json_type(std::string type) {
  type = lower_ascii(type.substr(0, type.find(';')));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  return type.empty() || type == "application/json" || type == "application/jsonl" ||
         type == "application/x-ndjson" || type.ends_with("+json");
}

// What is wrong with the content type of a call.
std::optional<Problem> refusal_of_type(const net::HttpCall& head, const Route& route) {
  const bool may_have_body = head.method != "GET" && head.method != "DELETE";
  const std::string type = header_of(head, "content-type");
  const bool is_frame = route.path == kFramesPath;
  const bool fits = is_frame ? lower_ascii(type) == net::kFrameType : is_json_type(type);
  if (!may_have_body || fits) return std::nullopt;
  return Problem{.status = 415,
                 .code = "invalid_argument",
                 .detail = is_frame ? "the body must be a frame (Content-Type: " +
                                          std::string{net::kFrameType} + ")"
                                    : "the body must be JSON (Content-Type: application/json)",
                 .field = "content_type"};
}

// A request to sign in is small, and its sender is not known yet.
std::optional<net::HttpResponse> refusal_of_size(const net::HttpCall& head) {
  const std::string length = header_of(head, "content-length");
  const bool is_small = length.size() <= 4 || (length.size() == 5 && length <= "16384");
  if (is_small && header_of(head, "transfer-encoding").empty()) return std::nullopt;
  return response_of(Problem{.status = 413,
                             .code = "limit",
                             .detail = "the body must have a Content-Length of at most 16384 bytes",
                             .limit = 16384});
}

// The memory of requests and answers is limited by the HTTP server.
CallSize size_of(const Route& route, const Parameters& parameters) {
  constexpr std::array<std::string_view, 5> kLarge{"/jobs:export", "/jobs:import", "/overview",
                                                   "/calendar", "/search"};
  if (std::find(kLarge.begin(), kLarge.end(), route.path) != kLarge.end()) return CallSize::kLarge;
  if (route.method != "GET" || route.path.ends_with("{}") || route.path == "/whoami")
    return CallSize::kSmall;
  if (route.path != "/runs/{}/output") return CallSize::kOrdinary;
  if (parameters.text("follow") == "true") return CallSize::kStream;
  return parameters.text("format") == "text" ? CallSize::kLarge : CallSize::kOrdinary;
}

Error too_many_calls() { return {ErrorCode::kLimit, "too many calls are in progress, try again"}; }

// For a head whose method or path is not served.
net::HttpResponse response_to(const Problem& problem, const Router::Match& match) {
  net::HttpResponse response = response_of(problem);
  if (problem.status == 405) response.headers["Allow"] = joined(match.methods, ", ");
  return response;
}

}  // namespace

std::vector<Route> all_routes() {
  std::vector<Route> all;
  const auto add = [&all](std::span<const Route> routes) {
    all.insert(all.end(), routes.begin(), routes.end());
  };
  add(job_routes());
  add(job_change_routes());
  add(transfer_routes());
  add(run_routes());
  add(output_routes());
  add(history_routes());
  add(cluster_routes());
  add(script_routes());
  add(schedule_routes());
  add(calendar_routes());
  add(alarm_routes());
  add(figure_routes());
  add(search_routes());
  add(event_routes());
  add(operation_routes());
  add(principal_routes());
  add(frame_routes());
  add(document_routes());
  return all;
}

Result<std::unique_ptr<ApiServer>> ApiServer::start(Config config, const AccessRegistry& registry) {
  auto gateway = CARILLON_TRY(Gateway::start(config.own_address, config.make_transport));
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(config), registry, std::move(gateway)));
}

ApiServer::ApiServer(Config config, const AccessRegistry& registry,
                     std::unique_ptr<Gateway> gateway)
    : config_(std::move(config)),
      registry_(registry),
      router_(all_routes()),
      gateway_(std::move(gateway)),
      operations_(*gateway_,
                  [this](const Principal& principal, const net::HttpCall& head) {
                    return is_still_sender(principal, head);
                  }),
      events_(*gateway_,
              [this](const Principal& principal, const net::HttpCall& head) {
                return is_still_sender(principal, head);
              }),
      api_{*gateway_,
           registry,
           config_.facts,
           router_,
           operations_,
           events_,
           [this] { return secret(); },
           [this](const Principal& principal, const net::HttpCall& head) {
             return is_still_sender(principal, head);
           }} {}

// What is open is answered while everything that answers use is still there.
ApiServer::~ApiServer() { gateway_->stop(); }

std::optional<Principal> ApiServer::principal_of(const net::HttpCall& call) const {
  // A browser or a proxy may send another scheme of its own accord; the session counts then.
  if (const std::string token = bearer_token(call); !token.empty())
    return registry_.with_token(token);
  return sign_in_.principal_of ? sign_in_.principal_of(call) : std::nullopt;
}

std::optional<Problem> ApiServer::refusal_of(const net::HttpCall& head,
                                             Router::Match* found) const {
  const std::string path = path_of_target(head.target);
  const auto principal = principal_of(head);
  if (!principal) return not_signed_in();
  auto match = router_.match(head.method, path);
  if (!match.ok()) return problem_of(match.error());
  *found = std::move(match).value();
  if (found->route == nullptr) return unknown_path(*found, path);
  if (!principal->may(found->route->right)) {
    record_refusal(*gateway_, *principal, head.peer, change_of_route(*found));
    return problem_of(Error{ErrorCode::kDenied, principal->kind + " '" + principal->name +
                                                    "' (role " + to_string(principal->role) +
                                                    ") may not do this: it needs the role " +
                                                    least_role(found->route->right)});
  }
  return refusal_of_type(head, *found->route);
}

std::optional<net::HttpResponse> ApiServer::check_head(const net::HttpCall& head) const {
  if (sign_in_.refusal_of) {
    if (auto refused = sign_in_.refusal_of(head)) return refused;
  }
  if (sign_in_.is_target && sign_in_.is_target(head.target)) return refusal_of_size(head);
  Router::Match match;
  const auto refusal = refusal_of(head, &match);
  if (!refusal) return std::nullopt;
  return response_to(*refusal, match);
}

void ApiServer::call(net::HttpCall call, const net::HttpResponder& responder) {
  if (sign_in_.handle && sign_in_.handle(call, responder)) return;
  Router::Match match;
  if (const auto refusal = refusal_of(call, &match))
    return responder.send(response_to(*refusal, match));
  const auto query = call.target.find('?');
  auto parameters = Parameters::parse(query == std::string::npos
                                          ? std::string_view{}
                                          : std::string_view{call.target}.substr(query + 1));
  if (!parameters.ok()) return responder.send(response_of(parameters.error()));
  auto principal = principal_of(call);
  if (!principal) return responder.send(response_of(not_signed_in()));
  auto place = limits_.take(*principal);
  if (!place) return responder.send(response_of(too_many_calls()));
  const CallSize size = size_of(*match.route, parameters.value());
  const auto exchange =
      std::make_shared<const Exchange>(Exchange{.call = std::move(call),
                                                .responder = responder,
                                                .principal = std::move(*principal),
                                                .parts = std::move(match.parts),
                                                .parameters = std::move(parameters).value(),
                                                .place = std::move(place)});
  const bool is_taken = gateway_->run([this, handler = match.route->handler, size, exchange] {
    handle_when_ready(handler, size, exchange, 0);
  });
  if (!is_taken)
    exchange->fail(Error{ErrorCode::kUnavailable, "too many calls are waiting, try again"});
}

std::optional<std::string> ApiServer::secret() const {
  return sign_in_.secret ? sign_in_.secret() : std::nullopt;
}

bool ApiServer::is_still_sender(const Principal& principal, const net::HttpCall& head) const {
  return principal_of(head) == principal;
}

// Waits for the ends of other calls, and for the first secret of a new store. Without it, the call
// gets 503.
void ApiServer::handle_when_ready(Handler handler, CallSize size, const ExchangePtr& exchange,
                                  int looks) {
  const bool has_room = exchange->place->change_to(size);
  const bool has_key = !exchange->header("idempotency-key").empty();
  const bool waits = !has_room || (has_key && looks < kLooksForSecretMax && !secret());
  if (!waits) return handle(handler, exchange);
  if (!has_room && looks >= kLooksForRoomMax) return exchange->fail(too_many_calls());
  if (gateway_->is_stopped()) return;  // It gets 503.
  gateway_->after(kReadyPeriod, [this, handler, size, exchange, looks] {
    handle_when_ready(handler, size, exchange, looks + 1);
  });
}

void ApiServer::handle(Handler handler, const ExchangePtr& exchange) {
  // The JSON library throws where a check is missing; that must not end the job tracker.
  try {
    handler(api_, exchange);
  } catch (const std::exception& thrown) {
    Logger{"jobtracker.api"}.error("bug", "target", exchange->path(), "what", thrown.what());
    exchange->fail(Problem{.status = 500, .code = "corrupt", .detail = "this is a bug"});
  }
}

}  // namespace carillon::jobtracker::api
