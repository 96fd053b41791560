// Users, tokens, keys, the audit, and who the caller is.
#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "jobtracker/api/api.h"
#include "jobtracker/api/body.h"
#include "jobtracker/api/refusals.h"
#include "jobtracker/api/row_pages.h"
#include "shared/base/crypto.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kPasswordMin = 8;
constexpr std::size_t kPasswordMax = 1024;

Json principal_item(const PrincipalRow& row) {
  Json item{{"name", row.principal.name},     {"role", to_string(row.principal.role)},
            {"groups", row.principal.groups}, {"created_at", json_of_time(row.created_at)},
            {"created_by", row.created_by},   {"expires_at", json_of_time(row.expires_at)}};
  if (row.principal.kind == kUserKind) item["language"] = row.language;
  if (row.principal.kind == kKeyKind) item["public_key"] = row.secret;
  return item;
}

void list_principals(Api& api, const ExchangePtr& exchange, const std::string& kind) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({"text", "page_size", "page_token"}));
  if (is_denied(api, exchange)) return;
  const std::string text = exchange->parameters.text("text");
  std::vector<Json> items;
  for (const PrincipalRow& row : api.registry.rows()) {
    const bool is_wanted =
        row.principal.kind == kind && contains_text({{"name", row.principal.name}}, text, {"name"});
    if (is_wanted) items.push_back(principal_item(row));
  }
  send_items(exchange, std::move(items), "name");
}

void list_users(Api& api, const ExchangePtr& exchange) {
  list_principals(api, exchange, kUserKind);
}
void list_tokens(Api& api, const ExchangePtr& exchange) {
  list_principals(api, exchange, kTokenKind);
}
void list_keys(Api& api, const ExchangePtr& exchange) { list_principals(api, exchange, kKeyKind); }

// What is said of a principal that was stored.
Json item_of_put(Api& api, const ExchangePtr& exchange, const wire::PutPrincipal& put) {
  Json item{{"name", put.name},
            {"role", put.role},
            {"groups", put.groups},
            {"created_at", json_of_time(api.gateway.clock().wall_now())},
            {"created_by", exchange->principal.name},
            {"expires_at", json_of_time(WallTime{Duration{put.expires_us}})}};
  if (put.kind == kUserKind) item["language"] = put.language;
  if (put.kind == kKeyKind) item["public_key"] = put.secret;
  return item;
}

// `more`: fields that are shown once.
void store_principal(Api& api, const ExchangePtr& exchange, wire::PutPrincipal put, int status,
                     Json more) {
  Json item = item_of_put(api, exchange, put);
  ask(api, exchange, std::move(put),
      [exchange, status, item = std::move(item),
       more = std::move(more)](const Result<wire::Message>& answer) mutable {
        if (!answer.ok()) return exchange->fail(answer.error());
        item.update(more);
        exchange->send(item, status);
      });
}

// The fields that all kinds have.
Result<wire::PutPrincipal> read_principal(Body& body, std::string kind, WallTime now) {
  wire::PutPrincipal put{.kind = std::move(kind)};
  put.name = CARILLON_TRY(body.required_text("name"));
  CARILLON_TRY(check_principal_name(put.name));
  put.role = CARILLON_TRY(body.required_text("role"));
  CARILLON_TRY(parse_role(put.role));
  put.groups = CARILLON_TRY(body.texts("groups", kGroupPatternsMax));
  if (put.groups.empty() && put.role == to_string(Role::kAdmin)) put.groups = {"*"};
  CARILLON_TRY(check_group_patterns(put.groups));
  const std::string expires = CARILLON_TRY(body.text("expires"));
  if (!expires.empty()) {
    const auto lasts = parse_duration(expires);
    if (!lasts.ok()) return lasts.error().with_context("expires");
    put.expires_us = (now + lasts.value()).time_since_epoch().count();
  }
  return put;
}

Status check_password(const std::string& password) {
  if (password.size() >= kPasswordMin && password.size() <= kPasswordMax) return {};
  return Error{ErrorCode::kInvalidArgument, "password has " + std::to_string(password.size()) +
                                                " bytes, must be " + std::to_string(kPasswordMin) +
                                                " to " + std::to_string(kPasswordMax)};
}

