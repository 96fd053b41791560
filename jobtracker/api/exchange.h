#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "carillon/time.h"
#include "jobtracker/api/call_limits.h"
#include "jobtracker/api/parameters.h"
#include "jobtracker/api/problem.h"
#include "shared/base/principal.h"
#include "shared/net/http/http_server.h"

namespace carillon::jobtracker::api {

// One call of the API, from a known principal, and the way to its answer.
//
// Thread: any.
struct Exchange {
  net::HttpCall call{};
  net::HttpResponder responder;
  Principal principal{};
  std::vector<std::string> parts{};  // of the path: the values for {} in the route's, decoded
  Parameters parameters{};
  std::shared_ptr<CallPlace> place{};

  void send(const nlohmann::ordered_json& body, int status = 200) const;
  void fail(const Error& error) const { responder.send(response_of(error)); }
  void fail(const Problem& problem) const { responder.send(response_of(problem)); }
  // Of a header, with its name in lower case; empty: it is missing.
  std::string header(const std::string& name) const;
  // Without the parameters.
  std::string path() const { return call.target.substr(0, call.target.find('?')); }
};

// Whether the sender of a call still is the same principal, with the same rights: its token or
// session has not ended meanwhile. Work that outlives the call asks before each step, and streams
// at least every kSenderPeriod. `head`: of the call, without its body. Thread: the gateway's.
using IsStillSender = std::function<bool(const Principal& principal, const net::HttpCall& head)>;
inline constexpr Duration kSenderPeriod = std::chrono::seconds{1};

// For work that outlives the call: all but its body.
net::HttpCall head_of(const net::HttpCall& call);

using ExchangePtr = std::shared_ptr<const Exchange>;

// JSON as text. Invalid UTF-8 is replaced.
std::string text_of(const nlohmann::ordered_json& json);

}  // namespace carillon::jobtracker::api
