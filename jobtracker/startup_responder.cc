#include "jobtracker/startup_responder.h"

#include <utility>

#include "shared/wire/codec.h"

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kKeptBytesMax = 64 * 1024 * 1024;

}  // namespace

StartupResponder::StartupResponder(net::ServerTransport& transport) : transport_(transport) {
  transport_.set_receiver(this);
}

StartupResponder::~StartupResponder() {
  if (has_passed_) return;
  transport_.set_receiver(nullptr);
  if (internal_ != nullptr) internal_->set_receiver(nullptr);
}

void StartupResponder::pass_to(net::ServerReceiver& receiver) {
  transport_.set_receiver(&receiver);
  if (internal_ != nullptr) internal_->set_receiver(&receiver);
  has_passed_ = true;
  is_keeping_ = false;
  for (const Kept& kept : std::exchange(kept_, {})) receiver.on_frame(kept.sender, kept.frame);
}

void StartupResponder::on_frame(const net::Sender& sender, std::string_view frame) {
  if (is_keeping_ && kept_bytes_ + frame.size() <= kKeptBytesMax) {
    kept_bytes_ += frame.size();
    kept_.push_back({sender, std::string{frame}});
    return;
  }
  const wire::Envelope answer{.correlation = wire::correlation_of(frame),
                              .message = wire::ErrorReply{Error{ErrorCode::kUnavailable, reason_}}};
  // A disconnected client asks again.
  net::ServerTransport& to = sender.is_internal ? *internal_ : transport_;
  (void)to.send(sender.peer, wire::encode(answer));
}

}  // namespace carillon::jobtracker
