#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "shared/base/mutex.h"
#include "shared/net/endpoint.h"
#include "shared/net/self_connection.h"
#include "shared/net/zmq/curve_keys.h"
#include "shared/net/zmq/socket_options.h"
#include "shared/net/zmq/socket_watch.h"
#include "shared/net/zmq/token_file.h"
#include "shared/net/zmq/zmq_transport.h"
#include "shared/net/zmq/zmtp_probe.h"
#include "shared/wire/messages.h"

namespace carillon::net {
namespace {

constexpr int kFramesPerTurnMax = 256;
constexpr int kConnectMs = 5000;
constexpr Duration kUnanswered = std::chrono::seconds{4};  // of the five seconds for a handshake
constexpr int kLingerMs = 500;  // to send the last messages, in the destructor
constexpr Duration kBackoffMin = std::chrono::milliseconds{100};
constexpr Duration kBackoffMax = std::chrono::seconds{2};
// ZeroMQ never reconnects itself here; the long interval only makes it report the attempt.
constexpr int kReconnectMs = 3'600'000;
constexpr int kEventsWatched =
    ZMQ_EVENT_CONNECTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH |
    ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL |
    ZMQ_EVENT_CONNECT_RETRIED | ZMQ_EVENT_DISCONNECTED;

constexpr int kSocketsMax = 16 * 1024;  // two per client

// All clients of a process share one context, and so its I/O thread: separate contexts would wake
// twice as many threads per message.
std::shared_ptr<zmq::context_t> shared_context() {
  static Mutex mutex;
  static std::weak_ptr<zmq::context_t> shared;
  const MutexLock lock(mutex);
  auto context = shared.lock();
  if (!context) {
    context = std::make_shared<zmq::context_t>();
    context->set(zmq::ctxopt::max_sockets, kSocketsMax);
    shared = context;
  }
  return context;
}

// Closing a monitor is slow, so each has its own address.
std::string next_monitor() {
  static std::atomic<std::uint64_t> last{0};
  return "inproc://monitor-" + std::to_string(++last);
}

// The access data of a client.
struct Pass {
  std::optional<ClientKeys> keys{};
  std::string keys_folder{};
  // Read for each connection, because a restarted job tracker has a new token.
  std::string token_path{};
  std::string service_token_path{};  // empty: token_path was given
};

// The keys of a job tracker that is the client of another one with the same keys.
Result<ClientKeys> keys_of_server(const std::string& folder) {
  ServerKeys server = CARILLON_TRY(read_server_keys(folder));
  const std::string own = CARILLON_TRY(public_key_of(server.secret));
  return ClientKeys{.secret = std::move(server.secret), .own = own, .server = own};
}

Result<Pass> make_pass(const Environment& environment, const Endpoint& endpoint,
                       const Access& access) {
  Pass pass;
  if (!access.keys.empty() && access.insecure) {
    return Error{ErrorCode::kInvalidArgument,
                 "--keys and --insecure contradict each other (give one)"};
  }
  if (!access.keys.empty()) {
    pass.keys_folder = access.keys;
    pass.keys = CARILLON_TRY(access.as_server ? keys_of_server(access.keys)
                                              : read_client_keys(access.keys));
  } else if (!access.token_file.empty()) {
    pass.token_path = access.token_file;
    (void)CARILLON_TRY(read_given_token(access.token_file));  // A wrong path is reported early.
  } else if (!access.insecure && endpoint.is_loopback()) {
    pass.token_path = token_path(environment, endpoint.port);
    pass.service_token_path = service_token_path(endpoint.port);
  } else if (!access.insecure) {
    return Error{ErrorCode::kInvalidArgument,
                 endpoint.text() + " is not on this machine (pass --keys DIR, or --insecure)"};
  }
  return pass;
}

// One socket per connection: when it breaks, its queue is dropped, and the next one uses the
// current token.
struct Connection {
  Connection(zmq::context_t& context, const Endpoint& endpoint)
      : socket(context, zmq::socket_type::dealer), monitor(context, zmq::socket_type::pair) {
    set_common_options(socket, endpoint);
    socket.set(zmq::sockopt::reconnect_ivl, kReconnectMs);
    socket.set(zmq::sockopt::connect_timeout, kConnectMs);
    monitor.set(zmq::sockopt::linger, 0);
  }
  ~Connection() {
    // Before the monitor is closed: otherwise ZeroMQ's thread would block forever on a message to
    // it.
    zmq_socket_monitor(socket.handle(), nullptr, 0);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  zmq::socket_t socket;
  zmq::socket_t monitor;
  std::optional<SocketWatch> socket_watch{};
  std::optional<SocketWatch> monitor_watch{};
  FoundToken token{};
  std::string token_problem{};
  std::optional<SteadyTime> connected_at{};
  std::string reason{};  // why it will break, if that is already known
  bool is_denied = false;
  bool is_doubtful = false;  // it is unknown whether a job tracker closed it
};

class ZmqClient final : public ClientTransport {
 public:
  ZmqClient(EventLoop& loop, const Clock& clock, Endpoint endpoint, Pass pass)
      : loop_(loop), clock_(clock), endpoint_(std::move(endpoint)), pass_(std::move(pass)) {
    connect();
  }
  ~ZmqClient() override;
  ZmqClient(const ZmqClient&) = delete;
  ZmqClient& operator=(const ZmqClient&) = delete;

