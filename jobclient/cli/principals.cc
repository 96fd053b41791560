#include "jobclient/cli/principals.h"

#include <algorithm>
#include <sstream>

#include "jobclient/cli/act.h"
#include "jobclient/cli/password.h"
#include "shared/base/crypto.h"
#include "shared/base/principal.h"

namespace carillon::cli {
namespace {

constexpr const char* kSection = "Access";

Positional name_of(const char* help) { return {.name = "NAME", .help = help}; }

Status check_role(const std::string& text) {
  CARILLON_TRY(parse_role(text));
  return {};
}

Status check_pattern(const std::string& text) { return check_group_patterns({text}); }

Option password_option() {
  return {.name = "password-file",
          .placeholder = "FILE",
          .help = "File with the password; - is stdin.",
          .fallback_help = "asks on the terminal"};
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

int list(Context& context, const std::vector<std::string>& kinds, std::vector<RowColumn> columns,
         const char* when_empty) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const Result<RowPage> page = client.value()->principals();
  if (!page.ok()) return context.fail(page.error());
  context.say_zone();
  RowOutput output(context.out(), context.style, std::move(columns));
  for (const Row& row : page.value().rows) {
    if (std::find(kinds.begin(), kinds.end(), field_text(row, "kind")) != kinds.end())
      output.add(row);
  }
  output.finish();
  context.out().flush();
  if (output.count() == 0 && !context.is_json()) context.err() << when_empty << '\n';
  return kDone;
}

int remove(Context& context, const char* kind) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  return print_act_answer(
      context, {"", ""},
      client.value()->remove_principal(kind, context.configuration.text("NAME")));
}

int put_user(Context& context, PrincipalChange change, bool needs_password) {
  if (needs_password || context.configuration.was_given("password-file")) {
    const Result<std::string> password =
        read_password(context, context.configuration.text("password-file"));
    if (!password.ok()) return context.fail(kWrongInput, password.error().message);
    change.secret = hash_password(password.value());
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  return print_act_answer(context, {"", ""}, client.value()->put_principal(change));
}

}  // namespace

std::vector<Option> right_options() {
  return {{.name = "role",
           .placeholder = "ROLE",
           .help = "viewer reads; operator also triggers, kills, suspends, resumes; editor also "
                   "submits, replaces, cancels; worker runs jobs; admin does everything.",
           .check = check_role},
          {.name = "group",
           .kind = OptionKind::kList,
           .placeholder = "GROUP",
           .help = "Node group, or pattern like billing-*, for which the role holds; * is all.",
           .fallback_help = "required, except for admin",
           .check = check_pattern},
          {.name = "expires",
           .kind = OptionKind::kDuration,
           .placeholder = "TIME",
           .help = "How long it is valid, like 90d.",
           .fallback_help = "without end"}};
}

Result<PrincipalChange> read_rights(Context& context, const std::string& kind,
                                    const std::string& name) {
  const Configuration& configuration = context.configuration;
  CARILLON_TRY(check_principal_name(name));
  PrincipalChange change{.kind = kind,
                         .name = name,
                         .role = configuration.text("role"),
                         .groups = configuration.list("group")};
  if (change.role.empty())
    return Error{ErrorCode::kInvalidArgument,
                 "--role is missing (viewer, operator, editor, worker or admin)"};
  if (change.groups.empty() && change.role == to_string(Role::kAdmin)) change.groups = {"*"};
  if (change.groups.empty())
    return Error{ErrorCode::kInvalidArgument,
                 "--group is missing (a node group, a pattern like billing-*, or '*' for all)"};
  if (configuration.has("expires"))
    change.expires = context.around.clock.wall_now() + configuration.duration("expires");
  return change;
}

Verb declare_whoami() {
  return {.name = "whoami",
          .summary = "Show the principal of this connection and its rights",
          .description = "The job tracker knows each connection by a key, a token or a user.",
          .examples = "  jobclient whoami\n",
          .section = kSection};
}

int run_whoami(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const Result<RowPage> page = client.value()->whoami();
  if (!page.ok()) return context.fail(page.error());
  for (const Row& row : page.value().rows) print_one_row(context.out(), context.style, row);
  return kDone;
}

// ---- API tokens ----

Verb declare_tokens_new() {
  return {.name = "tokens new",
          .summary = "Create a token for the HTTP API",
          .description =
              "Prints the token once. The job tracker stores only its hash. Send it in the header "
              "'Authorization: Bearer TOKEN'.",
          .options = right_options(),
          .positionals = {name_of("Name of the token, which the audit shows.")},
          .examples =
              "  jobclient tokens new ci --role editor --group 'billing-*' --expires 90d > token\n",
          .section = kSection};
}

int run_tokens_new(Context& context) {
  auto change = read_rights(context, kTokenKind, context.configuration.text("NAME"));
  if (!change.ok()) return context.fail(kWrongInput, change.error().message);
  const std::string token = make_access_token();
  change.value().secret = sha256_hex(token);
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const auto stored = client.value()->put_principal(change.value());
  if (!stored.ok()) return context.fail(stored.error());
  if (context.is_json()) {
    print_one_row(context.out(), context.style, {{"name", change.value().name}, {"token", token}});
  } else {
    context.out() << token << '\n';
    context.err() << "token '" << change.value().name << "' stored; it is not shown again\n";
  }
  return kDone;
}

Verb declare_tokens_list() {
  return {.name = "tokens list",
          .summary = "List API tokens and the access tokens of xxl-job executors",
          .description = "Shows the rights of each token, not the token.",
          .examples = "  jobclient tokens list\n",
          .section = kSection};
}

int run_tokens_list(Context& context) {
  return list(context, {kTokenKind, kAppKind},
              {{"name", ColumnKind::kKey},
               {"kind"},
               {"role"},
               {"groups"},
               {"created_at", ColumnKind::kTime},
               {"created_by"},
               {"expires_at", ColumnKind::kTime}},
              "there are no tokens");
}

Verb declare_tokens_revoke() {
  return {.name = "tokens revoke",
          .summary = "Revoke an API token",
          .description = "Requests with the token are refused within 5 seconds.",
          .positionals = {name_of("Name of the token.")},
          .examples = "  jobclient tokens revoke ci\n",
          .section = kSection};
}

int run_tokens_revoke(Context& context) { return remove(context, kTokenKind); }

// ---- users of the console ----

Verb declare_users_new() {
  std::vector<Option> options = right_options();
  options.push_back(password_option());
  options.push_back({.name = "no-password",
                     .kind = OptionKind::kSwitch,
                     .help = "The user signs in at the OpenID provider or the proxy only."});
  return {.name = "users new",
          .summary = "Create a user of the console",
          .description = "Asks for the password. The job tracker stores only its Argon2id hash.",
          .options = std::move(options),
          .positionals = {name_of("Name of the user.")},
          .examples = "  jobclient users new anna --role operator --group 'billing-*'\n",
          .section = kSection};
}

int run_users_new(Context& context) {
  auto change = read_rights(context, kUserKind, context.configuration.text("NAME"));
  if (!change.ok()) return context.fail(kWrongInput, change.error().message);
  const bool has_password = !context.configuration.is_on("no-password");
  if (!has_password && context.configuration.was_given("password-file"))
    return context.fail(kWrongInput, "--no-password and --password-file exclude each other");
  if (!has_password) change.value().secret = kNoPassword;
  return put_user(context, std::move(change).value(), has_password);
}

Verb declare_users_list() {
  return {.name = "users list",
          .summary = "List the users of the console",
          .description = "Shows each user's role and node groups.",
          .examples = "  jobclient users list\n",
          .section = kSection};
}

int run_users_list(Context& context) {
  return list(context, {kUserKind},
              {{"name", ColumnKind::kKey},
               {"role"},
               {"groups"},
               {"created_at", ColumnKind::kTime},
               {"created_by"},
               {"expires_at", ColumnKind::kTime},
               {"language", ColumnKind::kText, true}},
              "there are no users (jobclient users new makes one)");
}

Verb declare_users_change() {
  std::vector<Option> options = right_options();
  options.push_back(password_option());
  return {.name = "users change",
          .summary = "Change a user's role, node groups or password",
          .description =
              "Flags that are left out change nothing. A new password or fewer rights "
              "count within 5 seconds.",
          .options = std::move(options),
          .positionals = {name_of("Name of the user.")},
          .examples =
              "  jobclient users change anna --role editor\n"
              "  jobclient users change anna --password-file -\n",
          .section = kSection};
}

int run_users_change(Context& context) {
  const Configuration& configuration = context.configuration;
  const std::string& name = configuration.text("NAME");
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const Result<RowPage> page = client.value()->principals();
  if (!page.ok()) return context.fail(page.error());
  for (const Row& row : page.value().rows) {
    if (field_text(row, "kind") != kUserKind || field_text(row, "name") != name) continue;
    PrincipalChange change{.kind = kUserKind,
                           .name = name,
                           .role = configuration.text("role"),
                           .groups = configuration.list("group"),
                           .replaces = true};
    if (change.role.empty()) change.role = field_text(row, "role");
    if (change.groups.empty()) change.groups = words_of(field_text(row, "groups"));
    if (configuration.has("expires"))
      change.expires = context.around.clock.wall_now() + configuration.duration("expires");
    return put_user(context, std::move(change), false);
  }
  return context.fail(kNotFound, "there is no user '" + name + "'");
}

Verb declare_users_remove() {
  return {.name = "users remove",
          .summary = "Remove a user of the console",
          .description = "Sessions of the user end within 5 seconds.",
          .positionals = {name_of("Name of the user.")},
          .examples = "  jobclient users remove anna\n",
          .section = kSection};
}

int run_users_remove(Context& context) { return remove(context, kUserKind); }

// ---- CURVE keys ----

Verb declare_keys_list() {
  return {.name = "keys list",
          .summary = "List the keys that the store keeps",
          .description = "Keys in the job tracker's folder DIR/clients are not listed.",
          .examples = "  jobclient keys list\n",
          .section = kSection};
}

int run_keys_list(Context& context) {
  return list(context, {kKeyKind},
              {{"name", ColumnKind::kKey},
               {"role"},
               {"groups"},
               {"created_at", ColumnKind::kTime},
               {"created_by"},
               {"expires_at", ColumnKind::kTime},
               {"public_key", ColumnKind::kText, true}},
              "there are no keys in the store (jobclient keys new NAME --role ROLE makes one)");
}

Verb declare_keys_revoke() {
  return {.name = "keys revoke",
          .summary = "Revoke a key",
          .description = "Connections with the key end within 5 seconds.",
          .positionals = {name_of("Name of the key.")},
          .examples = "  jobclient keys revoke worker-7\n",
          .section = kSection};
}

int run_keys_revoke(Context& context) { return remove(context, kKeyKind); }

}  // namespace carillon::cli
