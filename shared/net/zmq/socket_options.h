#pragma once

#include <zmq.hpp>

#include "carillon/result.h"
#include "shared/net/endpoint.h"

namespace carillon::net {

// Options for both ends of a connection: limits for queues and frames, and detection of a dead peer
// within three seconds.
void set_common_options(zmq::socket_t& socket, const Endpoint& endpoint);

// The only place that converts an exception of the ZeroMQ library to an Error.
Error zmq_error(const std::string& what, const zmq::error_t& failure);

}  // namespace carillon::net
