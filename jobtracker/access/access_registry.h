#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/time.h"
#include "jobtracker/store/rows.h"
#include "shared/base/mutex.h"
#include "shared/base/principal.h"

namespace carillon::jobtracker {

// The principals of the store, in memory. Each job tracker reads them again every kPeriod, so a
// change counts everywhere soon after it is stored.
//
// Thread: any, unless a member says otherwise.
class AccessRegistry {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds{2};

  using Now = std::function<WallTime()>;
  explicit AccessRegistry(Now now) : now_(std::move(now)) {}

  // Whether put_all() was called.
  bool is_known() const;
  // None: it does not exist, or has expired.
  std::optional<Principal> find(const std::string& kind, const std::string& name) const;
  // The principal with this public CURVE key.
  std::optional<Principal> with_key(const std::string& public_key) const;
  // The principal with this API token.
  std::optional<Principal> with_token(const std::string& token) const;
  // The row with its secret; for the check of passwords.
  std::optional<PrincipalRow> row(const std::string& kind, const std::string& name) const;
  std::vector<PrincipalRow> rows() const;
  // Grows with each change of the principals.
  std::uint64_t version() const;

  // Replaces all. Returns the rows that were removed, or whose principal has other rights, another
  // secret or another end now: their connections must end. Thread: the loop.
  std::vector<PrincipalRow> put_all(std::vector<PrincipalRow> rows);
  // Those that have expired since the last call. Thread: the loop.
  std::vector<PrincipalRow> take_expired();

 private:
  using Key = std::pair<std::string, std::string>;  // kind and name
  struct Table {
    std::map<Key, PrincipalRow> rows{};
    std::map<std::string, Key> by_secret{};  // of keys and tokens
    std::uint64_t version = 0;
  };

  std::shared_ptr<const Table> table() const;
  std::optional<Principal> with_secret(const std::string& kind, const std::string& secret) const;
  bool is_expired(const PrincipalRow& row) const;

  const Now now_;
  WallTime expired_until_{};
  mutable Mutex mutex_;
  std::shared_ptr<const Table> table_ CARILLON_GUARDED_BY(mutex_);
};

}  // namespace carillon::jobtracker
