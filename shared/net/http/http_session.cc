#include "shared/net/http/http_session.h"

#include <atomic>
#include <utility>

#include <boost/asio/dispatch.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include "shared/base/utf8.h"
#include "shared/net/http/own_name.h"

namespace carillon::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::uint32_t kHeaderBytesMax = 16 * 1024;

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

HttpResponse problem(int status, const std::string& text) {
  return {.status = status, .body = text + "\n"};
}

// Sends a message and keeps it alive until it was sent.
template <class Body, class Then>
void send_message(beast::tcp_stream& stream, http::response<Body>&& message, Then then) {
  auto kept = std::make_shared<http::response<Body>>(std::move(message));
  http::async_write(stream, *kept,
                    [kept, then](beast::error_code failure, std::size_t) { then(failure); });
}

template <class Body>
void fill_head(http::response<Body>& message, const HttpResponse& response, bool keep_alive) {
  message.result(static_cast<unsigned>(response.status));
  message.set(http::field::content_type, response.content_type);
  message.set("X-Content-Type-Options", "nosniff");
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(keep_alive);
}

}  // namespace

struct HttpResponder::State {
  State(std::shared_ptr<HttpServerParts> its_parts, std::shared_ptr<HttpSession> its_session)
      : parts(std::move(its_parts)), session(std::move(its_session)) {}
  ~State() { send(problem(503, "the server gave no answer")); }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void send(HttpResponse response) {
    if (is_sent.exchange(true)) return;
    // After the server has stopped, this is only destroyed, never run.
    boost::asio::dispatch(parts->io,
                          [session = std::move(session), response = std::move(response)]() mutable {
                            session->write(std::move(response), false);
                          });
  }

  const std::shared_ptr<HttpServerParts> parts;
  std::shared_ptr<HttpSession> session;
  std::atomic<bool> is_sent{false};
};

void HttpResponder::send(HttpResponse response) const { state_->send(std::move(response)); }

HttpSession::HttpSession(HttpServerParts& parts, boost::asio::ip::tcp::socket socket,
                         std::string peer)
    : parts_(parts), peer_(std::move(peer)), stream_(std::move(socket)) {
  ++parts_.connections;
  ++parts_.connections_of[peer_];
  beast::error_code ignored;  // Without it responses are slower, but correct.
  stream_.socket().set_option(boost::asio::ip::tcp::no_delay(true), ignored);
}

HttpSession::~HttpSession() {
  --parts_.connections;
  const auto own = parts_.connections_of.find(peer_);
  if (--own->second == 0) parts_.connections_of.erase(own);
}

void HttpSession::read() {
  parser_.emplace();
  parser_->header_limit(kHeaderBytesMax);
  parser_->body_limit(parts_.config.body_max);
  stream_.expires_after(parts_.config.patience);
  http::async_read(stream_, buffer_, *parser_,
                   [self = shared_from_this()](beast::error_code failure, std::size_t) {
                     self->on_read(failure);
                   });
}

void HttpSession::on_read(beast::error_code failure) {
  stream_.expires_never();
  if (!failure) return call();
  is_head_ = false;
  if (failure == http::error::body_limit) {
    const std::string limit = std::to_string(parts_.config.body_max);
    return refuse(413, "the body is too large, at most " + limit + " bytes");
  }
  if (failure == http::error::header_limit || failure == http::error::buffer_overflow) {
    return refuse(431, "the header is too large, at most 16384 bytes");
  }
  const bool is_malformed =
      failure.category() == make_error_code(http::error::bad_method).category();
  if (is_malformed && failure != http::error::end_of_stream &&
      failure != http::error::partial_message) {
    return refuse(400, "malformed request: " + failure.message());
  }
  if (failure == beast::error::timeout && parser_->got_some())
    parts_.refusals.add(peer_, "the request was not complete in time");
  close();
}

void HttpSession::refuse(int status, const std::string& why) {
  parts_.refusals.add(peer_, why);
  write(problem(status, why), true);
}

void HttpSession::call() {
  const auto& request = parser_->get();
  is_head_ = request.method() == http::verb::head;
  keeps_alive_ = request.keep_alive();

  beast::error_code failure;
  const auto own = stream_.socket().local_endpoint(failure);
  if (failure) return close();  // The client disconnected before the response.
  const std::string_view host = view(request[http::field::host]);
  const HttpServerConfig& config = parts_.config;
  const bool may_be_any =
      config.any_name || (config.any_name_for && config.any_name_for(view(request.target())));
  if (!may_be_any && !is_own_host(host, own.address().to_string(), config.names)) {
    return refuse(403, "this server does not have the name '" + std::string{host} +
                           "' (use its address, or localhost)");
  }
  const auto origin = request.find(http::field::origin);
  if (origin != request.end() && !is_own_origin(view(origin->value()), host)) {
    return refuse(403, "pages of other sites may not call this server");
  }

  HttpCall called{.method = is_head_ ? "GET" : std::string{view(request.method_string())},
                  .target = std::string{view(request.target())},
                  .body = std::move(parser_->get().body()),
                  .peer = peer_};
  for (const auto& field : request) {
    std::string& value = called.headers[lower_ascii(view(field.name_string()))];
    if (!value.empty()) value += ", ";
    value += view(field.value());
  }
  const auto state =
      std::make_shared<HttpResponder::State>(parts_.shared_from_this(), shared_from_this());
  parts_.handler(std::move(called), HttpResponder(state));
}

void HttpSession::write(HttpResponse response, bool is_last) {
  const bool keep_alive = keeps_alive_ && !is_last;
  stream_.expires_after(parts_.config.patience);
  const auto then = [self = shared_from_this(), keep_alive](beast::error_code failure) {
    if (failure || !keep_alive) return self->close();
    self->read();
  };
  if (is_head_) {
    http::response<http::empty_body> message;
    fill_head(message, response, keep_alive);
    message.content_length(response.body.size());
    return send_message(stream_, std::move(message), then);
  }
  http::response<http::string_body> message;
  fill_head(message, response, keep_alive);
  message.body() = std::move(response.body);
  message.prepare_payload();
  send_message(stream_, std::move(message), then);
}

void HttpSession::close() {
  beast::error_code ignored;  // The client may have closed it first.
  stream_.socket().shutdown(boost::asio::ip::tcp::socket::shutdown_send, ignored);
}

}  // namespace carillon::net
