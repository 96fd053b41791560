#include "jobtracker/access/access_desk.h"

#include <algorithm>
#include <utility>

#include "jobtracker/access/rights.h"
#include "shared/base/joined.h"
#include "shared/base/time_text.h"
#include "shared/wire/codec.h"
#include "shared/wire/spec_json.h"

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kCallersMax = 4096;
constexpr std::size_t kKeySize = 40;  // of a CURVE key in Z85
constexpr std::size_t kSha256Characters = 64;
constexpr std::size_t kSecretMax = 200;
constexpr std::size_t kLanguageMax = 16;
constexpr Duration kOld = std::chrono::hours{1};  // after the end of a link or session
constexpr int kRemovedMax = 100;                  // in one look

Error wrong(std::string message) { return {ErrorCode::kInvalidArgument, std::move(message)}; }

// Principals that do everything.
Principal everything(std::string kind, std::string name) {
  return {.kind = std::move(kind), .name = std::move(name), .role = Role::kAdmin, .groups = {"*"}};
}

bool is_for_sign_in(const std::string& kind) {
  return kind == kLinkKind || kind == kSessionKind || kind == kSecretKind;
}

bool is_kind(const std::string& kind) {
  return kind == kKeyKind || kind == kTokenKind || kind == kUserKind || is_for_sign_in(kind);
}

bool is_hex(const std::string& text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

Status check_secret(const wire::PutPrincipal& message) {
  const std::string& secret = message.secret;
  if (secret.empty() && message.replaces) return {};
  if (message.kind == kKeyKind && secret.size() != kKeySize)
    return wrong("a public key has " + std::to_string(kKeySize) + " characters, not " +
                 std::to_string(secret.size()));
  const bool is_hash = message.kind == kTokenKind || message.kind == kLinkKind;
  if (is_hash && (secret.size() != kSha256Characters || !is_hex(secret)))
    return wrong("the secret of a " + message.kind + " must be its SHA-256 in hex");
  const bool is_password = secret.starts_with("$argon2id$") || secret == kNoPassword;
  if (message.kind == kUserKind && !is_password)
    return wrong("the secret of a user must be an Argon2id hash of the password");
  if (secret.empty() || secret.size() > kSecretMax)
    return wrong("the secret must have 1 to " + std::to_string(kSecretMax) + " bytes");
  return {};
}

Result<PrincipalRow> row_of(const wire::PutPrincipal& message) {
  if (!is_kind(message.kind))
    return wrong("'" + message.kind + "' is not a kind of principal (key, token or user)");
  CARILLON_TRY(check_principal_name(message.name));
  const bool keeps_rights = message.replaces && message.role.empty() && message.groups.empty();
  Role role = Role::kViewer;
  if (!keeps_rights) {
    role = CARILLON_TRY(parse_role(message.role));
    CARILLON_TRY(check_group_patterns(message.groups));
  }
  CARILLON_TRY(check_secret(message));
  if (message.language.size() > kLanguageMax)
    return wrong("language '" + message.language.substr(0, kLanguageMax) + "' is too long");
  if (message.expires_us < 0) return wrong("the end must not be before 1970");
  return PrincipalRow{.principal = {.kind = message.kind,
                                    .name = message.name,
                                    .role = role,
                                    .groups = message.groups},
                      .secret = message.secret,
                      .expires_at = WallTime{Duration{message.expires_us}},
                      .language = message.language};
}

std::string named(const std::string& kind, const std::string& name) {
  return kind + " '" + name + "'";
}

// As JSON for the audit, without its secret.
std::string audited(const PrincipalRow& row) {
  wire::Row shown{{"kind", row.principal.kind},
                  {"name", row.principal.name},
                  {"role", std::string{to_string(row.principal.role)}},
                  {"groups", joined(row.principal.groups, " ")}};
  if (row.expires_at != WallTime{}) shown.emplace_back("expires_at", format_time(row.expires_at));
  return wire::row_to_json(shown);
}

const Principal& anyone() {
  static const Principal kAnyone = everything("anyone", "anyone");
  return kAnyone;
}

const Principal& principal_of(const Asker& asker) {
  return asker.caller == nullptr ? anyone() : asker.caller->principal;
}

}  // namespace

