#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "carillon/time.h"
#include "shared/wire/xxl/messages.h"
#include "shared/wire/xxl/write.h"
#include "tasktracker/run/http_run.h"

namespace carillon::tasktracker {

struct AdminClientConfig {
  std::vector<std::string> admins{};  // "http://HOST:PORT/xxl-job-admin"; tried in order
  std::string app_name{};
  std::string token{};  // empty: no token is sent
  Duration timeout = std::chrono::seconds{3};
};

// Calls of an executor to the admins. A call tries the admins in order, starting with the last
// successful one, until one accepts it. The error is that of the last one: kDenied if an admin
// rejected the call, kUnavailable if none answered.
//
// Thread: one at a time; use two clients for two threads.
class AdminClient {
 public:
  // The references must outlive the client. When `cancelled` is set, calls fail.
  AdminClient(AdminClientConfig config, const HttpSend& send, const std::atomic<bool>& cancelled);

  Status register_at(const std::string& address);
  Status deregister(const std::string& address);
  // `elements`: from write_result().
  Status send_results(const std::vector<std::string_view>& elements);

 private:
  struct Admin {
    std::string url{};
    wire::xxl::ResultForm form = wire::xxl::ResultForm::kArray;  // the form that it accepted last
  };

  Status tell_address(const std::string& path, const std::string& address);
  Status tell_any(const std::function<Status(Admin&)>& tell);
  Status send_results_to(Admin& admin, const std::vector<std::string_view>& elements);
  Status post(const std::string& admin, const std::string& path, const std::string& body);

  const AdminClientConfig config_;
  const HttpSend& send_;
  const std::atomic<bool>& cancelled_;
  std::vector<Admin> admins_;
  std::size_t first_ = 0;  // the first one to try
};

}  // namespace carillon::tasktracker
