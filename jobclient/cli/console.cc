#include "jobclient/cli/console.h"

#include <sstream>

#include "shared/base/crypto.h"
#include "shared/base/time_text.h"
#include "shared/net/http_url.h"

namespace carillon::cli {
namespace {

constexpr Duration kValid = std::chrono::minutes{5};
// After this time all job trackers know the link: they read the principals every 2 s.
constexpr Duration kSpread = std::chrono::milliseconds{2500};
constexpr std::size_t kNameLength = 32;
constexpr const char* kDefaultUrl = "http://127.0.0.1:8080";  // of jobtracker's --http

Status check_url(const std::string& text) {
  CARILLON_TRY(net::parse_http_url(text));
  return {};
}

std::vector<std::string> patterns_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> patterns;
  for (std::string pattern; stream >> pattern;) patterns.push_back(pattern);
  return patterns;
}

// The console's address, without a slash at its end.
std::string console_url(const Context& context, const Row& me) {
  std::string url = context.configuration.text("url");
  if (url.empty()) url = field_text(me, "console");
  if (url.empty()) url = kDefaultUrl;
  while (url.ends_with('/')) url.pop_back();
  return url;
}

}  // namespace

Verb declare_console() {
  return {
      .name = "console",
      .summary = "Sign in at the web console",
      .description =
          "Prints a link, and opens it if there is a display. The link signs you in at the web "
          "console with the rights that you have here. It works once, within 5 minutes. There "
          "you can create users. Needs the role admin.",
      .options = {{.name = "url",
                   .placeholder = "URL",
                   .help = "Address of the web console.",
                   .fallback_help = "the job tracker's",
                   .check = check_url},
                  {.name = "print", .kind = OptionKind::kSwitch, .help = "Only print the link."}},
      .examples =
          "  jobclient console\n"
          "  jobclient console --print --url https://carillon.example.com\n",
      .section = "Access"};
}

int run_console(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const Result<RowPage> page = client.value()->whoami();
  if (!page.ok()) return context.fail(page.error());
  const Row me = page.value().rows.empty() ? Row{} : page.value().rows.front();
  const std::string secret = make_access_token();
  const WallTime expires = context.around.clock.wall_now() + kValid;
  const PrincipalChange link{.kind = "link",
                             .name = sha256_hex(make_access_token()).substr(0, kNameLength),
                             .role = field_text(me, "role"),
                             .groups = patterns_of(field_text(me, "groups")),
                             .secret = sha256_hex(secret),
                             .expires = expires};
  const Result<ActAnswer> stored = client.value()->put_principal(link);
  if (!stored.ok()) return context.fail(stored.error());
  context.around.pause(kSpread);
  const std::string url =
      console_url(context, me) + "/#/login?one_time=" + link.name + "." + secret;
  if (context.is_json()) {
    print_one_row(context.out(), context.style,
                  {{"link", url}, {"expires_at", format_time(expires)}});
  } else {
    context.out() << url << '\n';
    context.out().flush();
    context.err() << "The link works once, within 5 minutes.\n";
  }
  if (!context.configuration.is_on("print") && context.around.open_page)
    context.around.open_page(url);
  return kDone;
}

}  // namespace carillon::cli
