#pragma once

#include <span>
#include <string>
#include <string_view>

#include "shared/base/principal.h"
#include "shared/wire/messages.h"

// The one place that says which right each request of the protocol needs.
//
// Thread: any.
namespace carillon::jobtracker {

// What a principal's node groups are checked against.
enum class Scope : int {
  kNone = 0,  // the request is about no node group
  kNamed,     // the node groups that it names
  kRows,      // the node group that it names; without one, rows of other node groups are left out
  kJob,       // the node group of the job, where the job is found; another one's job is unknown
  kAll        // the principal must cover all node groups
};
// "none", "named", "rows", "job", "all".
const char* to_string(Scope scope);

struct RequestRight {
  // The message, and after a blank the verb of an Act or the `what` of a Query: "Act trigger".
  std::string_view request;
  Right right;
  Scope scope;
};

// Each request of the protocol. docs/reference/access.md has the same table.
std::span<const RequestRight> request_rights();

// The entry for a message; nullptr: it is no request.
const RequestRight* right_for(const wire::Message& message);

// Whether a principal may send a request. The error, kDenied, names the missing right or the node
// group. It does not depend on what exists. A request with Scope::kJob is checked later.
Status check_access(const Principal& principal, const wire::Message& message);

}  // namespace carillon::jobtracker
