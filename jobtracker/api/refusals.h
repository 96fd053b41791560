#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "jobtracker/api/api.h"

// Changes that the API refuses before the job tracker sees them. The job tracker records them as it
// records its own refusals, at a bounded rate.
//
// Thread: the gateway's, unless a function says otherwise.
namespace carillon::jobtracker::api {

// The message that a call leads to, as far as its path says. None: it is no change.
std::optional<wire::Message> change_of_route(const Router::Match& match);

// Has a message recorded that the principal may not send. One that it may send is not sent. Thread:
// any.
void record_refusal(Gateway& gateway, const Principal& principal, const std::string& address,
                    std::optional<wire::Message> change);

// True: the principal is no administrator of all node groups, and the call is answered.
bool is_denied(Api& api, const ExchangePtr& exchange);

}  // namespace carillon::jobtracker::api
