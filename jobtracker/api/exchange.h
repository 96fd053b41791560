#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

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

  void send(const nlohmann::ordered_json& body, int status = 200) const;
  void fail(const Error& error) const { responder.send(response_of(error)); }
  void fail(const Problem& problem) const { responder.send(response_of(problem)); }
  // Of a header, with its name in lower case; empty: it is missing.
  std::string header(const std::string& name) const;
  // Without the parameters.
  std::string path() const { return call.target.substr(0, call.target.find('?')); }
};

using ExchangePtr = std::shared_ptr<const Exchange>;

// JSON as text. Invalid UTF-8 is replaced.
std::string text_of(const nlohmann::ordered_json& json);

}  // namespace carillon::jobtracker::api
