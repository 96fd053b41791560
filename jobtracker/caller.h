#pragma once

#include "jobtracker/state/client_link.h"
#include "shared/net/transport.h"

namespace carillon::jobtracker {

Caller caller_of(const net::Sender& sender);
// For a request that arrives again.
net::Sender sender_of(const Asker& asker);

}  // namespace carillon::jobtracker
