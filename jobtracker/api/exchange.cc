#include "jobtracker/api/exchange.h"

#include <nlohmann/json.hpp>

namespace carillon::jobtracker::api {

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

net::HttpCall head_of(const net::HttpCall& call) {
  return {.method = call.method,
          .target = call.target,
          .headers = call.headers,
          .peer = call.peer,
          .is_encrypted = call.is_encrypted,
          .is_from_proxy = call.is_from_proxy};
}

void Exchange::send(const nlohmann::ordered_json& body, int status) const {
  responder.send({.status = status,
                  .content_type = "application/json",
                  .body = text_of(body),
                  .headers = {{"Cache-Control", "no-store"}}});
}

std::string Exchange::header(const std::string& name) const {
  const auto found = call.headers.find(name);
  return found == call.headers.end() ? std::string{} : found->second;
}

}  // namespace carillon::jobtracker::api
