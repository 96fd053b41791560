#include "jobtracker/waiting_room.h"

#include "shared/wire/codec.h"

namespace carillon::jobtracker {

WaitingRoom::WaitingRoom(net::ServerTransport& transport) : transport_(transport) {
  transport_.set_receiver(this);
}

WaitingRoom::~WaitingRoom() { transport_.set_receiver(nullptr); }

void WaitingRoom::on_frame(const net::Peer& peer, std::string_view frame) {
  const wire::Envelope answer{.correlation = wire::correlation_of(frame),
                              .message = wire::ErrorReply{Error{ErrorCode::kUnavailable, reason_}}};
  // One who has gone asks again.
  (void)transport_.send(peer, wire::encode(answer));
}

}  // namespace carillon::jobtracker
