#include "jobtracker/api/refusals.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "jobtracker/access/rights.h"

namespace carillon::jobtracker::api {
namespace {

struct NamedVerb {
  std::string_view action;
  wire::Verb verb;
};
// A bulk action does not name its action in its path; a trigger needs the least right of them.
constexpr std::array kVerbsOfPaths{NamedVerb{"cancel", wire::Verb::kCancel},
                                   NamedVerb{"suspend", wire::Verb::kSuspend},
                                   NamedVerb{"resume", wire::Verb::kResume},
                                   NamedVerb{"trigger", wire::Verb::kTrigger},
                                   NamedVerb{"retry", wire::Verb::kTrigger},
                                   NamedVerb{"kill", wire::Verb::kKill},
                                   NamedVerb{"split", wire::Verb::kSplitGroup},
                                   NamedVerb{"drain", wire::Verb::kDrainNode},
                                   NamedVerb{"isolate", wire::Verb::kIsolateNode},
                                   NamedVerb{"release", wire::Verb::kReleaseNode},
                                   NamedVerb{"restore", wire::Verb::kSetScript},
                                   NamedVerb{"clean", wire::Verb::kCleanHistory},
                                   NamedVerb{"priority", wire::Verb::kSetPriority},
                                   NamedVerb{"test", wire::Verb::kTestAlarm},
                                   NamedVerb{"tag", wire::Verb::kTag},
                                   NamedVerb{"untag", wire::Verb::kUntag}};

// The last part of the route's path that is no name, without an action: "script", "users".
std::string_view noun_of(std::string_view path) {
  path = path.substr(0, path.rfind(':'));
  while (path.ends_with("/{}")) path.remove_suffix(3);
  return path.substr(path.rfind('/') + 1);
}

std::optional<wire::Message> change_of_principal(std::string_view method, std::string_view noun) {
  const std::string kind = noun == "users"    ? kUserKind
                           : noun == "tokens" ? kTokenKind
                           : noun == "keys"   ? kKeyKind
                                              : "";
  if (kind.empty()) return std::nullopt;
  if (method == "DELETE") return wire::RemovePrincipal{.kind = kind};
  return wire::PutPrincipal{.kind = kind};
}

// The message for an action of a path: "trigger", "tag". None: it is no change.
std::optional<wire::Message> change_of_action(std::string_view action) {
  if (action == "import") return wire::Submit{.jobs = {JobSpec{}}};
  const auto* const found =
      std::find_if(kVerbsOfPaths.begin(), kVerbsOfPaths.end(),
                   [&](const NamedVerb& one) { return one.action == action; });
  if (found == kVerbsOfPaths.end()) return std::nullopt;
  return wire::Act{.verb = found->verb};
}

std::optional<wire::Message> change_of_path(const Route& route) {
  const auto colon = route.path.rfind(':');
  if (colon != std::string_view::npos) return change_of_action(route.path.substr(colon + 1));
  const std::string_view noun = noun_of(route.path);
  if (noun == "jobs" && route.method == "DELETE") return wire::Act{.verb = wire::Verb::kCancel};
  if (noun == "jobs") return wire::Submit{.jobs = {JobSpec{}}};
  if (noun == "script") return wire::Act{.verb = wire::Verb::kSetScript};
  if (noun == "silences") return wire::Act{.verb = wire::Verb::kSilence};
  if (noun == "executors") return wire::Act{.verb = wire::Verb::kAddExecutors};
  if (noun == "groups") return wire::Act{.verb = wire::Verb::kRemoveGroup};
  return change_of_principal(route.method, noun);
}

// What the path names.
void add_names(wire::Message& change, std::string_view path,
               const std::vector<std::string>& parts) {
  const std::string group = parts.empty() ? "" : parts[0];
  const std::string task_id = parts.size() < 2 ? "" : parts[1];
  if (auto* submit = std::get_if<wire::Submit>(&change)) {
    submit->jobs.front().group = group;
    submit->jobs.front().task_id = task_id;
  }
  auto* act = std::get_if<wire::Act>(&change);
  if (act == nullptr) return;
  if (path.starts_with("/nodes")) {
    act->node = group;
  } else if (path.starts_with("/runs")) {
    std::from_chars(group.data(), group.data() + group.size(), act->job_id.value);
  } else {
    act->group = group;
    act->task_id = task_id;
  }
}

}  // namespace

std::optional<wire::Message> change_of_route(const Router::Match& match) {
  if (match.route == nullptr || match.route->method == "GET") return std::nullopt;
  auto change = change_of_path(*match.route);
  if (change) add_names(*change, match.route->path, match.parts);
  return change;
}

void record_refusal(Gateway& gateway, const Principal& principal, const std::string& address,
                    std::optional<wire::Message> change) {
  if (!change || check_access(principal, *change).ok()) return;
  // Where too much waits, it is not recorded, as beyond the auditor's rate.
  (void)gateway.run(
      [&gateway, whose = on_behalf_of(principal, address), message = std::move(*change)]() mutable {
        gateway.ask(std::move(whose), std::move(message), [](const Result<wire::Message>&) {});
      });
}

bool is_denied(Api& api, const ExchangePtr& exchange) {
  const Principal& principal = exchange->principal;
  if (principal.may(Right::kAdminister) && principal.covers_all()) return false;
  const auto match = api.router.match(exchange->call.method, exchange->path());
  if (match.ok())
    record_refusal(api.gateway, principal, exchange->call.peer, change_of_route(match.value()));
  exchange->fail(Error{ErrorCode::kDenied, principal.kind + " '" + principal.name +
                                               "' may not do this: it needs the role admin for all "
                                               "node groups"});
  return true;
}

}  // namespace carillon::jobtracker::api