// Stores a user with this password. Its hash takes a while.
void store_user(Api& api, const ExchangePtr& exchange, wire::PutPrincipal put, int status,
                const std::string& password) {
  const bool is_begun = api.gateway.run_aside([&api, exchange, put, status, password] {
    wire::PutPrincipal hashed = put;
    hashed.secret = hash_password(password);
    return [&api, exchange, hashed, status] {
      store_principal(api, exchange, hashed, status, Json::object());
    };
  });
  if (!is_begun)
    exchange->fail(Error{ErrorCode::kLimit, "too many passwords are being changed, try again"});
}

void add_user(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  if (is_denied(api, exchange)) return;
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  wire::PutPrincipal put =
      CARILLON_TRY_CALL(exchange, read_principal(body, kUserKind, api.gateway.clock().wall_now()));
  const std::string password = CARILLON_TRY_CALL(exchange, body.required_text("password"));
  CARILLON_TRY_CALL(exchange, check_password(password));
  put.language = CARILLON_TRY_CALL(exchange, body.text("language"));
  CARILLON_TRY_CALL(exchange, body.finish());
  if (api.registry.row(kUserKind, put.name))
    return exchange->fail(Error{ErrorCode::kConflict, "user '" + put.name + "' exists"});
  store_user(api, exchange, std::move(put), 201, password);
}

// Changes the fields that are given.
void change_user(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  if (is_denied(api, exchange)) return;
  const std::string& name = exchange->parts[0];
  const auto row = api.registry.row(kUserKind, name);
  if (!row) return exchange->fail(Error{ErrorCode::kNotFound, "there is no user '" + name + "'"});
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  wire::PutPrincipal put{.kind = kUserKind,
                         .name = name,
                         .expires_us = row->expires_at.time_since_epoch().count(),
                         .replaces = true};
  const std::string role = CARILLON_TRY_CALL(exchange, body.text("role"));
  if (!role.empty()) CARILLON_TRY_CALL(exchange, parse_role(role));
  put.role = role.empty() ? to_string(row->principal.role) : role;
  put.groups = CARILLON_TRY_CALL(exchange, body.texts("groups", kGroupPatternsMax));
  if (put.groups.empty()) put.groups = row->principal.groups;
  CARILLON_TRY_CALL(exchange, check_group_patterns(put.groups));
  const auto language = CARILLON_TRY_CALL(exchange, body.optional_text("language"));
  put.language = language.value_or(row->language);
  const std::string password = CARILLON_TRY_CALL(exchange, body.text("password"));
  CARILLON_TRY_CALL(exchange, body.finish());
  if (password.empty()) return store_principal(api, exchange, std::move(put), 200, Json::object());
  CARILLON_TRY_CALL(exchange, check_password(password));
  store_user(api, exchange, std::move(put), 200, password);
}

void add_token(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  if (is_denied(api, exchange)) return;
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  wire::PutPrincipal put =
      CARILLON_TRY_CALL(exchange, read_principal(body, kTokenKind, api.gateway.clock().wall_now()));
  CARILLON_TRY_CALL(exchange, body.finish());
  const std::string token = make_access_token();
  put.secret = sha256_hex(token);
  store_principal(api, exchange, std::move(put), 201, {{"token", token}});
}

void add_key(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  if (is_denied(api, exchange)) return;
  Body body = CARILLON_TRY_CALL(exchange, Body::of(*exchange));
  wire::PutPrincipal put =
      CARILLON_TRY_CALL(exchange, read_principal(body, kKeyKind, api.gateway.clock().wall_now()));
  put.secret = CARILLON_TRY_CALL(exchange, body.text("public_key"));
  CARILLON_TRY_CALL(exchange, body.finish());
  Json more = Json::object();
  if (put.secret.empty()) {
    const auto pair = CARILLON_TRY_CALL(exchange, api.facts.make_key_pair());
    put.secret = pair.public_key;
    more["secret_key"] = pair.secret_key;
  }
  store_principal(api, exchange, std::move(put), 201, std::move(more));
}

