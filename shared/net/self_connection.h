#pragma once

namespace carillon::net {

// Whether the socket is connected to itself. Where nobody listens at a port of this machine that is
// in the range of ports that the kernel gives to who connects, it may give just that one, and the
// connection is made (TCP's simultaneous open). It would keep the port from who is to listen there.
//
// Thread: any.
bool is_connected_to_itself(int fd);

// When it is closed, nothing is left of it: as it is, it would keep its port for another minute.
void end_at_once(int fd);

}  // namespace carillon::net
