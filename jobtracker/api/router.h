#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"
#include "jobtracker/api/exchange.h"
#include "shared/base/principal.h"

namespace carillon::jobtracker::api {

struct Api;
using Handler = void (*)(Api& api, const ExchangePtr& exchange);

// An operation of the API.
struct Route {
  std::string_view method;
  // Below kRoot. {} stands for one part; an action follows after a colon: "/jobs/{}/{}:trigger".
  std::string_view path;
  Handler handler;
  // Of the role: checked before the call. The job tracker checks each request again, with its
  // groups.
  Right right;
};

inline constexpr std::string_view kRoot = "/api/v1";

// The path is at or below kRoot.
bool is_api_target(std::string_view target);

// Finds the operation for a call.
//
// Thread: any.
class Router {
 public:
  explicit Router(std::vector<Route> routes) : routes_(std::move(routes)) {}

  struct Match {
    const Route* route = nullptr;        // nullptr: no such path, or not this method
    std::vector<std::string> parts{};    // decoded
    std::vector<std::string> methods{};  // without a route: those that the path has
  };
  // `path`: as sent, without parameters. A colon that belongs to a name may be sent as %3A or as it
  // is. Error: kInvalidArgument for a path that cannot be decoded.
  Result<Match> match(std::string_view method, std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  const std::vector<Route> routes_;
};

}  // namespace carillon::jobtracker::api