  void set_receiver(ClientReceiver* receiver) override { receiver_ = receiver; }
  Status send(std::string frame) override;
  bool is_connected() const override { return is_connected_; }

 private:
  void connect();
  Status open_connection();
  Status show_pass(Connection& connection) const;
  void retry_after(Duration wait);
  bool read_frames();
  bool read_events();
  bool handle(std::uint16_t event, std::uint32_t value);
  bool was_unanswered() const;
  bool is_finding_out();
  void on_up();
  void on_down(std::string reason);
  Result<ClientKeys> keys_of_token(Connection& connection) const;
  Result<FoundToken> read_pass_token() const;
  bool has_token_changed() const;
  std::string denied_reason() const;
  std::string closed_reason() const;
  std::string mismatch_reason() const;
  std::string stranger_reason() const;

  EventLoop& loop_;
  const Clock& clock_;
  const Endpoint endpoint_;
  const Pass pass_;
  ClientReceiver* receiver_ = nullptr;
  const std::shared_ptr<zmq::context_t> context_ = shared_context();
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<ZmtpProbe> probe_;
  bool is_connected_ = false;
  Duration backoff_ = kBackoffMin;
  std::optional<TimerId> retry_;
  std::string last_reason_;  // last reported to the receiver
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

ZmqClient::~ZmqClient() {
  if (retry_) loop_.cancel(*retry_);
  if (connection_ && is_connected_) connection_->socket.set(zmq::sockopt::linger, kLingerMs);
}

void ZmqClient::connect() {
  retry_.reset();
  const Status opened = open_connection();
  if (opened.ok()) return;
  // No descriptors left: may be temporary.
  connection_.reset();
  loop_.post([this, alive = std::weak_ptr(alive_), reason = opened.error().message] {
    if (!alive.expired()) on_down(reason);
  });
}

Status ZmqClient::open_connection() {
  const std::string what = "cannot connect to " + endpoint_.text();
  try {
    connection_ = std::make_unique<Connection>(*context_, endpoint_);
    CARILLON_TRY(show_pass(*connection_));
    // Frames are read before the event that the connection broke, hence this order.
    connection_->socket_watch.emplace(loop_, connection_->socket, [this] { return read_frames(); });
    const std::string monitor = next_monitor();
    if (zmq_socket_monitor(connection_->socket.handle(), monitor.c_str(), kEventsWatched) != 0) {
      return zmq_error(what, zmq::error_t());
    }
    connection_->monitor.connect(monitor);
    connection_->monitor_watch.emplace(loop_, connection_->monitor,
                                       [this] { return read_events(); });
    connection_->socket.connect(endpoint_.text());
  } catch (const zmq::error_t& failure) {
    return zmq_error(what, failure);
  }
  return {};
}

Status ZmqClient::show_pass(Connection& connection) const {
  if (!pass_.keys && pass_.token_path.empty()) return {};
  const ClientKeys keys = pass_.keys ? *pass_.keys : CARILLON_TRY(keys_of_token(connection));
  connection.socket.set(zmq::sockopt::curve_secretkey, keys.secret);
  connection.socket.set(zmq::sockopt::curve_publickey, keys.own);
  connection.socket.set(zmq::sockopt::curve_serverkey, keys.server);
  return {};
}

Result<ClientKeys> ZmqClient::keys_of_token(Connection& connection) const {
  auto token = read_pass_token();
  if (!token.ok()) {
    connection.token_problem = token.error().message;
    // Perhaps no program listens: this becomes clear soon. No program has these keys, so whoever
    // listens is not taken for a job tracker.
    const KeyPair nobody = CARILLON_TRY(make_key_pair());
    return ClientKeys{.secret = nobody.secret, .own = nobody.own, .server = nobody.own};
  }
  connection.token = std::move(token).value();
  const Token& keys = connection.token.token;
  std::string own = CARILLON_TRY(public_key_of(keys.client_secret));
  return ClientKeys{.secret = keys.client_secret, .own = std::move(own), .server = keys.server};
}

Result<FoundToken> ZmqClient::read_pass_token() const {
  if (!pass_.service_token_path.empty()) {
    return find_token(pass_.token_path, pass_.service_token_path);
  }
  Token token = CARILLON_TRY(read_given_token(pass_.token_path));
  return FoundToken{pass_.token_path, std::move(token)};
}

Status ZmqClient::send(std::string frame) {
  if (frame.size() > wire::kFrameBytesMax) {
    return Error{ErrorCode::kInvalidArgument,
                 "frame has " + std::to_string(frame.size()) + " bytes, at most " +
                     std::to_string(wire::kFrameBytesMax) + " are allowed"};
  }
  if (!is_connected_) {
    return Error{ErrorCode::kUnavailable, "not connected to " + endpoint_.text()};
  }
  zmq::message_t body(frame);
  const bool sent = send_part(connection_->socket, body, false);
  const int reason = sent ? 0 : errno;
  connection_->socket_watch->touched();
  if (sent) return {};
  if (reason == EAGAIN)
    return Error{ErrorCode::kLimit, endpoint_.text() + " does not read its messages"};
  return Error{ErrorCode::kUnavailable,
               "cannot send to " + endpoint_.text() + ": " + zmq_strerror(reason)};
}

bool ZmqClient::read_frames() {
  for (int i = 0; i < kFramesPerTurnMax; ++i) {
    zmq::message_t frame;
    if (!receive_part(connection_->socket, frame)) return false;
    bool is_single = !frame.more();
    while (frame.more() && receive_part(connection_->socket, frame)) is_single = false;
    if (is_single && receiver_ != nullptr) receiver_->on_frame(frame.to_string_view());
  }
  return true;
}

bool ZmqClient::read_events() {
  while (true) {
    zmq::message_t head;
    zmq::message_t address;
    if (!receive_part(connection_->monitor, head)) return false;
    if (!receive_part(connection_->monitor, address)) return false;
    std::uint16_t event = 0;
    std::uint32_t value = 0;
    std::memcpy(&event, head.data(), sizeof event);
    std::memcpy(&value, head.data<char>() + sizeof event, sizeof value);
    if (!handle(event, value)) return false;
  }
}

// False: the connection and its objects are destroyed.
bool ZmqClient::handle(std::uint16_t event, std::uint32_t value) {
  switch (event) {
    case ZMQ_EVENT_CONNECTED:
      if (is_connected_to_itself(static_cast<int>(value))) {
        end_at_once(static_cast<int>(value));
        on_down(connection_->reason);
        return false;
      }
      connection_->connected_at = clock_.steady_now();
      return true;
    case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
      on_up();
      return true;
    case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
      connection_->is_denied = true;
      connection_->reason = denied_reason();
      return true;
    case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
      connection_->is_denied = value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH;
      connection_->reason = connection_->is_denied ? mismatch_reason() : stranger_reason();
      return true;
    case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
      if (was_unanswered()) {
        connection_->reason = "no answer from " + endpoint_.text() +
                              " (connected, but no answer: has the job tracker stalled, or does "
                              "the port belong to another program?)";
        return true;
      }
      // A job tracker with other access control may have closed it before its reason was read.
      connection_->is_denied = connection_->is_doubtful = true;
      connection_->reason = closed_reason();
      return true;
    case ZMQ_EVENT_CONNECT_RETRIED:
    case ZMQ_EVENT_DISCONNECTED:
      if (connection_->is_doubtful && is_finding_out()) return true;
      // ZeroMQ reports nothing else if a program answers in another protocol.
      if (connection_->connected_at && !is_connected_ && connection_->reason.empty())
        connection_->reason = stranger_reason();
      on_down(connection_->reason);
      return false;
    default:
      return true;
  }
}

// ZeroMQ reports the same for a rejected handshake, which is immediate, and for one without an
// answer, which times out.
bool ZmqClient::was_unanswered() const {
  return connection_->connected_at &&
         clock_.steady_now() >= *connection_->connected_at + kUnanswered;
}

// Starts a probe of the program at the address.
bool ZmqClient::is_finding_out() {
  if (probe_) return true;
  try {
    probe_ = std::make_unique<ZmtpProbe>(loop_, clock_, *context_, endpoint_, [this](bool speaks) {
      probe_.reset();
      on_down(speaks ? connection_->reason : stranger_reason());
    });
    return true;
  } catch (const zmq::error_t&) {
    return false;  // Then the likelier reason is reported.
  }
}

void ZmqClient::on_up() {
  is_connected_ = true;
  backoff_ = kBackoffMin;
  last_reason_.clear();
  connection_->socket_watch->touched();
  if (receiver_ != nullptr) receiver_->on_connected();
}

void ZmqClient::on_down(std::string reason) {
  const bool was_connected = is_connected_;
  if (was_connected) {
    while (read_frames()) {  // Frames that arrived before it broke count.
    }
  }
  is_connected_ = false;
  if (reason.empty()) {
    reason = was_connected
                 ? "connection to " + endpoint_.text() + " closed"
                 : "no connection to " + endpoint_.text() + " (is the job tracker running?)";
  }
  const bool has_new_token = has_token_changed();
  connection_.reset();
  if (has_new_token) return retry_after(kBackoffMin);
  retry_after(backoff_);
  backoff_ = std::min(2 * backoff_, kBackoffMax);
  if (!was_connected && reason == last_reason_) return;
  last_reason_ = reason;
  if (receiver_ != nullptr) receiver_->on_disconnected(reason);
}

// Whether access was denied only because the job tracker wrote its token slightly too late.
bool ZmqClient::has_token_changed() const {
  if (!connection_ || !connection_->is_denied || pass_.token_path.empty()) return false;
  const auto token = read_pass_token();
  return token.ok() && token.value().token != connection_->token.token;
}

void ZmqClient::retry_after(Duration wait) {
  retry_ = loop_.post_at(clock_.steady_now() + wait, [this] { connect(); });
}

std::string ZmqClient::denied_reason() const {
  if (pass_.keys) {
    return "access denied: the job tracker does not know the key " + pass_.keys_folder +
           "/client.pub, or it was revoked or has expired (an administrator makes keys with "
           "jobclient keys new NAME --role ROLE)";
  }
  return "access denied: the token in " + connection_->token.path + " is not the job tracker's";
}

// The program at the address does not have the expected key.
std::string ZmqClient::closed_reason() const {
  if (pass_.keys) {
    return "access denied: " + endpoint_.text() + " closed the connection (is " +
           pass_.keys_folder + "/server.pub this job tracker's key?)";
  }
  if (pass_.token_path.empty()) return mismatch_reason();
  if (!connection_->token_problem.empty()) {
    return "access denied: " + connection_->token_problem +
           " (run as the job tracker's user, or pass --token-file, or --keys DIR if it was started "
           "with keys)";
  }
  return "access denied: the program that listens at " + endpoint_.text() +
         " is not the job tracker that wrote the token in " + connection_->token.path +
         " (pass --keys DIR if it was started with keys, or --token-file if another user runs it)";
}

// The program at the address wants other access data.
std::string ZmqClient::mismatch_reason() const {
  if (pass_.keys) return "access denied: the job tracker does not accept keys (leave out --keys)";
  if (pass_.token_path.empty()) {
    return "access denied: the job tracker requires a token or keys (leave out --insecure)";
  }
  return "access denied: the job tracker does not prove who it is (pass --insecure if you started "
         "it with --insecure)";
}

std::string ZmqClient::stranger_reason() const {
  return "the program that listens at " + endpoint_.text() +
         " does not speak Carillon's protocol (is it the --http port, or another program's port? "
         "give the address of the job tracker's --listen)";
}

}  // namespace

Result<std::unique_ptr<ClientTransport>> connect_zmq(EventLoop& loop, const Clock& clock,
                                                     const Environment& environment,
                                                     const std::string& endpoint,
                                                     const Access& access) {
  Endpoint to = CARILLON_TRY(parse_endpoint(endpoint));
  if (to.port == 0 || to.host == "*") {
    return Error{ErrorCode::kInvalidArgument,
                 "cannot connect to " + endpoint + ", it is an address for listening only"};
  }
  Pass pass = CARILLON_TRY(make_pass(environment, to, access));
  try {
    return std::unique_ptr<ClientTransport>(
        std::make_unique<ZmqClient>(loop, clock, std::move(to), std::move(pass)));
  } catch (const zmq::error_t& failure) {
    return zmq_error("cannot connect to " + endpoint, failure);
  }
}

}  // namespace carillon::net
