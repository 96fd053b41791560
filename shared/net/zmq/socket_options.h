#pragma once

#include <zmq.hpp>

#include "carillon/result.h"
#include "shared/net/endpoint.h"

namespace carillon::net {

// What the two ends of a connection have in common: bounded queues and frames, a dead peer noticed
// within three seconds.
void set_common_options(zmq::socket_t& socket, const Endpoint& endpoint);

// The one place where an exception of the ZeroMQ library becomes an Error.
Error zmq_error(const std::string& what, const zmq::error_t& failure);

}  // namespace carillon::net
