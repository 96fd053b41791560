#include "shared/net/http/refusal_log.h"

#include <utility>

namespace carillon::net {
namespace {

constexpr Duration kQuiet = std::chrono::seconds{10};
constexpr std::size_t kReasonBytesMax = 200;

}  // namespace

RefusalLog::RefusalLog(Logger log, const Clock& clock) : log_(std::move(log)), clock_(clock) {}

void RefusalLog::add(const std::string& peer, std::string_view reason) {
  const SteadyTime now = clock_.steady_now();
  if (now < quiet_until_) {
    ++unsaid_;
    return;
  }
  log_.warn("rejected a request", "peer", peer, "reason", reason.substr(0, kReasonBytesMax),
            "refused_before", std::exchange(unsaid_, 0));
  quiet_until_ = now + kQuiet;
}

}  // namespace carillon::net
