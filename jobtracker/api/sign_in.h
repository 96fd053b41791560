#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/result.h"
#include "jobtracker/access/access_registry.h"
#include "jobtracker/api/console_session.h"
#include "jobtracker/api/cookie_key.h"
#include "jobtracker/api/oidc_provider.h"
#include "jobtracker/api/sign_in_answers.h"
#include "jobtracker/api/sign_in_config.h"
#include "jobtracker/api/sign_in_throttle.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"
#include "shared/base/principal.h"
#include "shared/net/http/http_server.h"
#include "shared/net/http/refusal_log.h"
#include "shared/runtime/work_thread.h"

namespace carillon::jobtracker {

// Sign-in of people at the web console: by password, by a one-time link of `jobclient console`, by
// an OpenID provider, or by a proxy that names the user in a header.
//
// A session is a signed cookie, see ConsoleSession, so all job trackers know it. The role is the
// stored user's at each request. A session ends when it expires, when its user is removed or gets
// another password, and by a sign-out, which the store keeps until the session would have expired.
// Other job trackers see such a change after AccessRegistry::kPeriod.
//
// Cookies and proxies authenticate requests that pages of other sites cause, too. So each change
// needs a token that only the console's own pages can read. Requests with a bearer token need none,
// and then cookie and proxy do not count.
//
// Passwords are checked, and the provider is called, on a thread each.
//
// Thread: the HTTP server's. Answers are given on any thread.
class SignIn {
 public:
  using Answer = std::function<void(net::HttpResponse)>;
  // Runs work later; false: too much work waits.
  using Later = std::function<bool(std::function<void()>)>;

  struct Surroundings {
    const AccessRegistry& registry;
    const Clock& clock;
    PrincipalDesk desk{};
    // Whether the connection itself, not a forwarded address, is a trusted proxy's. Empty: none is.
    std::function<bool(const net::HttpCall&)> is_from_proxy{};
    // Whether the browser uses TLS, here or at a trusted proxy. Empty: it does not.
    std::function<bool(const net::HttpCall&)> is_secure{};
  };
  // Where slow work runs; tests run it at once.
  struct Workers {
    Later passwords{};
    Later provider{};
    OidcProvider::Fetch fetch{};
  };

  static constexpr std::size_t kWaitingMax = 32;  // most passwords to check, and provider calls
  static constexpr std::size_t kBodyMax = 16 * 1024;
  static constexpr std::size_t kPasswordMin = 8;
  static constexpr std::size_t kPasswordMax = 1024;

  // With threads of its own.
  static Result<std::unique_ptr<SignIn>> start(SignInConfig config, Surroundings around);
  // Requires: config.validate() succeeds. The references must outlive it.
  SignIn(SignInConfig config, Surroundings around, Workers workers);
  // Requires: no call is in progress.
  ~SignIn();
  SignIn(const SignIn&) = delete;
  SignIn& operator=(const SignIn&) = delete;

  // Whether call() answers requests to this target.
  static bool is_target(std::string_view target);

  // Who sent the request, by cookie or proxy. None: nobody who is known, or the request has a
  // bearer token. Thread: any.
  std::optional<Principal> principal_of(const net::HttpCall& call) const;
  // Why a request is refused, whoever sent it: a change without the token against foreign pages, or
  // in a read-only console. Call it for each request. None: it may go on.
  std::optional<net::HttpResponse> refusal_of(const net::HttpCall& call) const;
  // The key that signs cookies; also other secrets are derived from it. None: there is none yet,
  // and one is being made. Thread: any.
  std::optional<std::string> secret();
  // False: the target is not about sign-in.
  bool call(const net::HttpCall& call, const net::HttpResponder& responder);
  // The same with an answer of another kind.
  bool take(const net::HttpCall& call, Answer answer);

 private:
  // A signed-in user.
  struct Known {
    ConsoleSession session{};
    Principal principal{};
    std::string language{};
  };
  struct Person {
    std::string name{};
    std::optional<ConsoleSession::OwnRole> own_role{};  // none: a stored user has it
  };

  std::optional<Known> known(const net::HttpCall& call) const;
  bool has_ended(const ConsoleSession& session) const;
  std::optional<Principal> proxied(const net::HttpCall& call) const;
  std::optional<PrincipalRow> user_without_password(const std::string& name) const;
  // The stored user that a session belongs to; none: it has a role of its own.
  std::optional<PrincipalRow> stored_user(const ConsoleSession& session) const;
  Result<Person> person_by_rules(const Claims& claims, const OidcNames& names,
                                 const std::vector<RoleRule>& rules) const;
  std::string csrf_token(const Known& known) const;
  std::string csrf_token(const Principal& proxied) const;

  net::HttpResponse state_of(const std::optional<Principal>& principal, const std::string& language,
                             const std::string& csrf_token) const;
  net::HttpResponse current_state(const net::HttpCall& call);
  void answer_current_state(const net::HttpCall& call, const Answer& answer);
  net::HttpResponse signed_out(const net::HttpCall& call) const;
  Result<net::HttpResponse> signed_in(const ConsoleSession& session, const Principal& principal,
                                      const std::string& language, const std::string& key,
                                      bool is_secure) const;

  void sign_in(const net::HttpCall& call, const Answer& answer);
  void check_password(const net::HttpCall& call, const std::string& name,
                      const std::string& password, const Answer& answer);
  void use_link(const net::HttpCall& call, const std::string& one_time, const Answer& answer);
  void sign_out(const net::HttpCall& call, const Answer& answer);
  wire::PutPrincipal end_of_all_sessions(const ConsoleSession& session) const;
  void change_password(const net::HttpCall& call, const Answer& answer);
  void replace_password(const net::HttpCall& call, const Known& known, const std::string& old,
                        const std::string& wanted, const Answer& answer);
  void change_language(const net::HttpCall& call, const Answer& answer);

  // In sign_in_oidc.cc.
  void start_oidc(const net::HttpCall& call, const Answer& answer);
  void end_oidc(const net::HttpCall& call, const Answer& answer);
  Result<net::HttpResponse> sign_in_by_code(const std::string& code, const OidcAttempt& attempt,
                                            const net::HttpCall& call);
  OidcAttempt attempt_of(const std::string& state, const std::string& key,
                         const net::HttpCall& call) const;

  bool is_secure(const net::HttpCall& call) const;
  static void log_sign_in(const Logger& log, const Principal& principal,
                          const std::string& address);

  const SignInConfig config_;
  const Surroundings around_;
  const Workers workers_;
  const Logger log_{"jobtracker.sign_in"};
  CookieKey key_;
  SignInThrottle throttle_;
  net::RefusalLog refusals_;  // on the thread of the passwords
  std::string decoy_hash_{};  // the same; a hash for names that do not exist
  OidcProvider provider_;     // on the provider's thread
  // Last, so that they end first.
  std::unique_ptr<WorkThread> password_thread_;
  std::unique_ptr<WorkThread> provider_thread_;
};

}  // namespace carillon::jobtracker
