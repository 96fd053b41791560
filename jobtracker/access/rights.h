#pragma once

#include <span>
#include <string>
#include <string_view>

#include "jobtracker/state/client_link.h"
#include "shared/base/principal.h"
#include "shared/wire/messages.h"

// The one place that says which right each request needs.
//
// Thread: any.
namespace carillon::jobtracker {

// What a request's node groups are checked against.
enum class Scope : int {
  kGroups,   // each node group that it names; without one, rows of others are left out
  kAll,      // the principal must cover all node groups
  kNone      // it is about no node group
};

struct RequestRight {
  // The message, and after a blank the verb of an Act or the `what` of a Query: "Act trigger".
  std::string_view request;
  Right right;
  Scope scope;
};

// Each request of the protocol. docs/reference/access.md has the same table.
std::span<const RequestRight> request_rights();

// The entry for a message; nullptr: it is not a request, or unknown.
const RequestRight* right_for(const wire::Message& message);

// Each path of the job tracker's HTTP servers, by its beginning, and the right that it needs. The
// paths of xxl-job's protocol need an access token of their own.
struct PathRight {
  std::string_view method;  // empty: any
  std::string_view path;    // "{}" stands for one part
  Right right;
  Scope scope;
  bool is_public = false;  // needs no principal
};

// Whether a principal may send a request; the error names the right or the node group that is
// missing. Requests that name a job by its id only are checked where the job is found.
Status check_access(const Principal& principal, const wire::Message& message);

// "no such group for you": the same answer, whether or not the node group exists.
Error out_of_scope(const Principal& principal, std::string_view group);

}  // namespace carillon::jobtracker
