#include "jobtracker/http/operations_pages.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include "shared/base/host_name.h"

namespace carillon::jobtracker {
namespace {

constexpr const char* kHealth = "/healthz";
constexpr const char* kReady = "/readyz";
constexpr const char* kMetrics = "/metrics";
constexpr const char* kPages =
    "/healthz  whether the process is alive\n"
    "/readyz   whether the store answers and jobs are handed out\n"
    "/metrics  metrics in the Prometheus text format\n";

// Names of this machine for others: Prometheus sends the name that it connects to.
std::vector<std::string> names_of_machine() {
  const std::string name = host_name();
  return {name, name.substr(0, name.find('.'))};
}

std::string path_of(const net::HttpCall& call) {
  return call.target.substr(0, call.target.find('?'));
}

bool is_counter(const std::string& name) {
  constexpr std::string_view kEnd = "_total";
  return name.size() > kEnd.size() &&
         name.compare(name.size() - kEnd.size(), kEnd.size(), kEnd) == 0;
}

}  // namespace

std::string to_prometheus_text(const std::vector<NamedNumber>& numbers) {
  std::vector<prometheus::MetricFamily> families;
  families.reserve(numbers.size());
  for (const auto& [name, number] : numbers) {
    prometheus::MetricFamily family;
    family.name = "carillon_" + name;
    prometheus::ClientMetric metric;
    if (is_counter(name)) {
      family.type = prometheus::MetricType::Counter;
      metric.counter.value = static_cast<double>(number);
    } else {
      family.type = prometheus::MetricType::Gauge;
      metric.gauge.value = static_cast<double>(number);
    }
    family.metric.push_back(std::move(metric));
    families.push_back(std::move(family));
  }
  return prometheus::TextSerializer().Serialize(families);
}

Result<std::unique_ptr<OperationsPages>> OperationsPages::open(
    const std::string& address, EventLoop& loop, std::function<std::vector<NamedNumber>()> metrics,
    XxlAdmin* xxl, FurtherPages further) {
  std::unique_ptr<OperationsPages> pages(
      new OperationsPages(loop, std::move(metrics), xxl, std::move(further)));
  net::HttpServerConfig config{.names = names_of_machine(),
                               .kept_paths = {kHealth, kReady, kMetrics},
                               .check_head = [raw = pages.get()](const net::HttpCall& head) {
                                 return raw->check_head(head);
                               }};
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

OperationsPages::OperationsPages(EventLoop& loop, std::function<std::vector<NamedNumber>()> metrics,
                                 XxlAdmin* xxl, FurtherPages further)
    : loop_(loop), metrics_(std::move(metrics)), xxl_(xxl), further_(std::move(further)) {
  loop_.watch(asked_.fd(), [this] {
    asked_.clear();
    while (const auto responder = asked_.take()) {
      responder->send({.content_type = "text/plain; version=0.0.4; charset=utf-8",
                       .body = to_prometheus_text(metrics_())});
    }
  });
}

OperationsPages::~OperationsPages() {
  server_.reset();
  loop_.unwatch(asked_.fd());
}

// On the HTTP thread.
std::optional<net::HttpResponse> OperationsPages::check_head(const net::HttpCall& head) {
  // First: paths of xxl-job begin with /api/, too.
  if (further_.is_target && further_.is_target(head.target)) return further_.check_head(head);
  if (xxl_ != nullptr && XxlAdmin::is_target(head.target)) return xxl_->check_head(head);
  if (head.method != "GET")
    return net::HttpResponse{.status = 405, .body = "only GET\n", .headers = {{"Allow", "GET"}}};
  const std::string path = path_of(head);
  if (path == "/" || path == kHealth || path == kReady || path == kMetrics) return std::nullopt;
  return net::HttpResponse{.status = 404,
                           .body = "no such page; the pages are\n" + std::string{kPages}};
}

// On the HTTP thread.
void OperationsPages::answer(const net::HttpCall& call, net::HttpResponder responder) {
  if (further_.is_target && further_.is_target(call.target))
    return further_.call(call, responder);
  if (xxl_ != nullptr && XxlAdmin::is_target(call.target)) return xxl_->call(call, responder);
  const std::string path = path_of(call);
  if (path == "/") return responder.send({.body = kPages});
  if (path == kHealth) return responder.send({.body = "ok\n"});
  if (path == kReady) {
    if (ready_) return responder.send({.body = "ready\n"});
    return responder.send(
        {.status = 503, .body = "not ready: starting, or the store is unreachable or full\n"});
  }
  if (!asked_.put(std::move(responder)))
    return responder.send({.status = 503, .body = "too many requests, try again\n"});
}

}  // namespace carillon::jobtracker
