#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "jobtracker/access/access_registry.h"
#include "jobtracker/api/sign_in.h"
#include "shared/base/crypto.h"
#include "tests/support/manual_clock.h"

namespace carillon::jobtracker {

inline constexpr const char* kPassword = "correct horse";
// The hash of kPassword, which takes long to compute.
inline const std::string& password_hash() {
  static const std::string kHash = hash_password(kPassword);
  return kHash;
}

inline PrincipalRow user_row(std::string name, Role role = Role::kEditor) {
  return {.principal = {.kind = kUserKind, .name = std::move(name), .role = role, .groups = {"*"}},
          .secret = password_hash()};
}

// The principals of a store, changed like by the real one.
class PrincipalStore {
 public:
  Status put(const wire::OnBehalf& author, const wire::PutPrincipal& put) {
    author_ = author;
    PrincipalRow* const before = find(put.kind, put.name);
    if (before == nullptr && (put.secret.empty() || put.groups.empty()))
      return Error{ErrorCode::kNotFound, "no such"};
    if (before != nullptr && !put.replaces && before->secret != put.secret)
      return Error{ErrorCode::kConflict, "exists"};
    PrincipalRow row{
        .principal = {.kind = put.kind,
                      .name = put.name,
                      .role = put.role.empty() ? Role::kViewer : parse_role(put.role).value(),
                      .groups = put.groups},
        .secret = put.secret,
        .created_by = author.name,
        .expires_at = WallTime{Duration{put.expires_us}},
        .language = put.language};
    if (before == nullptr) {
      rows_.push_back(std::move(row));
      return {};
    }
    if (row.secret.empty()) row.secret = before->secret;
    if (row.language.empty()) row.language = before->language;
    if (put.role.empty() && put.groups.empty()) row.principal = before->principal;
    if (put.expires_us == 0) row.expires_at = before->expires_at;
    *before = std::move(row);
    return {};
  }

  Status remove(const std::string& kind, const std::string& name) {
    if (std::erase_if(rows_, [&](const PrincipalRow& row) {
          return row.principal.kind == kind && row.principal.name == name;
        }) == 0)
      return Error{ErrorCode::kNotFound, "no such"};
    return {};
  }

  void add(PrincipalRow row) { rows_.push_back(std::move(row)); }
  PrincipalRow* find(const std::string& kind, const std::string& name) {
    for (PrincipalRow& row : rows_) {
      if (row.principal.kind == kind && row.principal.name == name) return &row;
    }
    return nullptr;
  }
  const std::vector<PrincipalRow>& rows() const { return rows_; }
  const wire::OnBehalf& last_author() const { return author_; }

 private:
  std::vector<PrincipalRow> rows_{};
  wire::OnBehalf author_{};
};

// The sign-in of one job tracker. Its own changes are known to it at once, others after read().
class SignInTracker {
 public:
  SignInTracker(ManualClock& clock, PrincipalStore& store, SignInConfig config = {},
                OidcProvider::Fetch fetch = {})
      : clock_(clock), store_(store) {
    const auto at_once = [this](const std::function<void()>& work) {
      if (is_busy) return false;
      work();
      return true;
    };
    read();
    sign_in_ = std::make_unique<SignIn>(
        std::move(config),
        SignIn::Surroundings{
            .registry = registry_,
            .clock = clock_,
            .desk = {.put_principal =
                         [this](const wire::OnBehalf& author, const wire::PutPrincipal& put,
                                const PrincipalDesk::Done& done) {
                           answer(store_.put(author, put), done);
                         },
                     .remove_principal =
                         [this](const wire::OnBehalf&, const wire::RemovePrincipal& removal,
                                const PrincipalDesk::Done& done) {
                           answer(store_.remove(removal.kind, removal.name), done);
                         }},
            .is_from_proxy = [](const net::HttpCall& call) { return call.peer == "10.0.0.1"; },
            .is_secure = [this](const net::HttpCall&) { return is_secure; }},
        SignIn::Workers{.passwords = at_once, .provider = at_once, .fetch = std::move(fetch)});
  }

  void read() { registry_.put_all(store_.rows()); }
  SignIn& operator*() { return *sign_in_; }
  SignIn* operator->() { return sign_in_.get(); }

  net::HttpResponse ask(const net::HttpCall& call) {
    net::HttpResponse response{.status = 0};
    sign_in_->take(call, [&](net::HttpResponse given) { response = std::move(given); });
    return response;
  }

  bool is_busy = false;
  bool is_secure = false;

 private:
  void answer(const Status& status, const PrincipalDesk::Done& done) {
    read();
    done(status);
  }

  ManualClock& clock_;
  PrincipalStore& store_;
  AccessRegistry registry_{[this] { return clock_.wall_now(); }};
  std::unique_ptr<SignIn> sign_in_;
};

// A browser with the console's pages: keeps the cookie, and sends the token against foreign pages.
class Browser {
 public:
  net::HttpCall request(const std::string& method, const std::string& target,
                        const std::string& body = {}) const {
    net::HttpCall call{.method = method, .target = target, .body = body, .peer = address};
    call.headers["host"] = "carillon.example.com:8080";
    if (!cookie.empty()) call.headers["cookie"] = "theme=dark; carillon_session=" + cookie;
    if (!csrf_token.empty() && method != "GET") call.headers["x-csrf-token"] = csrf_token;
    return call;
  }

  net::HttpResponse ask(SignInTracker& tracker, const std::string& method,
                        const std::string& target, const std::string& body = {}) {
    net::HttpResponse response = tracker.ask(request(method, target, body));
    const auto set = response.headers.find("Set-Cookie");
    if (set != response.headers.end() && set->second.starts_with("carillon_session=")) {
      const std::size_t begin = set->second.find('=') + 1;
      cookie = set->second.substr(begin, set->second.find(';') - begin);
    }
    const auto json = nlohmann::json::parse(response.body, nullptr, false);
    if (json.is_object() && json.contains("csrf_token")) csrf_token = json["csrf_token"];
    return response;
  }

  net::HttpResponse sign_in(SignInTracker& tracker, const std::string& name,
                            const std::string& password = kPassword) {
    return ask(tracker, "POST", "/api/v1/session",
               nlohmann::json{{"name", name}, {"password", password}}.dump());
  }

  // Who the job tracker takes it for.
  std::optional<Principal> principal(SignInTracker& tracker) const {
    return tracker->principal_of(request("GET", "/api/v1/jobs"));
  }

  std::string cookie{};
  std::string csrf_token{};
  std::string address = "192.0.2.7";
};

}  // namespace carillon::jobtracker
