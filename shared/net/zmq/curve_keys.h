#pragma once

#include <set>
#include <string>

#include "carillon/result.h"

// CURVE keys in a folder, one key a file, 40 characters each:
//
//   server.key, server.pub    the job tracker's; its clients need server.pub
//   client.key, client.pub    a client's or worker's
//   clients/NAME.pub          the clients that the job tracker lets in, read at every handshake
//
// Secret keys must be readable by their user only.
//
// Thread: any.
namespace carillon::net {

struct ServerKeys {
  std::string secret{};
};

struct ClientKeys {
  std::string secret{};
  std::string own{};     // public
  std::string server{};  // public
};

// Makes the folder with new keys for a job tracker and one client that it lets in. kConflict: there
// are keys already; they are left alone.
Status make_keys(const std::string& folder);

Result<ServerKeys> read_server_keys(const std::string& folder);
Result<ClientKeys> read_client_keys(const std::string& folder);

// The public keys of clients/*.pub; files that hold none are passed over.
std::set<std::string> read_allowed_clients(const std::string& folder);

}  // namespace carillon::net
