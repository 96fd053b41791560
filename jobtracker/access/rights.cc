#include "jobtracker/access/rights.h"

#include <algorithm>
#include <array>

#include "shared/base/joined.h"

namespace carillon::jobtracker {
namespace {

constexpr std::array kRights{
    RequestRight{"Submit", Right::kEdit, Scope::kNamed},
    RequestRight{"Act cancel", Right::kEdit, Scope::kJob},
    RequestRight{"Act suspend", Right::kOperate, Scope::kJob},
    RequestRight{"Act resume", Right::kOperate, Scope::kJob},
    RequestRight{"Act trigger", Right::kOperate, Scope::kJob},
    RequestRight{"Act kill", Right::kOperate, Scope::kJob},
    RequestRight{"Act add_executors", Right::kAdminister, Scope::kNamed},
    RequestRight{"Act split_group", Right::kAdminister, Scope::kNamed},
    RequestRight{"Act clean_history", Right::kAdminister, Scope::kNamed},
    RequestRight{"Act set_script", Right::kEdit, Scope::kJob},
    RequestRight{"Act remove_group", Right::kAdminister, Scope::kNamed},
    RequestRight{"Act drain_node", Right::kOperate, Scope::kNamed},
    RequestRight{"Act isolate_node", Right::kOperate, Scope::kNamed},
    RequestRight{"Act release_node", Right::kOperate, Scope::kNamed},
    RequestRight{"Act set_priority", Right::kOperate, Scope::kJob},
    RequestRight{"Act silence", Right::kOperate, Scope::kNamed},
    RequestRight{"Act test_alarm", Right::kAdminister, Scope::kAll},
    RequestRight{"Act tag", Right::kEdit, Scope::kJob},
    RequestRight{"Act untag", Right::kEdit, Scope::kJob},
    RequestRight{"Query list", Right::kRead, Scope::kRows},
    RequestRight{"Query waiting", Right::kRead, Scope::kRows},
    RequestRight{"Query executing", Right::kRead, Scope::kRows},
    RequestRight{"Query history", Right::kRead, Scope::kRows},
    RequestRight{"Query audit", Right::kRead, Scope::kRows},
    RequestRight{"Query show", Right::kRead, Scope::kJob},
    RequestRight{"Query job", Right::kRead, Scope::kJob},
    RequestRight{"Query output", Right::kRead, Scope::kJob},
    RequestRight{"Query nodes", Right::kRead, Scope::kRows},
    RequestRight{"Query groups", Right::kRead, Scope::kRows},
    RequestRight{"Query counts", Right::kRead, Scope::kRows},
    RequestRight{"Query figures", Right::kRead, Scope::kRows},
    RequestRight{"Query calendar", Right::kRead, Scope::kRows},
    RequestRight{"Query fires", Right::kRead, Scope::kRows},
    RequestRight{"Query scripts", Right::kRead, Scope::kNamed},
    RequestRight{"Query script", Right::kRead, Scope::kNamed},
    RequestRight{"Query specs", Right::kRead, Scope::kRows},
    RequestRight{"Query sources", Right::kRead, Scope::kRows},
    RequestRight{"Query parents", Right::kRead, Scope::kNamed},
    RequestRight{"Query events", Right::kRead, Scope::kRows},
    RequestRight{"Query trackers", Right::kRead, Scope::kNone},
    RequestRight{"Query alarms", Right::kRead, Scope::kRows},
    RequestRight{"Query alarm_rules", Right::kRead, Scope::kNone},
    RequestRight{"Query alarm_history", Right::kRead, Scope::kRows},
    RequestRight{"Query stats", Right::kRead, Scope::kNone},
    RequestRight{"Query whoami", Right::kAny, Scope::kNone},
    RequestRight{"Query principals", Right::kAdminister, Scope::kAll},
    RequestRight{"Register", Right::kWork, Scope::kNamed},
    RequestRight{"Pull", Right::kWork, Scope::kNone},
    RequestRight{"Report", Right::kWork, Scope::kNone},
    RequestRight{"GiveBack", Right::kWork, Scope::kNone},
    RequestRight{"Output", Right::kWork, Scope::kNone},
    RequestRight{"Bye", Right::kWork, Scope::kNone},
    RequestRight{"FetchFeedback", Right::kEdit, Scope::kNamed},
    RequestRight{"PutPrincipal", Right::kAdminister, Scope::kAll},
    RequestRight{"RemovePrincipal", Right::kAdminister, Scope::kAll},
};

constexpr std::array<std::string_view, 18> kVerbs{
    "Act cancel",       "Act suspend",       "Act resume",      "Act trigger",
    "Act kill",         "Act add_executors", "Act split_group", "Act clean_history",
    "Act set_script",   "Act remove_group",  "Act drain_node",  "Act isolate_node",
    "Act release_node", "Act set_priority",  "Act silence",     "Act test_alarm",
    "Act tag",          "Act untag"};

const RequestRight* entry(std::string_view request) {
  const auto* const found =
      std::find_if(kRights.begin(), kRights.end(),
                   [&](const RequestRight& one) { return one.request == request; });
  return found == kRights.end() ? nullptr : found;
}

struct RequestName {
  std::string operator()(const wire::Submit&) const { return "Submit"; }
  std::string operator()(const wire::Act& act) const {
    return std::string{kVerbs.at(static_cast<std::size_t>(act.verb))};
  }
  std::string operator()(const wire::Query& query) const { return "Query " + query.what; }
  std::string operator()(const wire::Register&) const { return "Register"; }
  std::string operator()(const wire::Pull&) const { return "Pull"; }
  std::string operator()(const wire::Report&) const { return "Report"; }
  std::string operator()(const wire::GiveBack&) const { return "GiveBack"; }
  std::string operator()(const wire::Output&) const { return "Output"; }
  std::string operator()(const wire::Bye&) const { return "Bye"; }
  std::string operator()(const wire::FetchFeedback&) const { return "FetchFeedback"; }
  std::string operator()(const wire::PutPrincipal&) const { return "PutPrincipal"; }
  std::string operator()(const wire::RemovePrincipal&) const { return "RemovePrincipal"; }
  template <class Other>
  std::string operator()(const Other&) const {
    return {};
  }
};

// The node groups that a message names; empty texts: it may name one, and does not.
std::vector<std::string_view> groups_of(const wire::Message& message) {
  std::vector<std::string_view> groups;
  if (const auto* submit = std::get_if<wire::Submit>(&message)) {
    for (const JobSpec& job : submit->jobs) {
      groups.emplace_back(job.group);
      for (const Child& child : job.children) groups.emplace_back(child.group);
      if (job.need_feedback) groups.emplace_back(job.client_group);
    }
  } else if (const auto* act = std::get_if<wire::Act>(&message)) {
    groups.emplace_back(act->group);
  } else if (const auto* query = std::get_if<wire::Query>(&message)) {
    groups.emplace_back(query->group);
  } else if (const auto* worker = std::get_if<wire::Register>(&message)) {
    groups.emplace_back(worker->group);
  } else if (const auto* fetch = std::get_if<wire::FetchFeedback>(&message)) {
    groups.emplace_back(fetch->client_group);
  }
  return groups;
}

// A request for a job by its id alone names no node group.
bool names_job_by_id(const wire::Message& message) {
  if (const auto* act = std::get_if<wire::Act>(&message))
    return act->task_id.empty() && act->job_id;
  const auto* query = std::get_if<wire::Query>(&message);
  return query != nullptr && query->task_id.empty();
}

std::string whose(const Principal& principal) {
  return principal.kind + " '" + principal.name + "' (role " + to_string(principal.role) +
         ", groups " + joined(principal.groups, " ") + ")";
}

}  // namespace

const char* to_string(Scope scope) {
  switch (scope) {
    case Scope::kNone:
      return "none";
    case Scope::kNamed:
      return "named";
    case Scope::kRows:
      return "rows";
    case Scope::kJob:
      return "job";
    case Scope::kAll:
      return "all";
  }
  return "";
}

std::span<const RequestRight> request_rights() { return kRights; }

const RequestRight* right_for(const wire::Message& message) {
  return entry(std::visit(RequestName{}, message));
}

Status check_access(const Principal& principal, const wire::Message& message) {
  if (principal.role == Role::kAdmin && principal.covers_all()) return {};
  const RequestRight* const needed = right_for(message);
  // An unknown query is answered as such to readers.
  const Right right = needed != nullptr                              ? needed->right
                      : std::holds_alternative<wire::Query>(message) ? Right::kRead
                                                                     : Right::kAdminister;
  const std::string name = std::visit(RequestName{}, message);
  if (!principal.may(right)) {
    return Error{ErrorCode::kDenied, whose(principal) + " may not send '" + name +
                                         "': it needs the role " + least_role(right) +
                                         (right == Right::kAdminister ? "" : " or a higher one")};
  }
  if (needed == nullptr || needed->scope == Scope::kNone || principal.covers_all()) return {};
  if (needed->scope == Scope::kAll)
    return Error{ErrorCode::kDenied,
                 whose(principal) + " may not send '" + name + "': it needs all node groups (*)"};
  const bool may_be_left_out =
      needed->scope == Scope::kRows || (needed->scope == Scope::kJob && names_job_by_id(message));
  for (const std::string_view group : groups_of(message)) {
    if (group.empty() ? may_be_left_out : principal.covers(group)) continue;
    return Error{ErrorCode::kDenied,
                 group.empty()
                     ? whose(principal) + " must name one of its node groups"
                     : "node group '" + std::string{group} + "' is not one of " + whose(principal)};
  }
  return {};
}

}  // namespace carillon::jobtracker
