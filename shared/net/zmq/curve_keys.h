#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "carillon/result.h"

// CURVE keys in a folder, one key per file, 40 characters each:
//
//   server.key, server.pub    the job tracker's; its clients need server.pub
//   client.key, client.pub    a client's or worker's
//   clients/NAME.pub          the clients that the job tracker accepts, read at each handshake
//
// The folder must belong to this user or root, and no other user may write into it. Secret keys
// must be readable only by their user.
//
// Thread: any.
namespace carillon::net {

struct KeyPair {
  std::string secret{};
  std::string own{};  // public
};

// New and random.
Result<KeyPair> make_key_pair();

// Whether a text can be a key. kCurveKeyCharacters long.
inline constexpr std::size_t kCurveKeyCharacters = 40;
bool is_curve_key(const std::string& text);

// The public key of the pair with this secret key.
Result<std::string> public_key_of(const std::string& secret);

struct ServerKeys {
  std::string secret{};
};

struct ClientKeys {
  std::string secret{};
  std::string own{};     // public
  std::string server{};  // public
};

// Creates the folder with new keys for a job tracker and one accepted client. Error: kConflict if
// keys exist; they are not changed.
Status make_keys(const std::string& folder);

Result<ServerKeys> read_server_keys(const std::string& folder);
Result<ClientKeys> read_client_keys(const std::string& folder);

// Writes the three files for a client into a new or empty folder. Error: kConflict if it has keys.
Status write_client_keys(const std::string& folder, const ClientKeys& keys);
// Removes these files, and the folder if it is empty then.
void remove_client_keys(const std::string& folder);

// The public keys in clients/*.pub, with the names of the files without ".pub". Other files are
// skipped, and so are those that another user could have written.
std::map<std::string, std::string> read_allowed_clients(const std::string& folder);

}  // namespace carillon::net
