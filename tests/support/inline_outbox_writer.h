#pragma once

#include <optional>
#include <utility>

#include "shared/outbox/outbox.h"

namespace carillon {

// An outbox without a thread: what is started is done when it is taken.
// Thread: the test's.
class InlineOutboxWriter final : public outbox::OutboxWriter {
 public:
  explicit InlineOutboxWriter(outbox::Outbox& outbox) : outbox_(outbox) {}

  void start(outbox::Work work) override { work_ = std::move(work); }
  std::optional<outbox::WorkDone> take() override {
    if (!work_ || is_stalled) return std::nullopt;
    return outbox_.run(*std::exchange(work_, std::nullopt));
  }

  bool is_stalled = false;

 private:
  outbox::Outbox& outbox_;
  std::optional<outbox::Work> work_{};
};

}  // namespace carillon
