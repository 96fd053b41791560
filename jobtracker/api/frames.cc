#include <array>
#include <utility>
#include <variant>

#include "jobtracker/api/api.h"
#include "shared/net/http/frame_transport.h"
#include "shared/wire/codec.h"

// The requests of job clients over HTTP: a frame of the wire protocol in a body, for one.
namespace carillon::jobtracker::api {
namespace {

bool is_of_clients(const wire::Message& message) {
  return std::holds_alternative<wire::Submit>(message) ||
         std::holds_alternative<wire::Act>(message) ||
         std::holds_alternative<wire::Query>(message) ||
         std::holds_alternative<wire::FetchFeedback>(message) ||
         std::holds_alternative<wire::PutPrincipal>(message) ||
         std::holds_alternative<wire::RemovePrincipal>(message);
}

void send_frame(const ExchangePtr& exchange, std::uint64_t correlation, wire::Message message) {
  exchange->responder.send({.status = 200,
                            .content_type = std::string{net::kFrameType},
                            .body = wire::encode({correlation, std::move(message)}),
                            .headers = {{"Cache-Control", "no-store"}}});
}

void pass_frame(Api& api, const ExchangePtr& exchange) {
  CARILLON_TRY_CALL(exchange, exchange->parameters.allow_only({}));
  const std::string& frame = exchange->call.body;
  const std::uint64_t correlation = wire::correlation_of(frame);
  const auto refuse = [&](Error error) {
    send_frame(exchange, correlation, wire::ErrorReply{std::move(error)});
  };
  auto envelope = wire::decode(frame);
  if (!envelope.ok()) return refuse(envelope.error());
  if (envelope.value().on_behalf)
    return refuse({ErrorCode::kDenied, "only job trackers may pass on requests of others"});
  if (!is_of_clients(envelope.value().message))
    return refuse({ErrorCode::kDenied, "over HTTP only requests of job clients are answered"});
  ask(api, exchange, std::move(envelope.value().message),
      [exchange, correlation](Result<wire::Message> answer) {
        if (answer.ok()) return send_frame(exchange, correlation, std::move(answer).value());
        // Unknown outcome: the client sends it again, with the same number.
        if (answer.error().code == ErrorCode::kTimeout) return exchange->fail(answer.error());
        send_frame(exchange, correlation, wire::ErrorReply{answer.error()});
      });
}

constexpr std::array kFrameRoutes{
    Route{"POST", kFramesPath, pass_frame, Right::kAny},
};

}  // namespace

std::span<const Route> frame_routes() { return kFrameRoutes; }

}  // namespace carillon::jobtracker::api
