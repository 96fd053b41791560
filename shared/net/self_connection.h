#pragma once

namespace carillon::net {

// Whether the socket is connected to itself. If no program listens at a local port in the kernel's
// range of ephemeral ports, the kernel may choose the same port for the client, and the connection
// succeeds (TCP's simultaneous open). It would block the port for the server.
//
// Thread: any.
bool is_connected_to_itself(int fd);

// Makes close() release the port immediately; otherwise it would stay in use for another minute.
void end_at_once(int fd);

}  // namespace carillon::net
