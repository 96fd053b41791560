#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jobtracker/http/xxl_admin.h"
#include "shared/net/http/http_server.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"

namespace carillon::jobtracker {

// A counter (its name ends in "_total") or a gauge.
using NamedNumber = std::pair<std::string, std::int64_t>;

// What else the server of the pages serves, and with which paths. Called on its thread.
struct FurtherPages {
  std::function<bool(std::string_view target)> is_target{};  // not set: nothing
  std::function<std::optional<net::HttpResponse>(const net::HttpCall& head)> check_head{};
  std::function<void(net::HttpCall call, const net::HttpResponder& responder)> call{};
};

// The pages for operators: /healthz (the process is alive), /readyz (the store answers and jobs are
// handed out), /metrics (Prometheus text format), and / with a list of them. Calls of xxl-job
// executors go to `xxl`, if it is set, and what is for `further` there. The pages are served from the start, to requests that name
// the machine by an address or by its own name.
//
// Thread: the loop; `metrics` is called on it.
class OperationsPages {
 public:
  static Result<std::unique_ptr<OperationsPages>> open(
      const std::string& address, EventLoop& loop,
      std::function<std::vector<NamedNumber>()> metrics, XxlAdmin* xxl = nullptr,
      FurtherPages further = {});
  ~OperationsPages();

  void set_ready(bool ready) { ready_ = ready; }
  // Its address, with the actual port.
  const std::string& url() const { return server_->url(); }

 private:
  OperationsPages(EventLoop& loop, std::function<std::vector<NamedNumber>()> metrics, XxlAdmin* xxl,
                  FurtherPages further);
  std::optional<net::HttpResponse> check_head(const net::HttpCall& head);
  void answer(const net::HttpCall& call, net::HttpResponder responder);

  EventLoop& loop_;
  std::function<std::vector<NamedNumber>()> metrics_;
  XxlAdmin* const xxl_;
  const FurtherPages further_;
  std::atomic<bool> ready_{false};
  Mailbox<net::HttpResponder> asked_{256};
  std::unique_ptr<net::HttpServer> server_;
};

// The numbers in the Prometheus text format, each with a name "carillon_...".
std::string to_prometheus_text(const std::vector<NamedNumber>& numbers);

}  // namespace carillon::jobtracker
