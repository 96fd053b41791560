#include "jobtracker/access/access_registry.h"

#include "shared/base/crypto.h"

namespace carillon::jobtracker {

std::shared_ptr<const AccessRegistry::Table> AccessRegistry::table() const {
  const MutexLock lock(mutex_);
  return table_;
}

bool AccessRegistry::is_expired(const PrincipalRow& row) const {
  return row.expires_at != WallTime{} && row.expires_at <= now_();
}

bool AccessRegistry::is_known() const { return table() != nullptr; }

std::optional<PrincipalRow> AccessRegistry::row(const std::string& kind,
                                                const std::string& name) const {
  const auto now = table();
  if (now == nullptr) return std::nullopt;
  const auto found = now->rows.find({kind, name});
  if (found == now->rows.end() || is_expired(found->second)) return std::nullopt;
  return found->second;
}

std::optional<Principal> AccessRegistry::find(const std::string& kind,
                                              const std::string& name) const {
  const auto found = row(kind, name);
  return found ? std::optional{found->principal} : std::nullopt;
}

std::optional<Principal> AccessRegistry::with_secret(const std::string& kind,
                                                     const std::string& secret) const {
  const auto now = table();
  if (now == nullptr) return std::nullopt;
  const auto found = now->by_secret.find(secret);
  if (found == now->by_secret.end() || found->second.first != kind) return std::nullopt;
  const PrincipalRow& row = now->rows.at(found->second);
  return is_expired(row) ? std::nullopt : std::optional{row.principal};
}

std::optional<Principal> AccessRegistry::with_key(const std::string& public_key) const {
  return with_secret(kKeyKind, public_key);
}

std::optional<Principal> AccessRegistry::with_token(const std::string& token) const {
  return with_secret(kTokenKind, sha256_hex(token));
}

std::vector<PrincipalRow> AccessRegistry::rows() const {
  const auto now = table();
  std::vector<PrincipalRow> rows;
  if (now == nullptr) return rows;
  for (const auto& [key, row] : now->rows) rows.push_back(row);
  return rows;
}

std::uint64_t AccessRegistry::version() const {
  const auto now = table();
  return now == nullptr ? 0 : now->version;
}

std::vector<PrincipalRow> AccessRegistry::put_all(std::vector<PrincipalRow> rows) {
  const auto before = table();
  auto next = std::make_shared<Table>();
  for (PrincipalRow& row : rows) {
    Key key{row.principal.kind, row.principal.name};
    const bool connects = row.principal.kind == kKeyKind || row.principal.kind == kTokenKind;
    if (connects) next->by_secret[row.secret] = key;
    next->rows.emplace(std::move(key), std::move(row));
  }
  std::vector<PrincipalRow> lost;
  if (before != nullptr) {
    next->version = before->version;
    if (before->rows == next->rows) return {};
    for (const auto& [key, row] : before->rows) {
      const auto found = next->rows.find(key);
      const bool is_same = found != next->rows.end() && found->second.principal == row.principal &&
                           found->second.secret == row.secret &&
                           found->second.expires_at == row.expires_at;
      if (!is_same) lost.push_back(row);
    }
  }
  ++next->version;
  const MutexLock lock(mutex_);
  table_ = std::move(next);
  return lost;
}

std::vector<PrincipalRow> AccessRegistry::take_expired() {
  const WallTime now = now_();
  std::vector<PrincipalRow> expired;
  for (const PrincipalRow& row : rows()) {
    if (row.expires_at != WallTime{} && row.expires_at > expired_until_ && row.expires_at <= now)
      expired.push_back(row);
  }
  expired_until_ = now;
  return expired;
}

}  // namespace carillon::jobtracker