AccessDesk::AccessDesk(Batcher& batcher, Questions& questions, Auditor& auditor,
                       ClientLink& clients, std::int64_t client, const SchedulingClock& clock)
    : batcher_(batcher),
      questions_(questions),
      auditor_(auditor),
      clients_(clients),
      client_(client),
      clock_(clock),
      own_([&clock] { return clock.now(); }) {}

void AccessDesk::refresh(std::function<void()> then) {
  questions_.ask(ListPrincipals{}, [this, then = std::move(then)](Result<ReadAnswer> answer) {
    // While the store is away, the last known principals count.
    if (answer.ok()) {
      remove_old(std::get<PrincipalsAnswer>(answer.value()).rows);
      auto& rows = std::get<PrincipalsAnswer>(answer.value()).rows;
      end_connections_of(registry_->put_all(std::move(rows)));
    }
    end_connections_of(registry_->take_expired());
    then();
  });
}

bool AccessDesk::is_old(const PrincipalRow& row) const {
  const std::string& kind = row.principal.kind;
  return (kind == kLinkKind || kind == kSessionKind) && row.expires_at != WallTime{} &&
         row.expires_at + kOld < clock_.now();
}

void AccessDesk::run_once(bool is_shared) {
  const auto rows = registry_->rows();
  const bool has_old =
      std::any_of(rows.begin(), rows.end(), [this](const auto& row) { return is_old(row); });
  if (is_shared || has_old) return refresh();
  end_connections_of(registry_->take_expired());
}

// Links and sessions of the console pile up otherwise.
void AccessDesk::remove_old(const std::vector<PrincipalRow>& rows) {
  int removed = 0;
  for (const PrincipalRow& row : rows) {
    if (!is_old(row) || ++removed > kRemovedMax) continue;
    batcher_.post(Urgency::kHousekeeping,
                  RemovePrincipal{.kind = row.principal.kind, .name = row.principal.name},
                  [](Operation&, const Outcome&, const Error*) {});
  }
}

void AccessDesk::end_connections_of(const std::vector<PrincipalRow>& rows) {
  for (const PrincipalRow& row : rows) {
    if (row.principal.kind == kKeyKind) revoked_(std::string{kKeyKind} + ":" + row.secret);
  }
}

Result<Principal> AccessDesk::principal_of(const std::string& sender) const {
  if (sender.empty()) return anyone();
  const auto colon = sender.find(':');
  const std::string kind = sender.substr(0, colon);
  const std::string name = colon == std::string::npos ? "" : sender.substr(colon + 1);
  // A key is named by itself: another one may have its name by now.
  if (kind == kFileKind) return everything(kKeyKind, name.substr(std::min(name.size(), kKeySize)));
  if (kind != kKeyKind) return everything(kind, name);
  const auto found = registry_->with_key(name);
  if (found) return *found;
  revoked_(sender);
  return Error{ErrorCode::kDenied, "this key was revoked or has expired"};
}

Result<std::shared_ptr<const Caller>> AccessDesk::caller_of(
    const std::string& sender, const std::string& address, bool is_internal,
    const std::optional<wire::OnBehalf>& on_behalf) {
  if (on_behalf) {
    const bool may_pass_on = is_internal || sender.empty() ||
                             sender.starts_with(std::string{kLocalKind} + ":") ||
                             sender.starts_with(std::string{kTrackerKind} + ":");
    if (!may_pass_on)
      return Error{ErrorCode::kDenied, "only job trackers may send requests on behalf of others"};
    const Role role = CARILLON_TRY(parse_role(on_behalf->role));
    return std::make_shared<const Caller>(Caller{.principal = {.kind = on_behalf->kind,
                                                               .name = on_behalf->name,
                                                               .role = role,
                                                               .groups = on_behalf->groups},
                                                 .address = on_behalf->address,
                                                 .on_behalf = on_behalf});
  }
  if (is_internal) return Error{ErrorCode::kDenied, "an internal request names its principal"};
  Known& known = callers_[{sender, address}];
  const std::uint64_t version = registry_->version();
  const bool may_expire = sender.starts_with(std::string{kKeyKind} + ":");
  if (known.caller != nullptr && known.version == version && !may_expire) return known.caller;
  Result<Principal> principal = principal_of(sender);
  if (!principal.ok()) {
    callers_.erase({sender, address});
    return principal.error();
  }
  if (known.caller == nullptr || known.caller->principal != principal.value())
    known.caller = std::make_shared<const Caller>(
        Caller{.principal = std::move(principal).value(), .address = address});
  known.version = version;
  auto caller = known.caller;
  if (callers_.size() > kCallersMax) callers_.clear();  // They are found again.
  return caller;
}

