#pragma once

#include <memory>
#include <string>

#include "carillon/result.h"
#include "shared/base/clock.h"
#include "shared/base/environment.h"
#include "shared/net/access.h"
#include "shared/net/transport.h"
#include "shared/runtime/event_loop.h"

// The transport between the programs: ZeroMQ over TCP, DEALER to ROUTER, one part a message.
//
// Thread: the loop's, for all that is opened on it. The loop outlives the transport. A transport is
// not destroyed from within a call of its receiver.
namespace carillon::net {

// Listens at "tcp://HOST:PORT"; port 0 takes a free one, host * all addresses. On loopback writes
// the token file of the port and takes it away at the end; elsewhere keys are needed, or that
// access says insecure. The error says what to do.
Result<std::unique_ptr<ServerTransport>> listen_zmq(EventLoop& loop, const Environment& environment,
                                                    const std::string& endpoint,
                                                    const Access& access);

// Connects to "tcp://HOST:PORT", again after 100 ms to 2 s whenever it fails. Fails itself only
// where trying cannot help: a malformed address, unreadable keys, no access given for another
// machine.
Result<std::unique_ptr<ClientTransport>> connect_zmq(EventLoop& loop, const Clock& clock,
                                                     const Environment& environment,
                                                     const std::string& endpoint,
                                                     const Access& access);

}  // namespace carillon::net
