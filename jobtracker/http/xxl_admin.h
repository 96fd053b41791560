#pragma once

#include <atomic>
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
#include "shared/net/http/http_server.h"
#include "shared/net/http/refusal_log.h"
#include "shared/runtime/event_loop.h"
#include "shared/runtime/mailbox.h"
#include "shared/wire/xxl/messages.h"

namespace carillon::jobtracker {

struct XxlAdminConfig {
  std::vector<std::string>
      tokens{};          // a request has to carry one of them; empty: none is asked for
  std::string closed{};  // why nobody is let in; empty: they are
};

// What xxl-job's executors call: /api/registry, /api/registryRemove and /api/callback, also under
// /xxl-job-admin, in all dialects; and addJob, updateJob, removeJob, startJob, stopJob and
// triggerJob of dialect D. The answer is JSON with a code, under HTTP status 200 whatever
// it says, because that is how they read it. A request is answered when what it says is stored;
// while there is nobody to store it, it waits.
//
// Who names an app (as in dialect D) may come with the token of that app instead of a common one,
// and speaks for no other app then. An app that has a token is spoken for with that, or with a
// common one. A result of a run that somebody may not speak for is as one of nobody's run.
//
// Whatever is wrong with a request is answered and logged. What waits is bounded.
//
// Thread: call() the HTTP server's, all else the loop's.
class XxlAdmin {
 public:
  // Who does what is asked for; called on the loop.
  struct Desk {
    std::function<void(ExecutorRequest request, OnStored done)> take;
    std::function<void(ManageJob call, OnManaged done)> manage;
    // The token of an app's own; empty: it has none.
    std::function<std::string(const std::string& app_name)> token_of;
    // Whose run this may be; none: nobody's.
    std::function<std::vector<std::string>(std::int64_t log_id)> apps_of_run;
  };

  // Of a request.
  static constexpr std::size_t kBodyMax = 5 * 1024 * 1024;

  // Whether a request to this target is for an xxl-job admin.
  static bool is_target(std::string_view target);

  // The references must outlive it.
  XxlAdmin(XxlAdminConfig config, EventLoop& loop, const Clock& clock, Desk desk);
  // Requires: nobody calls any more.
  ~XxlAdmin();
  XxlAdmin(const XxlAdmin&) = delete;
  XxlAdmin& operator=(const XxlAdmin&) = delete;

  bool asks_for_token() const { return !config_.tokens.empty(); }

  void call(const net::HttpCall& call, const net::HttpResponder& responder);

  // Whether there is somebody to store what comes.
  void set_open(bool is_open);

 private:
  // Room that the requests which wait take.
  struct Room;
  // Who asks, by the headers.
  struct Caller {
    bool has_common_token = false;
    std::string app_name{};  // empty: none is named
    std::string token{};
  };
  using Request = std::variant<ExecutorRequest, ManageJob>;
  struct Waiting {
    Request request{};
    Caller caller{};
    std::string peer{};
    std::shared_ptr<Room> room{};
    net::HttpResponder responder;
  };

  std::optional<std::string> refusal_of(const net::HttpCall& call, std::string_view path) const;
  bool has_common_token(const net::HttpCall& call) const;
  bool may_speak_for(const Caller& caller, const std::string& app_name) const;
  bool may_end(const Caller& caller, std::int64_t log_id) const;
  // Why nothing of it is taken. What the caller may not say is taken out of it.
  std::optional<std::string> refusal_of(Waiting& waiting);
  // What to hand to the loop; nothing where the answer is a success without it.
  Result<std::optional<Request>> read(const net::HttpCall& call, std::string_view path);
  void hand_over();

  const XxlAdminConfig config_;
  EventLoop& loop_;
  const Desk desk_;
  net::RefusalLog refusals_;      // of the HTTP server's thread
  net::RefusalLog false_claims_;  // of the loop
  std::shared_ptr<std::atomic<std::size_t>> bytes_ = std::make_shared<std::atomic<std::size_t>>(0);
  Mailbox<Waiting> waiting_;
  bool is_open_ = false;
};

}  // namespace carillon::jobtracker
