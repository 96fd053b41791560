#include "tasktracker/metrics/metrics_pages.h"

#include <utility>

#include "shared/net/http/own_name.h"

namespace carillon::tasktracker {
namespace {

constexpr const char* kWorkerHealth = "/healthz";
constexpr const char* kWorkerMetrics = "/metrics";
constexpr const char* kWorkerPages =
    "/healthz  whether the process is alive\n"
    "/metrics  metrics in the Prometheus text format\n";

net::HttpResponse page_of(const net::HttpCall& call, const WorkerMetrics& metrics) {
  const std::string path = call.target.substr(0, call.target.find('?'));
  if (path == "/") return {.body = kWorkerPages};
  if (path == kWorkerHealth) return {.body = "ok\n"};
  if (path == kWorkerMetrics)
    return {.content_type = kPrometheusContentType, .body = to_prometheus_text(metrics.metrics())};
  return {.status = 404, .body = "no such page; the pages are\n" + std::string{kWorkerPages}};
}

}  // namespace

Result<std::unique_ptr<MetricsPages>> MetricsPages::open(const std::string& address,
                                                         const net::HttpAccess& access,
                                                         const WorkerMetrics& metrics) {
  net::HttpServerConfig config{
      .names = net::names_of_machine(),
      .kept_paths = {kWorkerHealth, kWorkerMetrics},
      .access = access,
      .check_head = [](const net::HttpCall& head) -> std::optional<net::HttpResponse> {
        if (head.method == "GET") return std::nullopt;
        return net::HttpResponse{
            .status = 405, .body = "only GET\n", .headers = {{"Allow", "GET"}}};
      }};
  auto server = CARILLON_TRY(net::HttpServer::open(
      address, std::move(config),
      [&metrics](const net::HttpCall& call, const net::HttpResponder& responder) {
        responder.send(page_of(call, metrics));
      }));
  return std::unique_ptr<MetricsPages>(new MetricsPages(std::move(server)));
}

}  // namespace carillon::tasktracker
