#include "tests/bench/api_client.h"

#include <string_view>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>

#include "shared/base/crypto.h"

namespace carillon::bench {
namespace {

namespace http = boost::beast::http;

constexpr std::string_view kScheme = "http://";
constexpr std::size_t kAnswerBytesMax = 64 * 1024 * 1024;

Error lost(const std::string& what, const boost::system::error_code& failure) {
  return Error{ErrorCode::kUnavailable, "HTTP: " + what + ": " + failure.message()};
}

}  // namespace

Result<std::string> make_api_token(JobClient& client) {
  const std::string token = make_access_token();
  CARILLON_TRY(client.put_principal({.kind = "token",
                                     .name = "bench",
                                     .role = "admin",
                                     .groups = {"*"},
                                     .secret = sha256_hex(token),
                                     .replaces = true}));
  return token;
}

struct ApiClient::Connection {
  Result<std::string> exchange(http::verb verb, const std::string& target, std::string body) {
    http::request<http::string_body> request{verb, target, 11};
    request.set(http::field::host, host);
    request.set(http::field::authorization, authorization);
    request.body() = std::move(body);
    if (verb == http::verb::post) request.set(http::field::content_type, "application/json");
    request.prepare_payload();
    boost::system::error_code failure;
    http::write(socket, request, failure);
    if (failure) return lost("the request was not sent", failure);
    http::response_parser<http::string_body> parser;
    parser.body_limit(kAnswerBytesMax);
    http::read(socket, buffer, parser, failure);
    if (failure) return lost("there is no answer", failure);
    auto response = parser.release();
    if (response.result_int() / 100 != 2) {
      return Error{ErrorCode::kCorrupt, target + " was answered " +
                                            std::to_string(response.result_int()) + ": " +
                                            response.body()};
    }
    if (!response.keep_alive()) {
      return Error{ErrorCode::kCorrupt, target + ": the connection is not kept"};
    }
    return std::move(response.body());
  }

  std::string host{};
  std::string authorization{};
  boost::asio::io_context io{1};
  boost::asio::ip::tcp::socket socket{io};
  boost::beast::flat_buffer buffer{};
};

ApiClient::ApiClient(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

ApiClient::~ApiClient() = default;

Result<std::unique_ptr<ApiClient>> ApiClient::open(const std::string& url,
                                                   const std::string& token) {
  const std::size_t colon = url.rfind(':');
  if (!url.starts_with(kScheme) || colon <= kScheme.size()) {
    return Error{ErrorCode::kInvalidArgument, "'" + url + "' is not http://HOST:PORT"};
  }
  auto connection = std::make_unique<Connection>();
  connection->host = url.substr(kScheme.size());
  connection->authorization = "Bearer " + token;
  boost::system::error_code failure;
  boost::asio::ip::tcp::resolver resolver{connection->io};
  const auto addresses = resolver.resolve(url.substr(kScheme.size(), colon - kScheme.size()),
                                          url.substr(colon + 1), failure);
  if (failure) return lost(url, failure);
  boost::asio::connect(connection->socket, addresses, failure);
  if (failure) return lost(url, failure);
  connection->socket.set_option(boost::asio::ip::tcp::no_delay(true), failure);
  return std::unique_ptr<ApiClient>{new ApiClient{std::move(connection)}};
}

Result<std::string> ApiClient::get(const std::string& target) {
  return connection_->exchange(http::verb::get, target, {});
}

Result<std::string> ApiClient::post(const std::string& target, std::string json) {
  return connection_->exchange(http::verb::post, target, std::move(json));
}

}  // namespace carillon::bench
