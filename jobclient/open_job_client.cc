#include <utility>

#include "carillon/job_client.h"
#include "jobclient/submit/client_thread.h"
#include "shared/base/environment.h"
#include "shared/base/folders.h"
#include "shared/base/secret_file.h"
#include "shared/net/endpoint.h"
#include "shared/net/http/frame_transport.h"
#include "shared/net/http_url.h"
#include "shared/net/networks.h"
#include "shared/net/zmq/zmq_transport.h"

namespace carillon {
namespace {

Status check_ways(const JobClientOptions& options) {
  const auto ways = (options.token_file.empty() ? 0 : 1) + (options.keys.empty() ? 0 : 1) +
                    (options.insecure ? 1 : 0);
  if (ways > 1) {
    return Error{ErrorCode::kInvalidArgument,
                 "token file, keys and insecure contradict each other (give one)"};
  }
  return {};
}

// The URL in one form, by which jobs are stored. Error: the options do not fit it.
Result<std::string> http_address(const JobClientOptions& options) {
  const auto wrong = [&](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument, options.http + " " + why};
  };
  const net::HttpUrl url = CARILLON_TRY(net::parse_http_url(options.http));
  if (!options.keys.empty()) return wrong("is used with a token, not with keys (leave them out)");
  if (options.token_file.empty()) {
    return wrong(
        "needs an API token (make one with `jobclient tokens new`, and give its file with "
        "--token-file)");
  }
  const bool is_private =
      url.scheme == "https" || url.host == "localhost" || net::is_loopback_address(url.host);
  if (!is_private && !options.insecure) {
    return wrong("is not encrypted, others can read the token (use https://, or --insecure)");
  }
  // Its faults are told now, and not as those of a connection.
  CARILLON_TRY(read_secret_file(options.token_file));
  return url.server() + url.path;
}

ClientThread::MakeTransport transport_maker(const JobClientOptions& options,
                                            const Environment& environment) {
  static const SystemClock clock;
  if (!options.http.empty()) {
    return [token_file = options.token_file, ca_file = options.ca_file](EventLoop& loop,
                                                                        const std::string& url) {
      return net::HttpFrameTransport::open(
          {.url = url, .token_file = token_file, .ca_file = ca_file}, loop, clock);
    };
  }
  const net::Access access{
      .keys = options.keys, .token_file = options.token_file, .insecure = options.insecure};
  return [access, environment](EventLoop& loop, const std::string& tracker) {
    return net::connect_zmq(loop, clock, environment, tracker, access);
  };
}

}  // namespace

Result<std::unique_ptr<JobClient>> JobClient::open(const JobClientOptions& options) {
  if (options.connect_timeout <= Duration{} || options.answer_timeout <= Duration{}) {
    return Error{ErrorCode::kInvalidArgument,
                 "connect_timeout and answer_timeout must be longer than 0"};
  }
  JobClientOptions effective = options;
  if (options.http.empty()) {
    for (const std::string& tracker : options.trackers) CARILLON_TRY(net::check_endpoint(tracker));
    CARILLON_TRY(check_ways(options));
  } else {
    std::string address = CARILLON_TRY(http_address(options));
    effective.trackers.assign(1, std::move(address));
  }
  const Environment environment = Environment::of_process();
  if (options.data.empty() && options.outbox != OutboxUse::kOff) {
    // Without a home nothing is stored; why, is said when something ought to be.
    const Result<std::string> folder = state_folder(environment, "jobclient");
    if (folder.ok()) effective.data = folder.value();
  }
  auto thread = CARILLON_TRY(ClientThread::start(effective, transport_maker(options, environment)));
  return std::make_unique<JobClient>(std::move(thread));
}

}  // namespace carillon
