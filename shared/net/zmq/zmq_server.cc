#include <cerrno>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shared/base/assert.h"
#include "shared/base/log.h"
#include "shared/net/endpoint.h"
#include "shared/net/zmq/authenticator.h"
#include "shared/net/zmq/connection_guard.h"
#include "shared/net/zmq/curve_keys.h"
#include "shared/net/zmq/socket_options.h"
#include "shared/net/zmq/socket_watch.h"
#include "shared/net/zmq/token_file.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/wire/messages.h"

namespace carillon::net {
namespace {

// Limits a turn, so that a flood leaves time for timers and answers of the store.
constexpr int kRequestsPerTurnMax = 256;
constexpr std::size_t kBytesPerTurnMax = 1024 * 1024;  // exceeded by at most one frame
constexpr std::string_view kStoredKey = "key:";
constexpr std::string_view kFileKey = "file:";
constexpr int kServerLingerMs = 300;  // for the last answers, in the destructor

// The access control of a server.
struct Entrance {
  std::string secret{};          // the server's key; empty: everyone may connect
  std::string own{};             // its public key
  std::optional<Token> token{};  // for the clients; otherwise they need keys
  std::string token_client{};    // the public key of who has the token
};

Result<Entrance> make_token_entrance() {
  const KeyPair server = CARILLON_TRY(make_key_pair());
  const KeyPair client = CARILLON_TRY(make_key_pair());
  return Entrance{.secret = server.secret,
                  .own = server.own,
                  .token = Token{.server = server.own, .client_secret = client.secret},
                  .token_client = client.own};
}

Result<Entrance> make_entrance(const Endpoint& endpoint, const Access& access) {
  if (!access.keys.empty() && access.insecure) {
    return Error{ErrorCode::kInvalidArgument,
                 "--keys and --insecure contradict each other (give one)"};
  }
  if (!access.keys.empty()) {
    const ServerKeys keys = CARILLON_TRY(read_server_keys(access.keys));
    std::string own = CARILLON_TRY(public_key_of(keys.secret));
    return Entrance{.secret = keys.secret, .own = std::move(own)};
  }
  if (access.insecure) return Entrance{};
  if (!endpoint.is_loopback()) {
    return Error{
        ErrorCode::kInvalidArgument,
        "cannot listen on " + endpoint.text() +
            " without access control: programs on other machines could run commands (pass --keys "
            "DIR, created by jobclient keys new DIR; or --insecure; or listen on 127.0.0.1)"};
  }
  return make_token_entrance();
}

std::string user_of_process() {
  const passwd* const user = ::getpwuid(::geteuid());  // NOLINT(concurrency-mt-unsafe): at start
  return user == nullptr ? std::to_string(::geteuid()) : std::string{user->pw_name};
}

// Address and port of the other end of a connection, as bytes; empty: it is closed.
using PeerAddress = std::string;
PeerAddress peer_address(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): as getpeername() wants it
  if (::getpeername(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return {};
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): bytes
  return {reinterpret_cast<const char*>(&address), size};
}

// A property of the connection that a message came from; empty: it has none.
std::string metadata_of(zmq::message_t& message, const char* name) {
  const char* const value = zmq_msg_gets(message.handle(), name);
  return value == nullptr ? std::string{} : std::string{value};
}

class ZmqServer final : public ServerTransport {
 public:
  ZmqServer(EventLoop& loop, const Endpoint& endpoint, const Access& access, Entrance entrance,
            StoredKey stored_key);
  ~ZmqServer() override;
  ZmqServer(const ZmqServer&) = delete;
  ZmqServer& operator=(const ZmqServer&) = delete;

  // Throws zmq::error_t. Call once.
  Status listen(const Endpoint& endpoint);
  // Writes or deletes the token file of the port.
  Status settle_token(const Environment& environment);

  void set_receiver(ServerReceiver* receiver) override { receiver_ = receiver; }
  Status send(const Peer& peer, std::string frame) override;
  std::string endpoint() const override { return endpoint_.text(); }
  void end_connections(const std::string& principal) override;
  void end_outdated_connections() override;

 private:
  // A connection of a stored key.
  struct Connection {
    Peer peer{};
    std::string principal{};
    PeerAddress address{};
  };

  Result<std::optional<std::string>> principal_of(const std::string& key) const;
  void note_connection(const Sender& sender, int descriptor);
  void end_connections_if(const std::function<bool(const std::string&)>& is_to_end);
  bool read_frames();
  // Reads one frame and returns its size; none: no frame waits.
  std::optional<std::size_t> read_frame();

