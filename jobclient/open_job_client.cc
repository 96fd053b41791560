#include <utility>

#include "carillon/job_client.h"
#include "jobclient/submit/client_thread.h"
#include "shared/base/environment.h"
#include "shared/base/folders.h"
#include "shared/net/endpoint.h"
#include "shared/net/zmq/zmq_transport.h"

namespace carillon {

Result<std::unique_ptr<JobClient>> JobClient::open(const JobClientOptions& options) {
  if (options.connect_timeout <= Duration{} || options.answer_timeout <= Duration{}) {
    return Error{ErrorCode::kInvalidArgument,
                 "connect_timeout and answer_timeout must be longer than 0"};
  }
  for (const std::string& tracker : options.trackers) CARILLON_TRY(net::check_endpoint(tracker));
  const auto ways = (options.token_file.empty() ? 0 : 1) + (options.keys.empty() ? 0 : 1) +
                    (options.insecure ? 1 : 0);
  if (ways > 1) {
    return Error{ErrorCode::kInvalidArgument,
                 "token file, keys and insecure contradict each other (give one)"};
  }
  const net::Access access{
      .keys = options.keys, .token_file = options.token_file, .insecure = options.insecure};
  const Environment environment = Environment::of_process();
  JobClientOptions with_data = options;
  if (options.data.empty() && options.outbox != OutboxUse::kOff) {
    // Without a home nothing is stored; why, is said when something ought to be.
    const Result<std::string> folder = state_folder(environment, "jobclient");
    if (folder.ok()) with_data.data = folder.value();
  }
  static const SystemClock clock;
  auto thread = CARILLON_TRY(ClientThread::start(
      with_data, [access, environment](EventLoop& loop, const std::string& tracker) {
        return net::connect_zmq(loop, clock, environment, tracker, access);
      }));
  return std::make_unique<JobClient>(std::move(thread));
}

}  // namespace carillon