Status AccessDesk::check(const Asker& asker, const wire::Message& message) {
  if (asker.caller == nullptr) return {};
  const RequestRight* const needed = right_for(message);
  if (asker.origin == Asker::Origin::kInternal && needed != nullptr &&
      needed->right == Right::kWork)
    return Error{ErrorCode::kDenied, "task trackers use a connection of their own"};
  Status may = check_access(asker.caller->principal, message);
  if (may.ok()) return may;
  AuditedChange change;
  if (const auto* act = std::get_if<wire::Act>(&message)) {
    change = {.action = action_of(act->verb), .group = act->group, .task_id = act->task_id};
  } else if (const auto* submit = std::get_if<wire::Submit>(&message)) {
    change = audited_jobs(submit->jobs);
  } else if (const auto* put = std::get_if<wire::PutPrincipal>(&message)) {
    change = {.action = "put_" + put->kind};
  } else if (const auto* remove = std::get_if<wire::RemovePrincipal>(&message)) {
    change = {.action = "remove_" + remove->kind};
  }
  if (!change.action.empty()) auditor_.refused(asker, std::move(change), may.error());
  return may;
}

void AccessDesk::refuse(const Asker& asker, AuditedChange change, const Error& why) {
  auditor_.refused(asker, std::move(change), why);
  clients_.answer(asker, wire::ErrorReply{why});
}

void AccessDesk::put(const Asker& asker, wire::PutPrincipal message) {
  Result<PrincipalRow> made = row_of(message);
  AuditedChange change{.action = "put_" + (is_kind(message.kind) ? message.kind : "principal")};
  if (!made.ok()) return refuse(asker, std::move(change), made.error());
  if (const Status room = batcher_.check_room(); !room.ok())
    return clients_.answer(asker, wire::ErrorReply{room.error()});
  PrincipalRow& row = made.value();
  row.created_at = clock_.now();
  // A session that begins with a link of a stored key ends with the key.
  if (message.kind == kLinkKind)
    row.language = asker.sender.starts_with(std::string{kKeyKind} + ":") ? kKeyKind : "";
  row.created_by = ::carillon::jobtracker::principal_of(asker).name;
  if (const auto before = registry_->row(message.kind, message.name)) {
    change.before = audited(*before);
    if (!message.replaces && before->secret != row.secret)
      return refuse(asker, std::move(change), already_exists(message.kind, message.name));
  } else if (row.secret.empty() || row.principal.groups.empty()) {
    return refuse(asker, std::move(change),
                  {ErrorCode::kNotFound, "there is no " + named(message.kind, message.name)});
  }
  PutPrincipal put{.row = row, .replaces = message.replaces};
  const auto after = principal_after(put, registry_->row(message.kind, message.name));
  change.after = audited(after.value_or(row));
  post(asker, std::move(put), std::move(change), named(message.kind, message.name) + " stored",
       already_exists(message.kind, message.name));
}

