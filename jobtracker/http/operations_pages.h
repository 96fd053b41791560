#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "carillon/time.h"
#include "jobtracker/http/xxl_admin.h"
#include "jobtracker/state/group_levels.h"
#include "shared/metrics/metric.h"
#include "shared/net/http/http_server.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"

namespace carillon::jobtracker {

// What else the server of the pages serves. Called on its thread.
struct FurtherPages {
  std::function<bool(const net::HttpCall& head)> takes{};  // not set: nothing
  std::function<std::optional<net::HttpResponse>(const net::HttpCall& head)> check_head{};
  std::function<void(net::HttpCall call, const net::HttpResponder& responder)> call{};
};

// The pages for operators: /healthz (the process is alive), /readyz (the store answers and jobs are
// handed out), /metrics (Prometheus text format), /autoscale/GROUP (the work of a node group, for
// an autoscaler), and / with a list of them. Calls of xxl-job executors go to `xxl`, if it is set,
// and others to `further`. The pages are served from the start, to requests that name the machine
// by an address or by its own name.
//
// Thread: the loop; the functions of the source are called on it.
class OperationsPages {
 public:
  using OnLevels = std::function<void(Result<GroupLevels>)>;
  struct Source {
    // Copies the numbers, and returns a function that makes the metrics of them on another thread.
    std::function<std::function<std::vector<Metric>()>()> metrics{};
    std::function<void(const std::string& group, OnLevels done)> levels{};
    std::function<void(Duration)> on_answered{};  // see net::HttpServerConfig
    std::vector<std::string> names{};             // further host names that requests may use
  };
  static Result<std::unique_ptr<OperationsPages>> open(const std::string& address,
                                                       net::HttpAccess access, EventLoop& loop,
                                                       Source source, XxlAdmin* xxl = nullptr,
                                                       FurtherPages further = {});
  ~OperationsPages();

  void set_ready(bool ready) { ready_ = ready; }
  // See net::HttpServer.
  Status reload_certificate() { return server_->reload_certificate(); }
  // Its address, with the actual port.
  const std::string& url() const { return server_->url(); }

 private:
  // A request that the loop answers.
  struct Asked {
    net::HttpResponder responder;
    std::string group{};  // of /autoscale/GROUP; empty: /metrics
  };

  OperationsPages(EventLoop& loop, Source source, XxlAdmin* xxl, FurtherPages further);
  std::optional<net::HttpResponse> check_head(const net::HttpCall& head);
  void answer(const net::HttpCall& call, net::HttpResponder responder);
  void answer_on_loop(const Asked& asked);

  EventLoop& loop_;
  const Source source_;
  XxlAdmin* const xxl_;
  const FurtherPages further_;
  std::atomic<bool> ready_{false};
  Mailbox<Asked> asked_{256};
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace carillon::jobtracker
