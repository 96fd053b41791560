#include "jobtracker/api/sign_in.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include <nlohmann/json.hpp>

#include "jobtracker/api/request_text.h"
#include "shared/base/crypto.h"
#include "shared/base/secret.h"
#include "shared/net/http/http_client.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kSessionPath = "/api/v1/session";
constexpr std::string_view kPasswordPath = "/api/v1/session/password";
constexpr std::string_view kLanguagePath = "/api/v1/session/language";
constexpr std::string_view kOidcStartPath = "/api/v1/oidc/start";
constexpr std::string_view kOidcCallbackPath = "/api/v1/oidc/callback";

// After a change of the password, other job trackers still know the old one for a moment. A session
// this young may therefore have a password that does not match.
constexpr Duration kSpread = AccessRegistry::kPeriod + std::chrono::seconds{2};
// The clocks of two job trackers differ by less than this.
constexpr Duration kClocksDiffer = std::chrono::hours{1};

using Json = nlohmann::json;

bool is_reading(const net::HttpCall& call) { return call.method == "GET" || call.method == "HEAD"; }

// A request that is sent like a change, and changes nothing.
constexpr std::string_view kPreviewPath = "/api/v1/schedules:preview";

// A field of a JSON object that must be a text; none: it is missing.
std::optional<std::string> text_field(const Json& body, const char* name) {
  const auto found = body.find(name);
  if (found == body.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

Result<Json> read_body(const net::HttpCall& call) {
  if (call.body.size() > SignIn::kBodyMax)
    return Error{ErrorCode::kInvalidArgument, "the body is larger than 16 KiB"};
  Json body = Json::parse(call.body, nullptr, false);
  if (!body.is_object())
    return Error{ErrorCode::kInvalidArgument, "the body must be a JSON object"};
  return body;
}

net::HttpResponse bad_field(const std::string& field, const std::string& what) {
  return web::problem(400, "invalid_argument", field + " " + what, field);
}

net::HttpResponse unauthenticated(const std::string& detail) {
  return web::problem(401, "unauthenticated", detail);
}

net::HttpResponse busy() {
  return web::try_later(503, "too many sign-ins at once, try again", std::chrono::seconds{1});
}

// The store's name for the fact that a session ended, or all sessions of somebody.
std::string end_name(const ConsoleSession& session) { return "s-" + session.id; }
std::string everywhere_name(const ConsoleSession& session) {
  constexpr std::size_t kLength = 40;
  return "u-" + sha256_hex(session.kind + "\n" + session.name).substr(0, kLength);
}

std::int64_t micros_of(WallTime time) { return time.time_since_epoch().count(); }
WallTime time_of(const std::string& micros) {
  std::int64_t count = 0;
  (void)std::from_chars(micros.data(), micros.data() + micros.size(), count);  // as we stored it
  return WallTime{Duration{count}};
}

// Somebody changes only their own session, password or language here, so no right is needed. The
// audit names them.
wire::OnBehalf on_own_behalf(const std::string& kind, const std::string& name,
                             const net::HttpCall& call) {
  return {.kind = kind, .name = name, .role = "admin", .groups = {"*"}, .address = call.peer};
}

wire::PutPrincipal end_of_session(const ConsoleSession& session) {
  return {.kind = kSessionKind,
          .name = end_name(session),
          .role = "viewer",
          .groups = {"*"},
          .secret = "ended",
          .expires_us = micros_of(session.expires_at + kClocksDiffer),
          .replaces = true};
}

// A change of a stored user that keeps the rest, also the role and the node groups.
wire::PutPrincipal change_of(const std::string& user) {
  return {.kind = kUserKind, .name = user, .replaces = true};
}

}  // namespace

Status SignInConfig::validate(bool has_proxies) const {
  CARILLON_TRY(oidc.validate());
  if (!proxy.is_on() &&
      (!proxy.groups_header.empty() || !proxy.rules.empty() || !proxy.secret.empty()))
    return Error{ErrorCode::kInvalidArgument,
                 "--proxy-groups-header, --proxy-role and --proxy-secret-file need "
                 "--proxy-user-header"};
  if (proxy.is_on() && !has_proxies)
    return Error{ErrorCode::kInvalidArgument,
                 "--proxy-user-header needs --behind-proxy, because everybody else could send this "
                 "header, too"};
  if (proxy.is_on() && proxy.secret.empty())
    return Error{ErrorCode::kInvalidArgument,
                 "--proxy-user-header needs --proxy-secret-file, because every program at the "
                 "proxy's address could send this header, too"};
  if (proxy.secret.find_first_of("\r\n") != std::string::npos)
    return Error{ErrorCode::kInvalidArgument,
                 "--proxy-secret-file must have one line, because a header has only one"};
  return {};
}

Result<std::unique_ptr<SignIn>> SignIn::start(SignInConfig config, Surroundings around) {
  auto passwords = CARILLON_TRY(WorkThread::start("passwords", kWaitingMax));
  auto provider = CARILLON_TRY(WorkThread::start("oidc", kWaitingMax));
  const auto later = [](WorkThread& thread) {
    return [&thread](std::function<void()> work) { return thread.run(std::move(work)); };
  };
  Workers workers{.passwords = later(*passwords),
                  .provider = later(*provider),
                  .fetch = [&thread = *provider](const HttpRequest& request) {
                    return net::send_http(request, OidcProvider::kPatience,
                                          OidcProvider::kReplyBytesMax, thread.stopping());
                  }};
  auto made = std::make_unique<SignIn>(std::move(config), std::move(around), std::move(workers));
  made->password_thread_ = std::move(passwords);
  made->provider_thread_ = std::move(provider);
  return made;
}

SignIn::SignIn(SignInConfig config, Surroundings around, Workers workers)
    : config_(std::move(config)),
      around_(std::move(around)),
      workers_(std::move(workers)),
      key_(around_.registry, around_.desk),
      throttle_(config_.throttle, around_.clock),
      refusals_(log_, around_.clock),
      provider_(config_.oidc, workers_.fetch, around_.clock) {}

SignIn::~SignIn() = default;

bool SignIn::is_target(std::string_view target) {
  const std::string_view path = web::target_path(target);
  return path == kSessionPath || path == kPasswordPath || path == kLanguagePath ||
         path == kOidcStartPath || path == kOidcCallbackPath;
}

bool SignIn::is_secure(const net::HttpCall& call) const {
  return around_.is_secure && around_.is_secure(call);
}

void SignIn::log_sign_in(const Logger& log, const Principal& principal,
                         const std::string& address) {
  log.info("signed in", "kind", principal.kind, "name", principal.name, "role",
           to_string(principal.role), "address", address);
}

// ---- who it is ----

std::optional<Principal> SignIn::principal_of(const net::HttpCall& call) const {
  if (auto principal = proxied(call)) return principal;
  if (auto found = known(call)) return std::move(found->principal);
  return std::nullopt;
}

// A user with a password is another one, even if the provider or the proxy gives a person the same
// name: otherwise whoever may choose their name there could take over that user.
std::optional<PrincipalRow> SignIn::user_without_password(const std::string& name) const {
  auto row = around_.registry.row(kUserKind, name);
  if (!row || row->secret != kNoPassword) return std::nullopt;
  return row;
}

std::optional<PrincipalRow> SignIn::stored_user(const ConsoleSession& session) const {
  if (session.kind == kUserKind || session.kind == kKeyKind)
    return around_.registry.row(session.kind, session.name);
  // Who has a role by a rule may have chosen the name that is shown.
  const bool is_stored = session.kind == kOidcKind && !session.own_role;
  return is_stored ? user_without_password(session.name) : std::nullopt;
}

Result<SignIn::Person> SignIn::person_by_rules(const Claims& claims, const OidcNames& names,
                                               const std::vector<RoleRule>& rules) const {
  if (user_without_password(names.stored)) return Person{.name = names.stored};
  const RoleRule* const rule = matching_rule(rules, claims);
  if (rule == nullptr)
    return Error{ErrorCode::kDenied, "'" + names.shown +
                                         "' has no role here: no rule gives one, and there is no "
                                         "user without a password named '" +
                                         names.stored + "'"};
  return Person{.name = names.shown, .own_role = {{.role = rule->role, .groups = rule->groups}}};
}

std::optional<Principal> SignIn::proxied(const net::HttpCall& call) const {
  if (web::has_bearer_token(call)) return std::nullopt;
  if (!config_.proxy.is_on() || !around_.is_from_proxy || !around_.is_from_proxy(call))
    return std::nullopt;
  if (!is_same_secret(web::header_of(call, ProxyUsers::kSecretHeader), config_.proxy.secret))
    return std::nullopt;
  const std::string name = web::header_of(call, config_.proxy.user_header);
  if (!check_principal_name(name).ok()) return std::nullopt;
  Claims claims{{"user", {name}}};
  if (!config_.proxy.groups_header.empty()) {
    std::string group;
    for (const char c : web::header_of(call, config_.proxy.groups_header) + ",") {
      if (c == ' ') continue;
      if (c != ',') {
        group += c;
      } else if (!group.empty()) {
        claims["groups"].push_back(std::exchange(group, {}));
      }
    }
  }
  const auto person = person_by_rules(claims, {.shown = name, .stored = name}, config_.proxy.rules);
  if (!person.ok()) return std::nullopt;
  Principal principal{.kind = kProxyKind, .name = name};
  if (const auto& own = person.value().own_role) {
    principal.role = own->role;
    principal.groups = own->groups;
  } else if (const auto row = user_without_password(name)) {
    principal.role = row->principal.role;
    principal.groups = row->principal.groups;
  }
  return principal;
}

bool SignIn::has_ended(const ConsoleSession& session) const {
  const AccessRegistry& registry = around_.registry;
  if (session.expires_at <= around_.clock.wall_now()) return true;
  if (registry.row(kSessionKind, end_name(session))) return true;
  const auto everywhere = registry.row(kSessionKind, everywhere_name(session));
  return everywhere && session.issued_at < time_of(everywhere->secret);
}

std::optional<SignIn::Known> SignIn::known(const net::HttpCall& call) const {
  if (web::has_bearer_token(call)) return std::nullopt;
  const std::string cookie = web::cookie_of(call, web::kSessionCookie);
  if (cookie.empty() || !around_.registry.is_known()) return std::nullopt;
  const auto key = key_.known();
  auto session = key ? read_session(cookie, *key) : std::nullopt;
  if (!session || has_ended(*session)) return std::nullopt;
  Known found{.session = *std::move(session)};
  const ConsoleSession& its = found.session;
  found.principal = {.kind = its.kind, .name = its.name};
  const auto row = stored_user(its);
  if (its.kind == kUserKind) {
    const bool is_young = its.issued_at + kSpread > around_.clock.wall_now();
    if (!row || row->secret == kNoPassword) return std::nullopt;
    if (password_mark_of(row->secret) != its.password_mark && !is_young) return std::nullopt;
    found.principal = row->principal;
    found.language = row->language;
    return found;
  }
  const bool is_of_other_key =
      its.kind == kKeyKind && row && password_mark_of(row->secret) != its.password_mark;
  if ((!row && !its.own_role) || is_of_other_key) return std::nullopt;
  found.principal.role = row ? row->principal.role : its.own_role->role;
  found.principal.groups = row ? row->principal.groups : its.own_role->groups;
  if (row) found.language = row->language;
  return found;
}

std::optional<std::string> SignIn::secret() {
  auto key = key_.known();
  if (!key) key_.prepare();
  return key;
}

// ---- what is refused ----

std::string SignIn::csrf_token(const Known& known) const {
  const auto key = key_.known();
  return key ? csrf_token_of(known.session, *key) : std::string{};
}

std::string SignIn::csrf_token(const Principal& proxied) const {
  const auto key = key_.known();
  return key ? derive("csrf of a proxy's user", proxied.name, *key) : std::string{};
}

std::optional<net::HttpResponse> SignIn::refusal_of(const net::HttpCall& call) const {
  if (web::has_bearer_token(call)) return std::nullopt;
  const bool has_cookie = !web::cookie_of(call, web::kSessionCookie).empty();
  if (has_cookie && !around_.registry.is_known())
    return web::try_later(503, "the job tracker is starting, try again", std::chrono::seconds{1});
  const std::string_view path = web::target_path(call.target);
  const bool is_sign_in = path == kSessionPath && call.method == "POST";
  if (is_reading(call) || is_sign_in) return std::nullopt;
  std::string token;
  if (const auto principal = proxied(call)) {
    token = csrf_token(*principal);
  } else if (const auto found = known(call)) {
    token = csrf_token(*found);
  } else {
    return std::nullopt;  // Nobody: the request is refused where it needs a principal.
  }
  if (token.empty() || !is_same_secret(web::header_of(call, "x-csrf-token"), token))
    return web::problem(403, "denied",
                        "the header X-CSRF-Token is missing or of another session (read it from "
                        "GET /api/v1/session)");
  if (config_.is_read_only && path != kSessionPath && path != kPreviewPath)
    return web::problem(403, "denied", "this console is read-only (--console-read-only)");
  return std::nullopt;
}

// ---- answers ----

net::HttpResponse SignIn::state_of(const std::optional<Principal>& principal,
                                   const std::string& language,
                                   const std::string& csrf_token) const {
  std::string provider;
  if (config_.oidc.is_on()) {
    const std::size_t host = config_.oidc.issuer.find("://") + 3;
    provider = config_.oidc.issuer.substr(host, config_.oidc.issuer.find('/', host) - host);
  }
  return web::session_answer({.principal = principal,
                              .language = language,
                              .csrf_token = csrf_token,
                              .is_read_only = config_.is_read_only,
                              .oidc_name = provider,
                              .server_name = config_.server_name,
                              .server_version = config_.server_version,
                              .now = around_.clock.wall_now()});
}

net::HttpResponse SignIn::current_state(const net::HttpCall& call) {
  key_.prepare();
  if (const auto principal = proxied(call)) return state_of(principal, "", csrf_token(*principal));
  if (const auto found = known(call))
    return state_of(found->principal, found->language, csrf_token(*found));
  return state_of(std::nullopt, "", "");
}

// The first state that a proxy's user sees needs the key, because it has a token for changes.
void SignIn::answer_current_state(const net::HttpCall& call, const Answer& answer) {
  if (key_.known() || !proxied(call)) return answer(current_state(call));
  const bool is_taken = workers_.passwords([this, call, answer] {
    const auto key = key_.wait();
    answer(key.ok() ? current_state(call) : web::problem_of(key.error()));
  });
  if (!is_taken) answer(web::problem(503, "unavailable", "too many requests, try again"));
}

net::HttpResponse SignIn::signed_out(const net::HttpCall& call) const {
  net::HttpResponse response = state_of(std::nullopt, "", "");
  web::set_session_cookie(response, "", is_secure(call));
  return response;
}

Result<net::HttpResponse> SignIn::signed_in(const ConsoleSession& session,
                                            const Principal& principal, const std::string& language,
                                            const std::string& key, bool is_secure) const {
  constexpr std::size_t kCookieMax = 3800;  // browsers keep 4 KiB, with name and attributes
  const std::string cookie = sign_session(session, key);
  if (cookie.size() > kCookieMax)
    return Error{ErrorCode::kLimit,
                 "the patterns of node groups do not fit into a cookie (use fewer)"};
  net::HttpResponse response = state_of(principal, language, csrf_token_of(session, key));
  web::set_session_cookie(response, cookie, is_secure);
  return response;
}

bool SignIn::call(const net::HttpCall& call, const net::HttpResponder& responder) {
  return take(call,
              [responder](net::HttpResponse response) { responder.send(std::move(response)); });
}

bool SignIn::take(const net::HttpCall& call, Answer answer) {
  if (!is_target(call.target)) return false;
  if (auto refusal = refusal_of(call)) {
    answer(*std::move(refusal));
    return true;
  }
  const std::string_view path = web::target_path(call.target);
  const std::string& method = call.method;
  if (path == kSessionPath && method == "GET") {
    answer_current_state(call, answer);
  } else if (path == kSessionPath && method == "POST") {
    sign_in(call, answer);
  } else if (path == kSessionPath && method == "DELETE") {
    sign_out(call, answer);
  } else if (path == kPasswordPath && method == "PUT") {
    change_password(call, answer);
  } else if (path == kLanguagePath && method == "PUT") {
    change_language(call, answer);
  } else if (path == kOidcStartPath && method == "GET") {
    start_oidc(call, answer);
  } else if (path == kOidcCallbackPath && method == "GET") {
    end_oidc(call, answer);
  } else {
    answer(web::problem(405, "invalid_argument", "this path has no method " + method));
  }
  return true;
}

// ---- sign-in ----

void SignIn::sign_in(const net::HttpCall& call, const Answer& answer) {
  const auto body = read_body(call);
  if (!body.ok()) return answer(web::problem_of(body.error()));
  const auto one_time = text_field(body.value(), "one_time");
  const auto name = text_field(body.value(), "name");
  const auto password = text_field(body.value(), "password");
  if (!one_time && !name) return answer(bad_field("name", "is missing"));
  if (!one_time && !password) return answer(bad_field("password", "is missing"));
  if (password && password->size() > kPasswordMax)
    return answer(bad_field("password", "is longer than 1024 bytes"));
  const bool is_name = name && check_principal_name(*name).ok();
  const auto wait = throttle_.begin(is_name ? *name : std::string{}, call.peer);
  if (wait) return answer(web::try_later(429, "too many attempts to sign in, wait", *wait));
  const bool is_queued = workers_.passwords([this, call, one_time, name, password, answer] {
    one_time ? use_link(call, *one_time, answer) : check_password(call, *name, *password, answer);
  });
  if (!is_queued) answer(busy());
}

void SignIn::check_password(const net::HttpCall& call, const std::string& name,
                            const std::string& password, const Answer& answer) {
  const auto row = around_.registry.row(kUserKind, name);
  const bool exists = row && row->secret != kNoPassword;
  // An unknown name takes as long as a wrong password, so that names cannot be found out.
  if (decoy_hash_.empty()) decoy_hash_ = hash_password("");
  const bool is_right = is_password(password, exists ? row->secret : decoy_hash_);
  if (!exists || !is_right) {
    refusals_.add(call.peer, "wrong name or password");
    return answer(unauthenticated("wrong name or password"));
  }
  const auto key = key_.wait();
  if (!key.ok()) return answer(web::problem_of(key.error()));
  throttle_.succeeded(name, call.peer);
  ConsoleSession session =
      make_session(kUserKind, name, around_.clock.wall_now(), config_.session_length);
  session.password_mark = password_mark_of(row->secret);
  auto response = signed_in(session, row->principal, row->language, key.value(), is_secure(call));
  if (!response.ok()) return answer(web::problem_of(response.error()));
  log_sign_in(log_, row->principal, call.peer);
  answer(std::move(response).value());
}

// The link is NAME.SECRET. Whoever removes it from the store has used it, so it works once.
void SignIn::use_link(const net::HttpCall& call, const std::string& one_time,
                      const Answer& answer) {
  const std::size_t dot = one_time.find('.');
  const auto row = dot == std::string::npos
                       ? std::nullopt
                       : around_.registry.row(kLinkKind, one_time.substr(0, dot));
  if (!row || !is_same_secret(row->secret, sha256_hex(one_time.substr(dot + 1)))) {
    refusals_.add(call.peer, "a link that is unknown, used or expired");
    return answer(unauthenticated(
        "the link was used or has expired (get another one with jobclient console)"));
  }
  const auto key = key_.wait();
  if (!key.ok()) return answer(web::problem_of(key.error()));
  const bool has_name = check_principal_name(row->created_by).ok();
  const bool is_of_key = row->language == kKeyKind;
  const auto creator = is_of_key ? around_.registry.row(kKeyKind, row->created_by) : std::nullopt;
  if (is_of_key && !creator) return answer(unauthenticated("the key that made this link has gone"));
  ConsoleSession session =
      make_session(is_of_key ? kKeyKind : kLocalKind, has_name ? row->created_by : kLocalKind,
                   around_.clock.wall_now(), config_.session_length);
  if (creator) {
    session.password_mark = password_mark_of(creator->secret);
  } else {
    session.own_role = {.role = row->principal.role, .groups = row->principal.groups};
  }
  const Principal principal{.kind = session.kind,
                            .name = session.name,
                            .role = row->principal.role,
                            .groups = row->principal.groups};
  auto response = signed_in(session, principal, "", key.value(), is_secure(call));
  if (!response.ok()) return answer(web::problem_of(response.error()));
  throttle_.succeeded("", call.peer);
  around_.desk.remove_principal(
      on_own_behalf(session.kind, session.name, call),
      {.kind = kLinkKind, .name = row->principal.name},
      [answer, log = log_, principal, address = call.peer,
       response = std::move(response).value()](const Status& status) {
        if (status.ok()) {
          log_sign_in(log, principal, address);
          return answer(response);
        }
        const bool was_used = status.error().code == ErrorCode::kNotFound ||
                              status.error().code == ErrorCode::kConflict;
        answer(was_used ? unauthenticated("the link was used") : web::problem_of(status.error()));
      });
}

// ---- sign-out ----

void SignIn::sign_out(const net::HttpCall& call, const Answer& answer) {
  const auto found = known(call);
  if (!found) return answer(signed_out(call));
  const ConsoleSession& session = found->session;
  const bool is_everywhere = web::query_value(call.target, "everywhere") == "true";
  around_.desk.put_principal(on_own_behalf(session.kind, session.name, call),
                             is_everywhere ? end_of_all_sessions(session) : end_of_session(session),
                             [answer, response = signed_out(call)](const Status& status) {
                               if (status.ok()) return answer(response);
                               net::HttpResponse failed = web::problem_of(status.error());
                               failed.headers["Set-Cookie"] = response.headers.at("Set-Cookie");
                               answer(failed);
                             });
}

wire::PutPrincipal SignIn::end_of_all_sessions(const ConsoleSession& session) const {
  const WallTime now = around_.clock.wall_now();
  // Also this session, if another job tracker with a faster clock began it.
  const WallTime valid_from = std::max(now, session.issued_at + Duration{1});
  return {.kind = kSessionKind,
          .name = everywhere_name(session),
          .role = "viewer",
          .groups = {"*"},
          .secret = std::to_string(micros_of(valid_from)),
          .expires_us = micros_of(now + config_.session_length + kClocksDiffer),
          .replaces = true};
}

// ---- one's own password and language ----

void SignIn::change_password(const net::HttpCall& call, const Answer& answer) {
  const auto found = known(call);
  if (!found) return answer(unauthenticated("nobody is signed in"));
  if (found->session.kind != kUserKind)
    return answer(web::problem(409, "conflict", "this user has no password here"));
  const auto body = read_body(call);
  if (!body.ok()) return answer(web::problem_of(body.error()));
  const auto old = text_field(body.value(), "old");
  const auto wanted = text_field(body.value(), "new");
  if (!old || old->size() > kPasswordMax) return answer(bad_field("old", "is missing"));
  if (!wanted) return answer(bad_field("new", "is missing"));
  if (wanted->size() < kPasswordMin || wanted->size() > kPasswordMax)
    return answer(bad_field("new", "must have 8 to 1024 bytes"));
  const auto wait = throttle_.begin(found->session.name, call.peer);
  if (wait) return answer(web::try_later(429, "too many wrong passwords, wait", *wait));
  const bool is_queued =
      workers_.passwords([this, call, known = *found, old = *old, wanted = *wanted, answer] {
        replace_password(call, known, old, wanted, answer);
      });
  if (!is_queued) answer(busy());
}

void SignIn::replace_password(const net::HttpCall& call, const Known& known, const std::string& old,
                              const std::string& wanted, const Answer& answer) {
  const std::string& name = known.session.name;
  const auto row = around_.registry.row(kUserKind, name);
  if (!row || !is_password(old, row->secret)) {
    refusals_.add(call.peer, "a wrong password for its change");
    return answer(web::problem(403, "denied", "the old password is wrong", "old"));
  }
  throttle_.succeeded(name, call.peer);
  wire::PutPrincipal change = change_of(row->principal.name);
  change.secret = hash_password(wanted);
  ConsoleSession session =
      make_session(kUserKind, name, around_.clock.wall_now(), config_.session_length);
  session.password_mark = password_mark_of(change.secret);
  const auto key = key_.wait();
  if (!key.ok()) return answer(web::problem_of(key.error()));
  auto response = signed_in(session, row->principal, row->language, key.value(), is_secure(call));
  if (!response.ok()) return answer(web::problem_of(response.error()));
  around_.desk.put_principal(
      on_own_behalf(kUserKind, name, call), std::move(change),
      [answer, response = std::move(response).value()](const Status& status) {
        answer(status.ok() ? response : web::problem_of(status.error()));
      });
}

void SignIn::change_language(const net::HttpCall& call, const Answer& answer) {
  const auto found = known(call);
  if (!found) return answer(unauthenticated("nobody is signed in"));
  const auto body = read_body(call);
  if (!body.ok()) return answer(web::problem_of(body.error()));
  const auto language = text_field(body.value(), "language");
  if (!language || (*language != "en" && *language != "zh"))
    return answer(bad_field("language", "must be en or zh"));
  const auto row = stored_user(found->session);
  if (!row || row->principal.kind != kUserKind)
    return answer(web::problem(409, "conflict",
                               "this user is not stored here, so its browser "
                               "must remember the language"));
  wire::PutPrincipal change = change_of(row->principal.name);
  change.language = *language;
  around_.desk.put_principal(
      on_own_behalf(found->session.kind, found->session.name, call), std::move(change),
      [answer,
       response = state_of(found->principal, *language, csrf_token(*found))](const Status& status) {
        answer(status.ok() ? response : web::problem_of(status.error()));
      });
}

}  // namespace carillon::jobtracker
