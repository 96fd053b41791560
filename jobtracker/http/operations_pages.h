#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/http/xxl_admin.h"
#include "shared/net/http/http_server.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"

namespace carillon::jobtracker {

// A counter (its name ends in "_total") or gauge.
using NamedNumber = std::pair<std::string, std::int64_t>;

// The pages for whoever operates a job tracker: /healthz (the process lives), /readyz (its store
// answers and it hands out jobs), /metrics (Prometheus' text format), and / with a list of them.
// What xxl-job executors call goes on to `xxl`, if there is one.
// They answer from the moment this is opened, to requests that call the machine by an address or
// by its own name.
//
// Thread: the loop's; `metrics` is called on it.
class OperationsPages {
 public:
  static Result<std::unique_ptr<OperationsPages>> open(
      const std::string& address, EventLoop& loop,
      std::function<std::vector<NamedNumber>()> metrics, XxlAdmin* xxl = nullptr);
  ~OperationsPages();

  void set_ready(bool ready) { ready_ = ready; }
  // Where it listens, with the port that was taken.
  const std::string& url() const { return server_->url(); }

 private:
  OperationsPages(EventLoop& loop, std::function<std::vector<NamedNumber>()> metrics,
                  XxlAdmin* xxl);
  void answer(const net::HttpCall& call, net::HttpResponder responder);

  EventLoop& loop_;
  std::function<std::vector<NamedNumber>()> metrics_;
  XxlAdmin* const xxl_;
  std::atomic<bool> ready_{false};
  Mailbox<net::HttpResponder> asked_{256};
  std::unique_ptr<net::HttpServer> server_;
};

// The numbers as Prometheus reads them, each named "carillon_...".
std::string to_prometheus_text(const std::vector<NamedNumber>& numbers);

}  // namespace carillon::jobtracker
