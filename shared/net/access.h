#pragma once

#include <string>

namespace carillon::net {

// How the two ends of a connection know that they may talk to each other. Nothing set: on loopback
// a token in a file that only this user can read, elsewhere nothing works.
struct Access {
  std::string keys{};        // folder of CURVE keys, see make_keys()
  std::string token_file{};  // a client's: instead of the file that belongs to the port
  bool insecure = false;     // whoever can connect may do everything

  bool operator==(const Access&) const = default;
};

}  // namespace carillon::net
