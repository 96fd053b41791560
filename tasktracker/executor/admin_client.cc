#include "tasktracker/executor/admin_client.h"

#include <utility>

#include "shared/base/assert.h"
#include "shared/wire/xxl/read.h"

namespace carillon::tasktracker {
namespace {

using wire::xxl::ResultForm;

constexpr std::size_t kAdminAnswerBytesMax = 64 * 1024;
constexpr int kHttpOk = 200;

}  // namespace

AdminClient::AdminClient(AdminClientConfig config, const HttpSend& send,
                         const std::atomic<bool>& cancelled)
    : config_(std::move(config)), send_(send), cancelled_(cancelled) {
  CARILLON_ASSERT(!config_.admins.empty(), "an executor needs an admin");
  for (std::string url : config_.admins) {
    while (url.ends_with('/')) url.pop_back();
    admins_.push_back({.url = std::move(url)});
  }
}

Status AdminClient::register_at(const std::string& address) {
  return tell_address("registry", address);
}

Status AdminClient::deregister(const std::string& address) {
  return tell_address("registryRemove", address);
}

Status AdminClient::tell_address(const std::string& path, const std::string& address) {
  const std::string body =
      wire::xxl::write_registration({.app_name = config_.app_name, .address = address});
  return tell_any([&](Admin& admin) { return post(admin.url, path, body); });
}

Status AdminClient::send_results(const std::vector<std::string_view>& elements) {
  return tell_any([&](Admin& admin) { return send_results_to(admin, elements); });
}

// A hanging admin delays a call only once.
Status AdminClient::tell_any(const std::function<Status(Admin&)>& tell) {
  Status last;
  for (std::size_t i = 0; i < admins_.size(); ++i) {
    const std::size_t which = (first_ + i) % admins_.size();
    last = tell(admins_[which]);
    if (!last.ok()) continue;
    first_ = which;
    break;
  }
  return last;
}

// Admins do not report their version; they reject unknown forms.
Status AdminClient::send_results_to(Admin& admin, const std::vector<std::string_view>& elements) {
  Status sent = post(admin.url, "callback", wire::xxl::write_results(elements, admin.form));
  if (sent.ok() || sent.error().code != ErrorCode::kDenied) return sent;
  const ResultForm other =
      admin.form == ResultForm::kArray ? ResultForm::kList : ResultForm::kArray;
  const Status again = post(admin.url, "callback", wire::xxl::write_results(elements, other));
  if (!again.ok()) return sent;
  admin.form = other;
  return {};
}

Status AdminClient::post(const std::string& admin, const std::string& path,
                         const std::string& body) {
  HttpRequest request{.method = "POST", .url = admin + "/api/" + path, .body = body};
  request.headers["Content-Type"] = std::string{wire::xxl::kContentType};
  request.headers[std::string{wire::xxl::kAppNameHeader}] = config_.app_name;
  if (!config_.token.empty()) {
    request.headers[std::string{wire::xxl::kTokenHeader}] = config_.token;
  }
  const Result<HttpAnswer> answer =
      send_(request, config_.timeout, kAdminAnswerBytesMax, cancelled_);
  if (!answer.ok()) {
    return Error{ErrorCode::kUnavailable, request.url + ": " + answer.error().message};
  }
  const Result<wire::xxl::Reply> reply = wire::xxl::read_reply(answer.value().body);
  if (answer.value().status == kHttpOk && reply.ok() && reply.value().ok()) return {};
  std::string why = !reply.ok() ? reply.error().message
                                : "code " + std::to_string(reply.value().code) + ", " +
                                      (reply.value().message.empty() ? "without a message"
                                                                     : reply.value().message);
  if (answer.value().status != kHttpOk) {
    why = "http status " + std::to_string(answer.value().status) + ": " + why;
  }
  // A proxy in front of an unreachable admin answers with its own status, without JSON.
  return Error{reply.ok() ? ErrorCode::kDenied : ErrorCode::kUnavailable, request.url + ": " + why};
}

}  // namespace carillon::tasktracker
