#include "shared/net/self_connection.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

namespace carillon::net {
namespace {

TEST(SelfConnection, IsDetectedUnlikeAConnectionToAListener) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  const int alone = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  EXPECT_FALSE(is_connected_to_itself(alone));
  ASSERT_EQ(::bind(alone, name, size), 0);
  ASSERT_EQ(::getsockname(alone, name, &size), 0);
  ASSERT_EQ(::connect(alone, name, size), 0) << "nobody listens there";
  EXPECT_TRUE(is_connected_to_itself(alone));
  end_at_once(alone);
  ::close(alone);

  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, name, size), 0) << "its port is free";
  ASSERT_EQ(::listen(listener, 1), 0);
  ASSERT_EQ(::getsockname(listener, name, &size), 0);
  const int caller = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(caller, name, size), 0);
  EXPECT_FALSE(is_connected_to_itself(caller));
  ::close(caller);
  ::close(listener);
}

}  // namespace
}  // namespace carillon::net
