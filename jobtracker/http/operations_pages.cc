#include "jobtracker/http/operations_pages.h"

#include <utility>

#include <nlohmann/json.hpp>

#include "shared/job/group_name.h"
#include "shared/net/http/own_name.h"

namespace carillon::jobtracker {
namespace {

constexpr const char* kHealth = "/healthz";
constexpr const char* kReady = "/readyz";
constexpr const char* kMetrics = "/metrics";
constexpr const char* kPages =
    "/api/v1   the HTTP API; /api/v1/docs describes it. A browser gets the console here\n"
    "/healthz  whether the process is alive\n"
    "/readyz   whether the store answers and jobs are handed out\n"
    "/metrics  metrics in the Prometheus text format\n"
    "/autoscale/GROUP  the work of a node group as JSON, for an autoscaler\n";
constexpr std::string_view kAutoscale = "/autoscale/";

std::string path_of(const net::HttpCall& call) {
  return call.target.substr(0, call.target.find('?'));
}

// The group of a path like /autoscale/GROUP; empty: it is another path.
std::string group_of_path(const std::string& path) {
  if (!path.starts_with(kAutoscale)) return {};
  std::string group = path.substr(kAutoscale.size());
  return check_group_name("group", group).ok() ? group : std::string{};
}

net::HttpResponse autoscale_answer(const std::string& group, const Result<GroupLevels>& levels) {
  if (!levels.ok()) {
    const int status = levels.error().code == ErrorCode::kNotFound ? 404 : 503;
    return {.status = status, .body = levels.error().message + "\n"};
  }
  const GroupLevels& found = levels.value();
  const nlohmann::ordered_json json{{"group", group},
                                    {"due", found.due},
                                    {"executing", found.executing},
                                    {"threads", found.threads},
                                    {"wanted_threads", found.due + found.executing}};
  return {.content_type = "application/json", .body = json.dump() + "\n"};
}

}  // namespace

Result<std::unique_ptr<OperationsPages>> OperationsPages::open(const std::string& address,
                                                               net::HttpAccess access,
                                                               EventLoop& loop, Source source,
                                                               XxlAdmin* xxl,
                                                               FurtherPages further) {
  std::unique_ptr<OperationsPages> pages(
      new OperationsPages(loop, std::move(source), xxl, std::move(further)));
  net::HttpServerConfig config{
      .names = net::names_of_machine(),
      .kept_paths = {kHealth, kReady, kMetrics},
      .access = std::move(access),
      .check_head = [raw =
                         pages.get()](const net::HttpCall& head) { return raw->check_head(head); },
      .on_answered = pages->source_.on_answered};
  const std::vector<std::string>& more = pages->source_.names;
  config.names.insert(config.names.end(), more.begin(), more.end());
  if (xxl != nullptr) {
    config.body_max = XxlAdmin::kBodyMax;
    if (xxl->asks_for_token()) config.any_name_for = XxlAdmin::is_target;
  }
  pages->server_ = CARILLON_TRY(net::HttpServer::open(
      address, std::move(config),
      [raw = pages.get()](const net::HttpCall& call, const net::HttpResponder& responder) {
        raw->answer(call, responder);
      }));
  return pages;
}

OperationsPages::OperationsPages(EventLoop& loop, Source source, XxlAdmin* xxl,
                                 FurtherPages further)
    : loop_(loop), source_(std::move(source)), xxl_(xxl), further_(std::move(further)) {
  loop_.watch(asked_.fd(), [this] {
    asked_.clear();
    while (const auto asked = asked_.take()) answer_on_loop(*asked);
  });
}

void OperationsPages::answer_on_loop(const Asked& asked) {
  if (asked.group.empty()) {
    return asked.responder.send(
        {.content_type = kPrometheusContentType,
         .make_body = [metrics = source_.metrics()] { return to_prometheus_text(metrics()); }});
  }
  source_.levels(asked.group, [asked](const Result<GroupLevels>& levels) {
    asked.responder.send(autoscale_answer(asked.group, levels));
  });
}

OperationsPages::~OperationsPages() {
  server_.reset();
  loop_.unwatch(asked_.fd());
}

// On the HTTP thread.
std::optional<net::HttpResponse> OperationsPages::check_head(const net::HttpCall& head) {
  // First: paths of xxl-job begin with /api/, too.
  if (further_.takes && further_.takes(head)) return further_.check_head(head);
  if (xxl_ != nullptr && XxlAdmin::is_target(head.target)) return xxl_->check_head(head);
  if (head.method != "GET")
    return net::HttpResponse{.status = 405, .body = "only GET\n", .headers = {{"Allow", "GET"}}};
  const std::string path = path_of(head);
  if (path == "/" || path == kHealth || path == kReady || path == kMetrics ||
      !group_of_path(path).empty())
    return std::nullopt;
  return net::HttpResponse{.status = 404,
                           .body = "no such page; the pages are\n" + std::string{kPages}};
}

// On the HTTP thread.
void OperationsPages::answer(const net::HttpCall& call, net::HttpResponder responder) {
  if (further_.takes && further_.takes(call)) return further_.call(call, responder);
  if (xxl_ != nullptr && XxlAdmin::is_target(call.target)) return xxl_->call(call, responder);
  const std::string path = path_of(call);
  if (path == "/") return responder.send({.body = kPages});
  if (path == kHealth) return responder.send({.body = "ok\n"});
  if (path == kReady) {
    if (ready_) return responder.send({.body = "ready\n"});
    return responder.send(
        {.status = 503, .body = "not ready: starting, or the store is unreachable or full\n"});
  }
  if (!asked_.put({.responder = std::move(responder), .group = group_of_path(path)}))
    return responder.send({.status = 503, .body = "too many requests, try again\n"});
}

}  // namespace carillon::jobtracker
