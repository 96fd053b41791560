#include "jobtracker/api/cookie_key.h"

#include <utility>

#include "shared/base/crypto.h"
#include "shared/base/mutex.h"

namespace carillon::jobtracker {
namespace {

constexpr const char* kKeyName = "cookie";
constexpr std::chrono::seconds kPatience{5};
// Until the next look whether the principals were read, or whether the key of another job tracker
// was.
constexpr std::chrono::milliseconds kLookInterval{50};

}  // namespace

// The mutex is held briefly: the desk answers on another thread than the one that waits.
struct CookieKey::State {
  Mutex mutex;
  Condition changed;
  std::optional<std::string> stored CARILLON_GUARDED_BY(mutex){};  // by this job tracker
  bool is_asked CARILLON_GUARDED_BY(mutex) = false;
};

CookieKey::CookieKey(const AccessRegistry& registry, const PrincipalDesk& desk)
    : registry_(registry), desk_(desk), state_(std::make_shared<State>()) {}

std::optional<std::string> CookieKey::known() const {
  auto row = registry_.row(kSecretKind, kKeyName);
  const MutexLock lock(state_->mutex);
  if (!row) return state_->stored;
  // From now on the store's counts: an operator may remove it for a new one.
  state_->stored.reset();
  return std::move(row->secret);
}

void CookieKey::prepare() {
  if (!registry_.is_known() || known()) return;
  {
    const MutexLock lock(state_->mutex);
    if (std::exchange(state_->is_asked, true)) return;
  }
  const std::string key = sha256_hex(make_access_token());  // 256 random bits
  desk_.put_principal(
      {.kind = "tracker", .name = "console", .role = "admin", .groups = {"*"}},
      {.kind = kSecretKind, .name = kKeyName, .role = "viewer", .groups = {"*"}, .secret = key},
      [state = state_, key](const Status& status) {
        const MutexLock lock(state->mutex);
        // Another job tracker may have stored one at the same time.
        state->is_asked = false;
        if (status.ok()) state->stored = key;
        state->changed.notify_all();
      });
}

Result<std::string> CookieKey::wait() {
  bool has_asked = false;
  for (int look = 0; look < kPatience / kLookInterval; ++look) {
    if (auto key = known()) return *std::move(key);
    // Once: if another job tracker has stored one at the same time, it will be read soon.
    if (registry_.is_known() && !std::exchange(has_asked, true)) prepare();
    MutexLock lock(state_->mutex);
    if (!state_->stored) (void)state_->changed.wait_for(lock, kLookInterval);
  }
  return Error{ErrorCode::kUnavailable, "the job tracker is starting, try again"};
}

}  // namespace carillon::jobtracker
