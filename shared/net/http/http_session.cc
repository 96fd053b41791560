#include "shared/net/http/http_session.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <utility>
#include <vector>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/serializer.hpp>
#include <boost/beast/http/write.hpp>

#include "shared/base/utf8.h"
#include "shared/net/http/http_stream.h"
#include "shared/net/http/own_name.h"
#include "shared/net/http/proxy_headers.h"

namespace carillon::net {
namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;

constexpr std::uint32_t kHeadBytesMax = 16 * 1024;
constexpr std::ptrdiff_t kFieldsMax = 100;
constexpr std::size_t kHeadReadBytes = 4096;
// For bytes that the parser needs at once: a head, a chunk extension, the trailer.
constexpr std::size_t kBufferBytesMax = 16 * 1024;
// Memory of a head for each of its bytes, as fields of the parser and of the call.
constexpr std::size_t kBytesPerHeadByte = 4;
// A connection with less memory than this is served even if all others use up the limit.
constexpr std::size_t kFreeBytes = 8 * 1024;
constexpr Duration kKeptHeadPatience = std::chrono::seconds{1};
// How much and how long is received after the last response.
constexpr std::size_t kDropBytesMax = 16 * 1024 * 1024;
constexpr Duration kDropPatience = std::chrono::seconds{2};

std::string_view view(beast::string_view text) { return {text.data(), text.size()}; }

HttpResponse problem(int status, const std::string& text) {
  return {.status = status, .body = text + "\n"};
}

// Whether every server finds the same end of the body. One in front of this server that finds
// another end would pass on, as a part of a body, a request that it has not checked.
bool has_certain_end(const http::request<http::string_body>& request) {
  const auto codings = request.count(http::field::transfer_encoding);
  if (codings == 0) return true;
  return codings == 1 && lower_ascii(view(request[http::field::transfer_encoding])) == "chunked" &&
         request.count(http::field::content_length) == 0 && request.version() >= 11;
}

// Sends a message and keeps it alive until it was sent.
template <class Body, class Then>
void send_message(SessionStream& stream, http::response<Body>&& message, Then then) {
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

HttpStream HttpResponder::stream(HttpResponse head) const {
  const auto stream = std::make_shared<HttpStream::State>(state_->parts, state_->session);
  if (!state_->is_sent.exchange(true)) {
    // At once on the server's thread: what it posts itself may be overtaken by pieces of others.
    boost::asio::dispatch(state_->parts->io, [session = std::move(state_->session),
                                              head = std::move(head), stream]() mutable {
      session->begin_stream(std::move(head), std::move(stream));
    });
  }
  return HttpStream(std::make_shared<HttpStream::Handle>(stream));
}

HttpSession::HttpSession(HttpServerParts& parts, boost::asio::ip::tcp::socket socket,
                         std::string peer, Kind kind)
    : parts_(parts),
      peer_(std::move(peer)),
      kind_(kind),
      is_of_proxy_(parts.proxies.contains(peer_)),
      stream_(std::move(socket)),
      buffer_(kBufferBytesMax) {
  if (kind_ == Kind::kKept) {
    ++parts_.kept_connections;
  } else {
    ++parts_.connections;
    ++parts_.connections_of[peer_];
  }
  beast::error_code ignored;  // Without it responses are slower, but correct.
  stream_.socket().set_option(boost::asio::ip::tcp::no_delay(true), ignored);
}

HttpSession::~HttpSession() {
  hold(0);
  hold_answer(0);
  if (kind_ == Kind::kKept) {
    --parts_.kept_connections;
    return;
  }
  --parts_.connections;
  const auto own = parts_.connections_of.find(peer_);
  if (--own->second == 0) parts_.connections_of.erase(own);
}

void HttpSession::start() {
  prepare();
  const Duration patience = kind_ == Kind::kKept ? kKeptHeadPatience : parts_.config.head_patience;
  stream_.expires_after(patience);
  if (!parts_.tls) return receive();
  const SteadyTime deadline = parts_.clock.steady_now() + patience;
  stream_.async_wait_readable(
      [self = shared_from_this(), deadline](beast::error_code failure, std::size_t) {
        failure ? self->close() : self->wait_for_turn(deadline);
      });
}

void HttpSession::turn_away(int status, const std::string& why) {
  if (!parts_.tls) return refuse(status, why);
  parts_.refusals.add(peer_, why);
  close();
}

// Until few enough other handshakes are in progress.
void HttpSession::wait_for_turn(SteadyTime deadline) {
  if (kind_ == Kind::kKept) return shake_hands();
  const bool is_turn =
      parts_.handshakes.enter(peer_, [self = shared_from_this(), deadline](SteadyTime now) {
        now < deadline ? self->shake_hands() : self->close();
        return now < deadline;
      });
  if (is_turn) shake_hands();
}

void HttpSession::shake_hands() {
  stream_.async_handshake(*parts_.tls,
                          [self = shared_from_this()](beast::error_code failure, std::size_t) {
                            self->on_handshake(failure);
                          });
}

void HttpSession::on_handshake(beast::error_code failure) {
  if (kind_ == Kind::kNormal) parts_.handshakes.leave(peer_, parts_.clock.steady_now());
  if (!failure) {
    if (kind_ == Kind::kNormal) stream_.expires_after(parts_.config.head_patience);
    return receive();
  }
  if (failure == beast::error::timeout)
    parts_.refusals.add(peer_, "the TLS handshake was not complete in time");
  else if (!stream_.tls_error().empty())
    parts_.refusals.add(peer_, "the TLS handshake failed: " + stream_.tls_error());
  close();
}

void HttpSession::prepare() {
  parser_.emplace();
  parser_->header_limit(kHeadBytesMax);
  parser_->body_limit(parts_.config.body_max);
  call_ = {};
  head_bytes_ = 0;
  buffer_.shrink_to_fit();
  hold(buffer_.capacity());
  hold_answer(0);
}

void HttpSession::next_request() {
  prepare();
  const bool is_begun = buffer_.size() > 0;
  state_ = is_begun ? State::kHead : State::kIdle;
  stream_.expires_after(is_begun ? parts_.config.head_patience : parts_.config.patience);
  is_begun ? parse() : receive();
}

void HttpSession::receive() {
  const bool is_early = state_ == State::kIdle || state_ == State::kHead;
  const std::size_t wanted = is_early ? kHeadReadBytes : kBufferBytesMax;
  const std::size_t room = std::min(wanted, kBufferBytesMax - buffer_.size());
  if (room == 0) return on_malformed(http::error::buffer_overflow);
  stream_.async_read_some(buffer_.prepare(room), [self = shared_from_this()](
                                                     beast::error_code failure, std::size_t bytes) {
    self->on_received(failure, bytes);
  });
}

void HttpSession::on_received(beast::error_code failure, std::size_t bytes) {
  if (failure) return on_stopped(failure);
  if (state_ == State::kEnds) {
    if (bytes >= drop_bytes_) return close();
    drop_bytes_ -= bytes;
    return receive();
  }
  buffer_.commit(bytes);
  if (state_ == State::kIdle) {
    state_ = State::kHead;
    stream_.expires_after(parts_.config.head_patience);
  }
  parse();
}

// The client closed the connection, or is too slow.
void HttpSession::on_stopped(beast::error_code failure) {
  const bool is_in_request =
      state_ == State::kBody || (state_ == State::kHead && (head_bytes_ > 0 || buffer_.size() > 0));
  if (failure == beast::error::timeout && is_in_request)
    parts_.refusals.add(peer_, "the request was not complete in time");
  close();
}

void HttpSession::parse() {
  while (buffer_.size() > 0 && !parser_->is_done()) {
    beast::error_code failure;
    const std::size_t used = parser_->put(buffer_.data(), failure);
    buffer_.consume(used);
    if (state_ == State::kHead) {
      head_bytes_ += used;
      // Counted here too: the parser forgets the fields of earlier reads.
      if (head_bytes_ > kHeadBytesMax) failure = http::error::header_limit;
    }
    if (failure && failure != http::error::need_more) return on_malformed(failure);
    if (state_ == State::kHead && parser_->is_header_done()) {
      on_head();
      if (state_ != State::kBody) return;
    }
    if (failure == http::error::need_more) break;
  }
  // The parser leaves a last field, because the next line may continue it.
  if (state_ == State::kHead && head_bytes_ + buffer_.size() > kHeadBytesMax)
    return on_malformed(http::error::header_limit);
  if (!hold(buffer_.capacity() + kBytesPerHeadByte * head_bytes_ + parser_->get().body().size()))
    return refuse_for_bytes();
  if (parser_->is_done()) return call();
  receive();
}

void HttpSession::on_malformed(beast::error_code failure) {
  is_head_ = false;
  if (failure == http::error::body_limit) {
    const std::string limit = std::to_string(parts_.config.body_max);
    return refuse(413, "the body is too large, at most " + limit + " bytes");
  }
  const bool is_too_large =
      failure == http::error::header_limit || failure == http::error::buffer_overflow;
  if (is_too_large && state_ == State::kHead)
    return refuse(431, "the header is too large, at most 16384 bytes");
  if (is_too_large)
    return refuse(400, "a chunk extension or the trailer is too large, at most 16384 bytes");
  refuse(400, "malformed request: " + failure.message());
}

void HttpSession::refuse(int status, const std::string& why) {
  parts_.refusals.add(peer_, why);
  write(problem(status, why), true);
}

void HttpSession::refuse_for_bytes() {
  constexpr const char* kWhy = "too many requests at the same time, try again";
  parts_.refusals.add(peer_, kWhy);
  HttpResponse response = problem(503, kWhy);
  response.headers = {{"Retry-After", "1"}};
  write(std::move(response), true);
}

// Decides whether the body is read.
void HttpSession::on_head() {
  state_ = State::kBody;
  stream_.expires_after(parts_.config.patience);
  const auto& request = parser_->get();
  is_head_ = request.method() == http::verb::head;
  keeps_alive_ = request.keep_alive() && kind_ == Kind::kNormal;
  if (std::distance(request.begin(), request.end()) > kFieldsMax)
    return refuse(431, "the header has too many fields, at most 100");
  if (!has_certain_end(request))
    return refuse(400, "the end of the body is uncertain (give its length, or send it chunked)");

  beast::error_code failure;
  const auto own = stream_.socket().local_endpoint(failure);
  if (failure) {  // The client disconnected before the response.
    state_ = State::kAnswers;
    return close();
  }
  const std::string_view target = view(request.target());
  const HttpServerConfig& config = parts_.config;
  const std::vector<std::string>& kept = config.kept_paths;
  if (kind_ == Kind::kKept &&
      std::find(kept.begin(), kept.end(), target.substr(0, target.find('?'))) == kept.end())
    return refuse(503, kTooManyConnections);
  const std::string wrong = refusal_of_names(own.address().to_string());
  if (!wrong.empty()) return refuse(403, wrong);
  fill_call();
  if (!config.check_head) return;
  std::optional<HttpResponse> refusal = config.check_head(call_);
  if (refusal) write(std::move(*refusal), !parser_->is_done());
}

// A page of another site must not use this server: neither by its name, nor by a name of that site
// that was made to lead here. For the second, certificates and proxies check names.
std::string HttpSession::refusal_of_names(const std::string& own_address) const {
  const HttpServerConfig& config = parts_.config;
  const auto& request = parser_->get();
  const std::string_view host = view(request[http::field::host]);
  const bool may_be_any = is_of_proxy_ || config.any_name ||
                          (config.any_name_for && config.any_name_for(view(request.target())));
  if (!may_be_any && !is_own_host(host, own_address, config.names) &&
      !(parts_.tls && parts_.tls->names(host_of(host)))) {
    return "this server does not have the name '" + std::string{host} +
           "' (use its address, or localhost)";
  }
  const auto origin = request.find(http::field::origin);
  if (origin == request.end() || is_own_origin(view(origin->value()), host)) return {};
  if (is_of_proxy_ && is_own_origin(view(origin->value()), view(request["X-Forwarded-Host"])))
    return {};
  return "pages of other sites may not call this server";
}

void HttpSession::fill_call() {
  const auto& request = parser_->get();
  call_ = {.method = is_head_ ? "GET" : std::string{view(request.method_string())},
           .target = std::string{view(request.target())},
           .peer = peer_,
           .is_encrypted = parts_.tls != nullptr,
           .is_from_proxy = is_of_proxy_};
  for (const auto& field : request) {
    std::string& value = call_.headers[lower_ascii(view(field.name_string()))];
    if (!value.empty()) value += ", ";
    value += view(field.value());
  }
  if (!is_of_proxy_) return;
  const auto forwarded_for = call_.headers.find("x-forwarded-for");
  if (forwarded_for != call_.headers.end())
    call_.peer = client_address(peer_, forwarded_for->second, parts_.proxies);
  const auto forwarded_proto = call_.headers.find("x-forwarded-proto");
  if (forwarded_proto != call_.headers.end())
    call_.is_encrypted = was_encrypted(forwarded_proto->second);
}

void HttpSession::call() {
  state_ = State::kAnswers;
  stream_.expires_never();
  call_.body = std::move(parser_->get().body());
  if (parts_.config.on_answered) called_at_ = parts_.clock.steady_now();
  const auto state =
      std::make_shared<HttpResponder::State>(parts_.shared_from_this(), shared_from_this());
  parts_.handler(std::move(call_), HttpResponder(state));
}

void HttpSession::write(HttpResponse response, bool is_last) {
  state_ = State::kAnswers;
  hold(0);
  if (response.make_body) response.body = response.make_body();
  if (const auto since = std::exchange(called_at_, std::nullopt)) {
    parts_.config.on_answered(
        std::chrono::duration_cast<Duration>(parts_.clock.steady_now() - *since));
  }
  if (!hold_answer(response.body.size())) {
    response = problem(503, "too many answers at the same time, try again");
    response.headers = {{"Retry-After", "1"}};
    hold_answer(response.body.size());
  }
  const bool keep_alive = keeps_alive_ && !is_last;
  stream_.expires_after(parts_.config.patience);
  const auto then = [self = shared_from_this(), keep_alive](beast::error_code failure) {
    if (failure) return self->close();
    keep_alive ? self->next_request() : self->end();
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

void HttpSession::begin_stream(HttpResponse head, std::shared_ptr<HttpStream::State> stream) {
  state_ = State::kAnswers;
  hold(0);
  stream_state_ = std::move(stream);
  stream_.expires_after(parts_.config.patience);
  auto message = std::make_shared<http::response<http::empty_body>>();
  fill_head(*message, head, false);
  message->chunked(!is_head_);
  auto serializer = std::make_shared<http::response_serializer<http::empty_body>>(*message);
  is_writing_ = true;
  http::async_write_header(
      stream_, *serializer,
      [self = shared_from_this(), message, serializer](beast::error_code failure, std::size_t) {
        if (!failure) self->watch_reader();
        self->on_piece_written(failure);
      });
}

// Notices that the client closes the connection. What it sends meanwhile is dropped.
void HttpSession::watch_reader() {
  stream_.expires_never();
  buffer_.clear();
  stream_.async_read_some(buffer_.prepare(kHeadReadBytes),
                          [self = shared_from_this()](beast::error_code failure, std::size_t) {
                            if (!self->stream_state_) return self->after_stream(failure);
                            failure ? self->abort_stream() : self->watch_reader();
                          });
}

void HttpSession::write_piece(std::string piece) {
  if (!stream_state_ || !stream_state_->is_open) return;
  if (!hold_answer(held_answer_ + piece.size())) return abort_stream();
  pieces_.push_back(std::move(piece));
  if (!is_writing_) write_next_piece();
}

void HttpSession::write_next_piece() {
  is_writing_ = true;
  stream_.expires_after(parts_.config.patience);
  const auto then = [self = shared_from_this()](beast::error_code failure, std::size_t) {
    self->on_piece_written(failure);
  };
  if (is_head_) return boost::asio::post(parts_.io, [then] { then({}, 0); });
  boost::asio::async_write(stream_, http::make_chunk(boost::asio::buffer(pieces_.front())), then);
}

void HttpSession::on_piece_written(beast::error_code failure) {
  is_writing_ = false;
  if (!stream_state_) return;
  if (failure) return abort_stream();
  if (!pieces_.empty() && !is_first_write_) {
    stream_state_->waiting -= pieces_.front().size();
    hold_answer(held_answer_ - pieces_.front().size());
    pieces_.pop_front();
  }
  is_first_write_ = false;
  if (!pieces_.empty()) return write_next_piece();
  if (has_ended_stream_) end_stream();
}

void HttpSession::end_stream() {
  has_ended_stream_ = true;
  if (!stream_state_ || is_writing_) return;
  stream_state_->is_open = false;
  stream_state_.reset();
  // The read in watch_reader() has no time-out.
  const auto then = [self = shared_from_this()](beast::error_code, std::size_t) {
    self->close();
    beast::error_code ignored;  // Without a connection there is no read.
    self->stream_.socket().cancel(ignored);
  };
  if (is_head_) return then({}, 0);
  stream_.expires_after(parts_.config.patience);
  boost::asio::async_write(stream_, http::make_chunk_last(), then);
}

// The client closes the connection, or has a while for it.
void HttpSession::after_stream(beast::error_code failure) {
  if (failure == boost::asio::error::operation_aborted && stream_.socket().is_open()) drop_rest();
}

void HttpSession::abort_stream() {
  if (!stream_state_) return;
  stream_state_->is_open = false;
  stream_state_.reset();
  pieces_.clear();
  hold_answer(0);
  beast::error_code ignored;  // It is closed in any case.
  stream_.socket().close(ignored);
}

// Closes the connection. Bytes that were not read would reset it, and the client could not read
// the response.
void HttpSession::end() {
  close();
  if (!parser_ || parser_->is_done()) return;
  drop_rest();
}

// Receives for a while what nobody reads.
void HttpSession::drop_rest() {
  state_ = State::kEnds;
  drop_bytes_ = kDropBytesMax;
  parser_.reset();
  buffer_.clear();
  hold(buffer_.capacity());
  hold_answer(0);
  stream_.expires_after(kDropPatience);
  receive();
}

void HttpSession::close() { stream_.end_sending(); }

bool HttpSession::hold(std::size_t bytes) {
  parts_.bytes = parts_.bytes - held_ + bytes;
  held_ = bytes;
  return bytes <= kFreeBytes || parts_.bytes <= parts_.config.bytes_max;
}

bool HttpSession::hold_answer(std::size_t bytes) {
  parts_.answer_bytes = parts_.answer_bytes - held_answer_ + bytes;
  held_answer_ = bytes;
  return bytes <= kFreeBytes || parts_.answer_bytes <= parts_.config.bytes_max;
}

}  // namespace carillon::net
