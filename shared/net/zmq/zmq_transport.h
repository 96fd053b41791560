#pragma once

#include <functional>
#include <memory>
#include <string>

#include "carillon/result.h"
#include "shared/base/clock.h"
#include "shared/base/environment.h"
#include "shared/net/access.h"
#include "shared/net/transport.h"
#include "shared/runtime/event_loop.h"

// The transport between the programs: ZeroMQ over TCP, DEALER to ROUTER, one part per message.
//
// Thread: the loop, for everything that is opened on it. The loop must outlive the transport. Do
// not destroy a transport within a call of its receiver.
namespace carillon::net {

// Whether a client's public key is kept outside the folder of keys. Error: it is not known yet.
using StoredKey = std::function<Result<bool>(const std::string& public_key)>;

// Listens at "tcp://HOST:PORT"; port 0: any free port; host *: all addresses. On loopback it writes
// the token file of the port and deletes it at the end. Other addresses need keys or
// access.insecure. The error names the remedy. With keys, a client's key is in the folder
// (principal "file:" with the key and then its name), is a `stored_key` ("key:" with the
// key), or is the server's own ("tracker:").
Result<std::unique_ptr<ServerTransport>> listen_zmq(EventLoop& loop, const Environment& environment,
                                                    const std::string& endpoint,
                                                    const Access& access,
                                                    StoredKey stored_key = {});

// Connects to "tcp://HOST:PORT", and reconnects 100 ms to 2 s after a failure. Errors only where a
// retry cannot help: a malformed address, unreadable keys, no access data for another machine.
Result<std::unique_ptr<ClientTransport>> connect_zmq(EventLoop& loop, const Clock& clock,
                                                     const Environment& environment,
                                                     const std::string& endpoint,
                                                     const Access& access);

}  // namespace carillon::net