  const Logger log_{"transport"};
  const std::string keys_folder_;
  const std::string user_ = user_of_process();  // the token file can be read by this user only
  const Entrance entrance_;
  const StoredKey stored_key_;
  std::map<int, Connection> connections_;  // by descriptor
  std::set<std::string> refused_files_;    // principals whose files have gone
  ServerReceiver* receiver_ = nullptr;
  std::string token_path_;  // of a file that was written
  zmq::context_t context_;
  std::optional<Authenticator> authenticator_;
  EventLoop& loop_;
  zmq::socket_t socket_;
  std::unique_ptr<ConnectionGuard> guard_;
  Endpoint endpoint_;
  std::optional<SocketWatch> watch_;
};

ZmqServer::ZmqServer(EventLoop& loop, const Endpoint& endpoint, const Access& access,
                     Entrance entrance, StoredKey stored_key)
    : keys_folder_(access.keys),
      entrance_(std::move(entrance)),
      stored_key_(std::move(stored_key)),
      loop_(loop),
      socket_(context_, zmq::socket_type::router) {
  set_common_options(socket_, endpoint);
  socket_.set(zmq::sockopt::router_mandatory, true);
  if (!entrance_.secret.empty()) {
    authenticator_.emplace(loop, context_, [this](const auto& key) { return principal_of(key); });
    socket_.set(zmq::sockopt::zap_domain, "carillon");
    socket_.set(zmq::sockopt::curve_server, true);
    socket_.set(zmq::sockopt::curve_secretkey, entrance_.secret);
  }
}

Status ZmqServer::listen(const Endpoint& endpoint) {
  guard_ =
      CARILLON_TRY(ConnectionGuard::start(context_, socket_,
                                          {.connections_max = ConnectionGuard::most_connections(),
                                           .is_curve = !entrance_.secret.empty()}));
  // ZeroMQ binds to addresses and interfaces, and treats * as an interface.
  Endpoint bound = endpoint;
  if (bound.host == "localhost") bound.host = "127.0.0.1";
  const std::string port = endpoint.port == 0 ? "*" : std::to_string(endpoint.port);
  const std::string host = bound.is_ipv6() ? "[" + bound.host + "]" : bound.host;
  socket_.bind("tcp://" + host + ":" + port);
  auto taken = parse_endpoint(socket_.get(zmq::sockopt::last_endpoint));
  CARILLON_ASSERT(taken.ok(), "ZeroMQ reports its address");
  endpoint_ = std::move(taken).value();
  watch_.emplace(loop_, socket_, [this] { return read_frames(); });
  return {};
}

ZmqServer::~ZmqServer() {
  watch_.reset();
  guard_.reset();
  socket_.set(zmq::sockopt::linger, kServerLingerMs);
  if (!token_path_.empty()) remove_token(token_path_, *entrance_.token);
}

Status ZmqServer::settle_token(const Environment& environment) {
  if (!endpoint_.is_loopback()) return {};
  const std::string path = token_path(environment, endpoint_.port);
  if (entrance_.token) {
    CARILLON_TRY(write_token(path, *entrance_.token));
    token_path_ = path;
    return {};
  }
  // A token file of a killed job tracker would mislead clients.
  const auto stale = read_token(path);
  if (stale.ok()) remove_token(path, stale.value());
  return {};
}

Result<std::optional<std::string>> ZmqServer::principal_of(const std::string& key) const {
  if (entrance_.token) {
    if (key != entrance_.token_client) return std::optional<std::string>{};
    return std::optional{"local:" + user_};
  }
  if (key == entrance_.own) return std::optional<std::string>{"tracker:"};
  const auto allowed = read_allowed_clients(keys_folder_);
  const auto found = allowed.find(key);
  if (found != allowed.end()) return std::optional{std::string{kFileKey} + key + found->second};
  const bool is_stored = stored_key_ && CARILLON_TRY(stored_key_(key));
  return is_stored ? std::optional{std::string{kStoredKey} + key} : std::nullopt;
}

// ZeroMQ says which descriptor a message came from, but cannot end a connection.
void ZmqServer::note_connection(const Sender& sender, int descriptor) {
  const bool may_be_revoked =
      sender.principal.starts_with(kStoredKey) || sender.principal.starts_with(kFileKey);
  if (!may_be_revoked || descriptor < 0) return;
  Connection& connection = connections_[descriptor];
  if (connection.peer == sender.peer && connection.principal == sender.principal) return;
  connection = {
      .peer = sender.peer, .principal = sender.principal, .address = peer_address(descriptor)};
  // It may have waited since before its file was removed.
  if (sender.principal.starts_with(kFileKey)) end_outdated_connections();
}

void ZmqServer::end_connections(const std::string& principal) {
  end_connections_if([&](const std::string& one) { return one == principal; });
}

// Files of keys may have been removed or replaced.
void ZmqServer::end_outdated_connections() {
  if (keys_folder_.empty()) return;
  const auto allowed = read_allowed_clients(keys_folder_);
  end_connections_if([&](const std::string& one) {
    if (!one.starts_with(kFileKey)) return false;
    const std::string key = one.substr(kFileKey.size(), kCurveKeyCharacters);
    const bool is_refused = !allowed.contains(key);
    if (is_refused) refused_files_.insert(one);
    return is_refused;
  });
}

// A descriptor may have become another connection meanwhile: its peer's address tells.
void ZmqServer::end_connections_if(const std::function<bool(const std::string&)>& is_to_end) {
  std::erase_if(connections_, [&](const auto& one) {
    const auto& [descriptor, connection] = one;
    const PeerAddress now = peer_address(descriptor);
    const bool is_open = !now.empty() && now == connection.address;
    if (!is_open) return true;
    if (!is_to_end(connection.principal)) return false;
    ::shutdown(descriptor, SHUT_RDWR);
    return true;
  });
}

Status ZmqServer::send(const Peer& peer, std::string frame) {
  if (frame.size() > wire::kFrameBytesMax) {
    return Error{ErrorCode::kInvalidArgument,
                 "frame has " + std::to_string(frame.size()) + " bytes, at most " +
                     std::to_string(wire::kFrameBytesMax) + " are allowed"};
  }
  zmq::message_t to(peer);
  zmq::message_t body(frame);
  const bool sent = send_part(socket_, to, true) && send_part(socket_, body, false);
  const int reason = sent ? 0 : errno;
  watch_->touched();
  if (sent) return {};
  if (reason == EAGAIN) return Error{ErrorCode::kLimit, "the peer does not read its messages"};
  return Error{ErrorCode::kNotFound, "the peer has disconnected"};
}

bool ZmqServer::read_frames() {
  std::size_t bytes = 0;
  for (int i = 0; i < kRequestsPerTurnMax && bytes < kBytesPerTurnMax; ++i) {
    const std::optional<std::size_t> read = read_frame();
    if (!read) return false;
    bytes += *read;
  }
  return true;
}

std::optional<std::size_t> ZmqServer::read_frame() {
  zmq::message_t from;
  if (!receive_part(socket_, from)) return std::nullopt;
  zmq::message_t body;
  int parts = 1;
  for (bool more = from.more(); more; ++parts) {
    zmq::message_t& part = body;
    if (!receive_part(socket_, part)) break;
    more = part.more();
  }
  if (parts != 2) {
    log_.debug("message dropped", "parts", parts);
  } else if (receiver_ != nullptr) {
    const Sender sender{.peer = from.to_string(),
                        .principal = metadata_of(body, "User-Id"),
                        .address = metadata_of(body, "Peer-Address")};
    note_connection(sender, zmq_msg_get(body.handle(), ZMQ_SRCFD));
    if (!refused_files_.contains(sender.principal))
      receiver_->on_frame(sender, body.to_string_view());
  }
  return body.size();
}

}  // namespace

Result<std::unique_ptr<ServerTransport>> listen_zmq(EventLoop& loop, const Environment& environment,
                                                    const std::string& endpoint,
                                                    const Access& access, StoredKey stored_key) {
  const Endpoint wanted = CARILLON_TRY(parse_endpoint(endpoint));
  Entrance entrance = CARILLON_TRY(make_entrance(wanted, access));
  std::unique_ptr<ZmqServer> server;
  try {
    server = std::make_unique<ZmqServer>(loop, wanted, access, std::move(entrance),
                                         std::move(stored_key));
    CARILLON_TRY(server->listen(wanted));
  } catch (const zmq::error_t& failure) {
    return zmq_error("cannot listen on " + wanted.text(), failure);
  }
  CARILLON_TRY(server->settle_token(environment));
  return std::unique_ptr<ServerTransport>(std::move(server));
}

}  // namespace carillon::net
