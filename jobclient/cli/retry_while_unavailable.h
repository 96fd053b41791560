#pragma once

#include "jobclient/cli/context.h"

// For verbs that go on whatever becomes of the connection.
namespace carillon::cli {

// Answers a call that keeps trying while no tracker is reachable, which it says once a change.
template <class Call>
auto retry_while_unavailable(Context& context, bool patient, Call call) -> decltype(call()) {
  constexpr Duration kRetryInterval = std::chrono::milliseconds{500};
  const std::string who = "jobclient: " + context.configuration.verb() + ": ";
  bool said = false;
  while (true) {
    auto answer = call();
    const bool passes = !answer.ok() && (answer.error().code == ErrorCode::kUnavailable ||
                                         answer.error().code == ErrorCode::kTimeout);
    if (!patient || !passes) {
      if (said && answer.ok()) context.err() << who << "connected again" << std::endl;
      return answer;
    }
    if (!said) context.err() << who << answer.error().message << "; still trying" << std::endl;
    said = true;
    context.around.pause(kRetryInterval);
  }
}

}  // namespace carillon::cli