// As a numbered request, so that the audit says whether the change was made.
void AccessDesk::post(const Asker& asker, Operation operation, AuditedChange change,
                      std::string done, Error otherwise) {
  if (!under_way_.insert(asker).second) return;  // The client sent it again.
  NumberedRequest number{
      .client = client_, .sequence = ++sequence_, .audit = auditor_.row(asker, std::move(change))};
  std::vector<Operation> operations;
  operations.push_back(std::move(operation));
  batcher_.post_request(
      Urgency::kRequest, std::move(number), std::move(operations),
      [this, asker, done = std::move(done), otherwise = std::move(otherwise)](
          const RequestOutcome& outcome, const Error* refused) {
        if (refused != nullptr) return answer(asker, wire::ErrorReply{*refused});
        if (outcome.outcomes.front().kind != OutcomeKind::kDone)
          return answer(asker, wire::ErrorReply{otherwise});
        refresh([this, asker, done] { answer(asker, wire::Acted{.message = done}); });
      },
      {});
}

void AccessDesk::answer(const Asker& asker, wire::Message message) {
  under_way_.erase(asker);
  clients_.answer(asker, std::move(message));
}

Error AccessDesk::already_exists(const std::string& kind, const std::string& name) {
  return {ErrorCode::kConflict,
          named(kind, name) + " exists (choose another name, or remove it first)"};
}

void AccessDesk::remove(const Asker& asker, const wire::RemovePrincipal& message) {
  AuditedChange change{.action = "remove_" + (is_kind(message.kind) ? message.kind : "principal")};
  if (!is_kind(message.kind))
    return refuse(asker, std::move(change),
                  wrong("'" + message.kind + "' is not a kind of principal (key, token or user)"));
  if (const Status room = batcher_.check_room(); !room.ok())
    return clients_.answer(asker, wire::ErrorReply{room.error()});
  if (const auto before = registry_->row(message.kind, message.name))
    change.before = audited(*before);
  else
    change.before = wire::row_to_json({{"kind", message.kind}, {"name", message.name}});
  const std::string what = named(message.kind, message.name);
  post(asker, RemovePrincipal{.kind = message.kind, .name = message.name}, std::move(change),
       what + " removed", {ErrorCode::kNotFound, "there is no " + what});
}

void AccessDesk::whoami(const Asker& asker) {
  const Principal& principal = ::carillon::jobtracker::principal_of(asker);
  wire::Rows reply;
  reply.rows.push_back({{"kind", principal.kind},
                        {"name", principal.name},
                        {"role", std::string{to_string(principal.role)}},
                        {"groups", joined(principal.groups, " ")},
                        {"address", asker.caller == nullptr ? "" : asker.caller->address},
                        {"console", console_}});
  clients_.answer(asker, std::move(reply));
}

void AccessDesk::list(const Asker& asker, const std::vector<std::string>& apps) {
  const auto time = [](WallTime at) {
    return at == WallTime{} ? wire::Field{} : wire::Field{format_time(at)};
  };
  wire::Rows reply;
  for (const PrincipalRow& row : registry_->rows()) {
    const Principal& principal = row.principal;
    if (is_for_sign_in(principal.kind)) continue;
    reply.rows.push_back({{"kind", principal.kind},
                          {"name", principal.name},
                          {"role", std::string{to_string(principal.role)}},
                          {"groups", joined(principal.groups, " ")},
                          {"created_at", time(row.created_at)},
                          {"created_by", row.created_by},
                          {"expires_at", time(row.expires_at)},
                          {"language", row.language},
                          {"public_key", principal.kind == kKeyKind ? row.secret : ""}});
  }
  for (const std::string& app : apps) {
    reply.rows.push_back({{"kind", std::string{kAppKind}},
                          {"name", app},
                          {"role", std::string{"executor"}},
                          {"groups", app},
                          {"created_at", wire::Field{}},
                          {"created_by", std::string{}},
                          {"expires_at", wire::Field{}},
                          {"language", std::string{}},
                          {"public_key", std::string{}}});
  }
  clients_.answer(asker, std::move(reply));
}

void leave_out_foreign_rows(const Principal& principal, wire::Rows& rows) {
  std::erase_if(rows.rows, [&](const wire::Row& row) {
    const auto group = std::find_if(row.begin(), row.end(),
                                    [](const auto& field) { return field.first == "group"; });
    if (group == row.end()) return false;
    const auto* name = std::get_if<std::string>(&group->second);
    return name == nullptr || !principal.covers(*name);
  });
}

}  // namespace carillon::jobtracker
