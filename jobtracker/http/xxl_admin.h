#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "jobtracker/state/executor_requests.h"
#include "shared/base/clock.h"
#include "shared/net/address_guard.h"
#include "shared/net/http/http_server.h"
#include "shared/net/http/refusal_log.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/wire/xxl/messages.h"

namespace carillon::jobtracker {

struct XxlAdminConfig {
  std::vector<std::string> tokens{};  // a request needs one of them; empty: no token is needed
  net::AddressGuard guard{};          // of the addresses of executors
  std::string closed{};               // why all requests are rejected; empty: they are accepted
};

// The endpoints of an xxl-job admin for executors: /api/registry, /api/registryRemove and
// /api/callback, also under /xxl-job-admin, in all dialects; and addJob, updateJob, removeJob,
// startJob, stopJob and triggerJob of dialect D. The answer is JSON with a code, always under HTTP
// status 200, because executors expect that. A request is answered when its data is stored. While
// no session can store it, it waits.
//
// Calls that change jobs need a token: a common one, or the app's own.
//
// A request that names an app (dialect D) may carry that app's token instead of a common one; then
// it may act only for that app. An app with its own token accepts that token or a common one. A
// result of a run that the caller may not report counts as a result of an unknown run.
//
// Each bad request is answered and logged. The number of waiting requests is limited. Their bytes
// are counted by the HTTP server until they are answered.
//
// Thread: check_head() and call() on the HTTP server's thread, all else on the loop.
class XxlAdmin {
 public:
  // The callbacks that process requests; called on the loop.
  struct Desk {
    std::function<void(ExecutorRequest request, OnStored done)> take;
    std::function<void(ManageJob call, OnManaged done)> manage;
    // The app's own token; empty: none.
    std::function<std::string(const std::string& app_name)> token_of;
    // The apps that this run may belong to; none: it is unknown.
    std::function<std::vector<std::string>(std::int64_t log_id)> apps_of_run;
  };

  // Largest body of a request.
  static constexpr std::size_t kBodyMax = 5 * 1024 * 1024;

  // Whether a request to this target is for an xxl-job admin.
  static bool is_target(std::string_view target);

  // The references must outlive it.
  XxlAdmin(XxlAdminConfig config, EventLoop& loop, const Clock& clock, Desk desk);
  // Requires: no call is in progress.
  ~XxlAdmin();
  XxlAdmin(const XxlAdmin&) = delete;
  XxlAdmin& operator=(const XxlAdmin&) = delete;

  bool asks_for_token() const { return !config_.tokens.empty(); }

  // What is answered to a request by its head, so that the body of a refused one is not read.
  // Nothing: the body decides. Thread: the HTTP server's.
  std::optional<net::HttpResponse> check_head(const net::HttpCall& head);
  void call(const net::HttpCall& call, const net::HttpResponder& responder);

  // Whether a session accepts requests.
  void set_open(bool is_open);

 private:
  // The caller, by the headers.
  struct Caller {
    bool has_common_token = false;
    std::string app_name{};  // empty: no app is named
    std::string token{};
  };
  using Request = std::variant<ExecutorRequest, ManageJob>;
  using Results = std::vector<wire::xxl::RunResult>;
  struct Waiting {
    Request request{};
    Caller caller{};
    std::string peer{};
    net::HttpResponder responder;
  };

  std::optional<std::string> refusal_of_head(const net::HttpCall& head,
                                             std::string_view path) const;
  bool has_common_token(const net::HttpCall& call) const;
  bool may_speak_for(const Caller& caller, const std::string& app_name) const;
  bool may_end(const Caller& caller, std::int64_t log_id) const;
  // Why the whole request is rejected, if it is. Removes results that the caller may not report.
  std::optional<std::string> refusal_of(Waiting& waiting);
  // The request for the loop. None if it is successful without the loop.
  Result<std::optional<Request>> read(const net::HttpCall& call, std::string_view path);
  void hand_over();
  void hand_over(const std::shared_ptr<Results>& results, std::size_t from,
                 const net::HttpResponder& responder);

  const XxlAdminConfig config_;
  EventLoop& loop_;
  const Desk desk_;
  net::RefusalLog refusals_;      // on the HTTP server's thread
  net::RefusalLog false_claims_;  // on the loop
  Mailbox<Waiting> waiting_;
  bool is_open_ = false;
};

}  // namespace carillon::jobtracker
