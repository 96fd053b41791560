#include "shared/net/zmq/authenticator.h"

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

namespace carillon::net {
namespace {

// The parts of a request before the credentials.
enum Part : std::size_t { kVersion = 0, kRequestId, kDomain, kAddress, kIdentity, kMechanism };
constexpr std::size_t kCredentials = 6;

// The public key of CURVE; empty for other mechanisms.
std::string key_of(const std::string& mechanism, const std::vector<zmq::message_t>& request) {
  if (mechanism == "CURVE" && request.size() == kCredentials + 1 &&
      request[kCredentials].size() == 32) {
    std::array<char, 41> text{};
    zmq_z85_encode(text.data(), request[kCredentials].data<std::uint8_t>(), 32);
    return text.data();
  }
  return {};
}

}  // namespace

Authenticator::Authenticator(EventLoop& loop, zmq::context_t& context, PrincipalOf principal_of)
    : principal_of_(std::move(principal_of)),
      socket_([&context] {
        zmq::socket_t socket(context, zmq::socket_type::rep);
        socket.set(zmq::sockopt::linger, 0);
        socket.bind("inproc://zeromq.zap.01");
        return socket;
      }()),
      watch_(loop, socket_, [this] { return answer_all(); }) {}

bool Authenticator::answer_all() {
  while (true) {
    std::vector<zmq::message_t> request;
    do {
      zmq::message_t part;
      if (!receive_part(socket_, part)) return false;
      request.push_back(std::move(part));
    } while (request.back().more());
    answer(request);
  }
}

void Authenticator::answer(const std::vector<zmq::message_t>& request) {
  std::string request_id;
  std::optional<std::string> principal;
  bool is_unknown_yet = false;
  if (request.size() > kCredentials) {
    request_id = request[kRequestId].to_string();
    const std::string mechanism = request[kMechanism].to_string();
    const std::string key = key_of(mechanism, request);
    if (!key.empty()) {
      auto found = principal_of_(key);
      is_unknown_yet = !found.ok();
      if (found.ok()) principal = std::move(found).value();
    }
    // Logs only some: a client that keeps trying must not fill the log.
    if (!principal && !is_unknown_yet && std::has_single_bit(++denied_)) {
      log_.warn("access denied", "address", request[kAddress].to_string(), "mechanism", mechanism,
                "denied_so_far", denied_);
    }
  }
  // The fifth part becomes the property User-Id of the connection's messages.
  const std::array<std::string, 6> reply{"1.0",
                                         request_id,
                                         principal        ? "200"
                                         : is_unknown_yet ? "300"
                                                          : "400",
                                         principal ? "OK" : "denied",
                                         principal.value_or(""),
                                         ""};
  for (std::size_t i = 0; i < reply.size(); ++i) {
    zmq::message_t part(reply[i]);
    // The requester may have disconnected; then no reply is needed.
    if (!send_part(socket_, part, i + 1 < reply.size())) break;
  }
}

}  // namespace carillon::net
