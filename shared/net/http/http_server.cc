#include "shared/net/http/http_server.h"

#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include "shared/net/endpoint.h"
#include "shared/net/http/http_session.h"
#include "shared/net/http/tls_context.h"

namespace carillon::net {
namespace {

using boost::asio::ip::tcp;
using boost::system::error_code;

constexpr std::chrono::milliseconds kWaitForDescriptors{100};
constexpr std::size_t kKeptConnections = 64;
constexpr const char* kOnlyProxies =
    "only the proxies that --behind-proxy names may connect to this port";

void accept_next(HttpServerParts& parts);

// No descriptors are left: waits until connections have closed.
void accept_later(HttpServerParts& parts) {
  auto timer = std::make_shared<boost::asio::steady_timer>(parts.io, kWaitForDescriptors);
  timer->async_wait([&parts, timer](error_code failure) {
    if (!failure) accept_next(parts);
  });
}

void accept_next(HttpServerParts& parts) {
  parts.acceptor.async_accept([&parts](error_code failure, tcp::socket socket) {
    if (failure == boost::asio::error::operation_aborted) return;
    if (failure) return accept_later(parts);
    error_code gone;
    const std::string peer = socket.remote_endpoint(gone).address().to_string();
    const auto of_peer = parts.connections_of.find(peer);
    const bool is_full = parts.connections >= parts.config.connections_max ||
                         (of_peer != parts.connections_of.end() &&
                          of_peer->second >= parts.config.connections_per_peer);
    const bool is_kept =
        is_full && !parts.config.kept_paths.empty() && parts.kept_connections < kKeptConnections;
    const auto session = std::make_shared<HttpSession>(
        parts, std::move(socket), peer,
        is_kept ? HttpSession::Kind::kKept : HttpSession::Kind::kNormal);
    if (!parts.may_connect(peer))
      session->turn_away(403, kOnlyProxies);
    else if (is_full && !is_kept)
      session->turn_away(503, kTooManyConnections);
    else
      session->start();
    accept_next(parts);
  });
}

Result<std::shared_ptr<const TlsContext>> open_tls(const HttpAccess& access) {
  TlsContext context = CARILLON_TRY(TlsContext::open_server(access.certificate, access.key));
  return std::shared_ptr<const TlsContext>(std::make_shared<TlsContext>(std::move(context)));
}

Result<tcp::endpoint> resolve(const Endpoint& wanted) {
  const std::string host = wanted.host == "*"           ? "0.0.0.0"
                           : wanted.host == "localhost" ? "127.0.0.1"
                                                        : wanted.host;
  error_code failure;
  const auto address = boost::asio::ip::make_address(host, failure);
  if (failure) {
    return Error{ErrorCode::kInvalidArgument,
                 "cannot listen on http://" + wanted.host_port() + ": '" + wanted.host +
                     "' is not an address of this machine, like 127.0.0.1"};
  }
  return tcp::endpoint(address, wanted.port);
}

Status listen(tcp::acceptor& acceptor, const Endpoint& wanted, const std::string& option) {
  const tcp::endpoint endpoint = CARILLON_TRY(resolve(wanted));
  error_code failure;
  acceptor.open(endpoint.protocol(), failure);
  if (!failure) acceptor.set_option(tcp::acceptor::reuse_address(true), failure);
  if (!failure) acceptor.bind(endpoint, failure);
  if (!failure) acceptor.listen(boost::asio::socket_base::max_listen_connections, failure);
  if (!failure) return {};
  const bool is_used = failure == boost::asio::error::address_in_use;
  return Error{ErrorCode::kUnavailable,
               "cannot listen on http://" + wanted.host_port() + ": " +
                   (is_used ? "address in use (is another server running? choose another with " +
                                  option + ")"
                            : failure.message())};
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::open(const std::string& address,
                                                     HttpServerConfig config, Handler handler) {
  Endpoint endpoint = CARILLON_TRY(parse_host_port(address));
  auto parts = std::make_shared<HttpServerParts>(std::move(config), std::move(handler));
  const HttpAccess& access = parts->config.access;
  CARILLON_TRY(check_http_access(access));
  parts->proxies = CARILLON_TRY(Networks::parse(access.proxies));
  if (access.has_tls()) parts->tls = CARILLON_TRY(open_tls(access));
  CARILLON_TRY(listen(parts->acceptor, endpoint, parts->config.option));
  error_code failure;
  const tcp::endpoint taken = parts->acceptor.local_endpoint(failure);
  if (failure) return Error{ErrorCode::kUnavailable, failure.message()};
  endpoint.host = taken.address().to_string();
  endpoint.port = taken.port();
  const std::string scheme = parts->tls ? "https://" : "http://";
  accept_next(*parts);
  auto thread = CARILLON_TRY(Thread::start("http", [parts] { parts->io.run(); }));
  return std::unique_ptr<HttpServer>(
      new HttpServer(std::move(parts), scheme + endpoint.host_port(), std::move(thread)));
}

HttpServer::HttpServer(std::shared_ptr<HttpServerParts> parts, std::string url,
                       std::unique_ptr<Thread> thread)
    : parts_(std::move(parts)), url_(std::move(url)), thread_(std::move(thread)) {}

bool HttpServer::is_certified_for(const std::string& host) const {
  return parts_->tls && parts_->tls->names(host);
}

Status HttpServer::reload_certificate() {
  const HttpAccess& access = parts_->config.access;
  if (!access.has_tls()) return {};
  auto fresh = CARILLON_TRY(open_tls(access));
  boost::asio::post(parts_->io, [parts = parts_.get(), fresh = std::move(fresh)]() mutable {
    parts->tls = std::move(fresh);
  });
  return {};
}

HttpServer::~HttpServer() {
  parts_->io.stop();
  thread_->join();
}

}  // namespace carillon::net
