#pragma once

#include "jobclient/cli/context.h"

// The verbs that ask for rows: list, waiting, executing, history, audit, nodes, groups,
// alarms.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_list();
Verb declare_waiting();
Verb declare_executing();
Verb declare_history();
Verb declare_audit();
Verb declare_nodes();
Verb declare_groups();
Verb declare_alarms();

int run_list(Context& context);
int run_waiting(Context& context);
int run_executing(Context& context);
int run_history(Context& context);
int run_audit(Context& context);
int run_nodes(Context& context);
int run_groups(Context& context);
int run_alarms(Context& context);

// "1h" as so long before `now`, or RFC 3339. `option` names it in an error.
Result<WallTime> parse_since(const std::string& text, WallTime now,
                             const std::string& option = "since");

}  // namespace carillon::cli
