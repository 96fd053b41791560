#pragma once

#include <string>

namespace carillon::net {

// Access control of a connection. With no member set, on loopback, both ends prove by a token in a
// file that only this user can read that they are programs of this user; other addresses need keys,
// a token file, or `insecure`.
struct Access {
  std::string keys{};        // folder of CURVE keys, see make_keys()
  std::string token_file{};  // for a client: used instead of the file for the port
  bool insecure = false;     // every program that connects may do everything
  // For a client that is a job tracker itself: it uses server.key of `keys`, as all job trackers of
  // a cluster have the same.
  bool as_server = false;

  bool operator==(const Access&) const = default;
};

}  // namespace carillon::net
