#pragma once

#include <memory>
#include <string>

#include "carillon/result.h"
#include "shared/net/http/http_server.h"
#include "tasktracker/metrics/worker_metrics.h"

namespace carillon::tasktracker {

// The pages of a worker for operators: /healthz (the process is alive), /metrics (Prometheus text
// format), and / with a list of them. Served to requests that name the machine by an address or by
// its own name.
//
// Thread: the owner's.
class MetricsPages {
 public:
  // `metrics` must outlive the pages.
  static Result<std::unique_ptr<MetricsPages>> open(const std::string& address,
                                                    const net::HttpAccess& access,
                                                    const WorkerMetrics& metrics);

  // Thread: any.
  Status reload_certificate() { return server_->reload_certificate(); }

  // Its address, with the actual port.
  const std::string& url() const { return server_->url(); }

 private:
  explicit MetricsPages(std::unique_ptr<net::HttpServer> server) : server_(std::move(server)) {}

  const std::unique_ptr<net::HttpServer> server_;
};

}  // namespace carillon::tasktracker
