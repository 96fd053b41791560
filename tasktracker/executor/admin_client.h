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
  std::string token{};  // empty: none is sent
  Duration timeout = std::chrono::seconds{3};
};

// What an executor says to the admins. Each call ends with the first admin that takes it, and the
// next one begins with that. An error is the last one's: kDenied where an admin answered and
// refused, kUnavailable where none answered.
//
// Thread: one at a time; two of them for two.
class AdminClient {
 public:
  // The references must outlive it. Once `cancelled`, calls fail.
  AdminClient(AdminClientConfig config, const HttpSend& send, const std::atomic<bool>& cancelled);

  Status register_at(const std::string& address);
  Status deregister(const std::string& address);
  // Elements as write_result() makes them.
  Status send_results(const std::vector<std::string_view>& elements);

 private:
  struct Admin {
    std::string url{};
    wire::xxl::ResultForm form = wire::xxl::ResultForm::kArray;  // what it took last
  };

  Status tell_address(const std::string& path, const std::string& address);
  Status tell_any(const std::function<Status(Admin&)>& tell);
  Status send_results_to(Admin& admin, const std::vector<std::string_view>& elements);
  Status post(const std::string& admin, const std::string& path, const std::string& body);

  const AdminClientConfig config_;
  const HttpSend& send_;
  const std::atomic<bool>& cancelled_;
  std::vector<Admin> admins_;
  std::size_t first_ = 0;  // whom to begin with
};

}  // namespace carillon::tasktracker
