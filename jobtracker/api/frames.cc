#include <array>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "jobclient/submit/submit_parts.h"
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

// Whether it may be sent again: the gateway would number it each time anew.
bool is_repeatable(const wire::Message& message) {
  if (const auto* submit = std::get_if<wire::Submit>(&message))
    return submit->request.sequence != 0;
  if (const auto* act = std::get_if<wire::Act>(&message)) return act->request.sequence != 0;
  return true;
}

// Why some jobs of a submission have no answer, of those that several job trackers got parts of.
std::optional<std::string> unsettled(const wire::Message& answer) {
  const auto* submitted = std::get_if<wire::Submitted>(&answer);
  if (submitted == nullptr) return std::nullopt;
  for (const wire::SubmitAnswer& one : submitted->answers) {
    if (one.status == kUnansweredPart || one.status == kNotTakenPart) return one.reason;
  }
  return std::nullopt;
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
  if (!is_repeatable(envelope.value().message))
    return refuse({ErrorCode::kInvalidArgument, "the request needs a number (request.sequence)"});
  ask(api, exchange, std::move(envelope.value().message),
      [exchange, correlation](Result<wire::Message> answer) {
        // Unknown outcome: the client sends it again, with the same number.
        if (answer.ok()) {
          if (const auto why = unsettled(answer.value()))
            return exchange->fail(Error{ErrorCode::kTimeout, *why});
          return send_frame(exchange, correlation, std::move(answer).value());
        }
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
