#include "jobtracker/sign_in_options.h"

#include <algorithm>
#include <utility>

#include "shared/base/secret_file.h"
#include "shared/net/http_url.h"

namespace carillon::jobtracker {
namespace {

Status check_console_url(const std::string& text) {
  CARILLON_TRY(net::parse_http_url(text));
  return {};
}

Status check_header_name(const std::string& text) {
  const bool is_name = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
  if (is_name) return {};
  return Error{ErrorCode::kInvalidArgument, "'" + text + "' is not the name of a header"};
}

Status check_role_rule(const std::string& text) {
  CARILLON_TRY(parse_role_rule(text));
  return {};
}

Result<std::vector<RoleRule>> read_role_rules(const Configuration& configuration,
                                              const std::string& option) {
  std::vector<RoleRule> rules;
  for (const std::string& text : configuration.list(option))
    rules.push_back(CARILLON_TRY(parse_role_rule(text)));
  return rules;
}

// The content of the file that the option names; empty: it names none.
Result<std::string> read_secret(const Configuration& configuration, const std::string& option) {
  const std::string& file = configuration.text(option);
  if (file.empty()) return std::string{};
  auto secret = read_secret_file(file);
  if (!secret.ok()) return secret.error().with_context("--" + option);
  return secret;
}

std::string in_lower_case(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

std::vector<Option> sign_in_options() {
  constexpr const char* kSection = "Console";
  return {
      {.name = "console-read-only",
       .kind = OptionKind::kSwitch,
       .help = "The web console shows everything and changes nothing.",
       .section = kSection},
      {.name = "console-url",
       .placeholder = "URL",
       .help = "Address of the web console as browsers know it.",
       .fallback_help = "the host of the request",
       .check = check_console_url,
       .section = kSection},
      {.name = "oidc-issuer",
       .placeholder = "URL",
       .help = "OpenID provider where users of the web console may sign in.",
       .section = kSection},
      {.name = "oidc-client-id",
       .placeholder = "ID",
       .help = "Client ID of the web console at the OpenID provider.",
       .section = kSection},
      {.name = "oidc-client-secret-file",
       .placeholder = "FILE",
       .help = "File with the client secret. Without one, the console is a public client.",
       .section = kSection},
      {.name = "oidc-name-claim",
       .placeholder = "CLAIM",
       .help = "Claim that names the users of the OpenID provider, also those that were added "
               "without a password. People must not be able to change their own.",
       .fallback_help = "sub; preferred_username is shown",
       .section = kSection},
      {.name = "oidc-role",
       .kind = OptionKind::kList,
       .placeholder = "RULE",
       .help = "CLAIM=VALUE:ROLE:GROUPS gives a role to users of the OpenID provider with this "
               "claim, like groups=ops:operator:billing-*|mail. The value * stands for any. The "
               "first rule that matches counts.",
       .fallback_help = "only users that were added without a password",
       .check = check_role_rule,
       .section = kSection},
      {.name = "proxy-user-header",
       .placeholder = "NAME",
       .help = "Header in which a proxy names the user that it has authenticated. It counts only "
               "from the addresses of --behind-proxy, with the secret of --proxy-secret-file.",
       .check = check_header_name,
       .section = kSection},
      {.name = "proxy-secret-file",
       .placeholder = "FILE",
       .help = "File with the secret that the proxy sends in the header X-Carillon-Proxy-Secret.",
       .section = kSection},
      {.name = "proxy-groups-header",
       .placeholder = "NAME",
       .help = "Header in which the proxy lists the user's groups, separated by commas.",
       .check = check_header_name,
       .section = kSection},
      {.name = "proxy-role",
       .kind = OptionKind::kList,
       .placeholder = "RULE",
       .help = "Role of users that the proxy names, as for --oidc-role, with the claims user and "
               "groups.",
       .fallback_help = "only users that were added without a password",
       .check = check_role_rule,
       .section = kSection},
  };
}

Result<SignInConfig> read_sign_in(const Configuration& configuration, bool has_proxies) {
  SignInConfig config{.is_read_only = configuration.is_on("console-read-only"),
                      .console_url = configuration.text("console-url"),
                      .server_name = configuration.text("name")};
  config.oidc.issuer = configuration.text("oidc-issuer");
  config.oidc.client_id = configuration.text("oidc-client-id");
  config.oidc.name_claim = configuration.text("oidc-name-claim");
  config.oidc.rules = CARILLON_TRY(read_role_rules(configuration, "oidc-role"));
  config.oidc.client_secret = CARILLON_TRY(read_secret(configuration, "oidc-client-secret-file"));
  config.proxy.user_header = in_lower_case(configuration.text("proxy-user-header"));
  config.proxy.groups_header = in_lower_case(configuration.text("proxy-groups-header"));
  config.proxy.secret = CARILLON_TRY(read_secret(configuration, "proxy-secret-file"));
  config.proxy.rules = CARILLON_TRY(read_role_rules(configuration, "proxy-role"));
  CARILLON_TRY(config.validate(has_proxies));
  return config;
}

}  // namespace carillon::jobtracker
