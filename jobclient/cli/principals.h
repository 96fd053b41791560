#pragma once

#include "jobclient/cli/context.h"

// The verbs about access: who may do what.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_whoami();
Verb declare_tokens_new();
Verb declare_tokens_list();
Verb declare_tokens_revoke();
Verb declare_users_new();
Verb declare_users_list();
Verb declare_users_change();
Verb declare_users_remove();
Verb declare_keys_list();
Verb declare_keys_revoke();

int run_whoami(Context& context);
int run_tokens_new(Context& context);
int run_tokens_list(Context& context);
int run_tokens_revoke(Context& context);
int run_users_new(Context& context);
int run_users_list(Context& context);
int run_users_change(Context& context);
int run_users_remove(Context& context);
int run_keys_list(Context& context);
int run_keys_revoke(Context& context);

// --role, --group and --expires, for a new principal.
std::vector<Option> right_options();
// What they say. Error: the role or the node groups are missing.
Result<PrincipalChange> read_rights(Context& context, const std::string& kind,
                                    const std::string& name);

}  // namespace carillon::cli