void remove_principal(Api& api, const ExchangePtr& exchange, const std::string& kind) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  if (is_denied(api, exchange)) return;
  const std::string& name = exchange->parts[0];
  if (!api.registry.row(kind, name))
    return exchange->fail(Error{ErrorCode::kNotFound, "there is no " + kind + " '" + name + "'"});
  ask(api, exchange, wire::RemovePrincipal{.kind = kind, .name = name},
      [exchange, kind, name](const Result<wire::Message>& answer) {
        if (!answer.ok()) return exchange->fail(answer.error());
        exchange->send({{"message", kind + " '" + name + "' removed"}});
      });
}

void remove_user(Api& api, const ExchangePtr& exchange) {
  remove_principal(api, exchange, kUserKind);
}
void remove_token(Api& api, const ExchangePtr& exchange) {
  remove_principal(api, exchange, kTokenKind);
}
void remove_key(Api& api, const ExchangePtr& exchange) {
  remove_principal(api, exchange, kKeyKind);
}

void list_audit(Api& api, const ExchangePtr& exchange) {
  const Parameters& parameters = exchange->parameters;
  CARILLON_TRY_CALL(
      exchange, parameters.allow_only({"group", "task_id", "by", "since", "until", "action", "kind",
                                       "text", "page_size", "page_token"}));
  const auto since = CARILLON_TRY_CALL(exchange, parameters.time("since"));
  const auto until = CARILLON_TRY_CALL(exchange, parameters.time("until"));
  wire::Query query{.what = "audit",
                    .group = parameters.text("group"),
                    .task_id = parameters.text("task_id"),
                    .since_us = since ? since->time_since_epoch().count() : 0,
                    .by = parameters.text("by")};
  const std::string text = parameters.text("text");
  const std::string action = parameters.text("action");
  const std::string kind = parameters.text("kind");
  RowList list{.queries = {std::move(query)}, .item = [](const wire::Row& row, int) {
                 Json item = item_of(row);
                 for (const char* name : {"before", "after"}) {
                   const Json value = Json::parse(text_in(row, name), nullptr, false);
                   item[name] = value.is_discarded() ? Json{} : value;
                 }
                 return item;
               }};
  if (!text.empty() || !action.empty() || !kind.empty() || until) {
    list.matches = [text, action, kind, until](const wire::Row& row, int) {
      const auto time = parse_time(text_in(row, "time"));
      return is_text(row, "action", action) && is_text(row, "kind", kind) &&
             (!until || !time.ok() || time.value() < *until) &&
             contains_text(row, text, {"by", "address", "action", "group", "task_id", "outcome"});
    };
  }
  send_page(api, exchange, std::move(list));
}

void whoami(Api&, const ExchangePtr& exchange) {
  const Principal& principal = exchange->principal;
  exchange->send({{"name", principal.name},
                  {"kind", principal.kind},
                  {"role", to_string(principal.role)},
                  {"groups", principal.groups}});
}

constexpr std::array kPrincipalRoutes{
    Route{"GET", "/users", list_users, Right::kAdminister},
    Route{"POST", "/users", add_user, Right::kAdminister},
    Route{"PATCH", "/users/{}", change_user, Right::kAdminister},
    Route{"DELETE", "/users/{}", remove_user, Right::kAdminister},
    Route{"GET", "/tokens", list_tokens, Right::kAdminister},
    Route{"POST", "/tokens", add_token, Right::kAdminister},
    Route{"DELETE", "/tokens/{}", remove_token, Right::kAdminister},
    Route{"GET", "/keys", list_keys, Right::kAdminister},
    Route{"POST", "/keys", add_key, Right::kAdminister},
    Route{"DELETE", "/keys/{}", remove_key, Right::kAdminister},
    Route{"GET", "/audit", list_audit, Right::kRead},
    Route{"GET", "/whoami", whoami, Right::kAny},
};

}  // namespace

std::span<const Route> principal_routes() { return kPrincipalRoutes; }

}  // namespace carillon::jobtracker::api
