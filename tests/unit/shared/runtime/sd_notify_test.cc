#include "shared/runtime/sd_notify.h"

#include <array>
#include <cstddef>
#include <cstring>
#include <string>

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace carillon {
namespace {

// The service manager's end, at an abstract address, so that no file is left behind.
class Manager {
 public:
  explicit Manager(const std::string& name) : fd_(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    EXPECT_EQ(::bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  ~Manager() { ::close(fd_); }
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  std::string receive() const {
    std::array<char, 256> buffer{};
    const auto got = ::recv(fd_, buffer.data(), buffer.size(), MSG_DONTWAIT);
    return got < 0 ? "nothing" : std::string(buffer.data(), static_cast<std::size_t>(got));
  }

 private:
  int fd_;
};

Environment with_socket(const std::string& path) { return Environment({{"NOTIFY_SOCKET", path}}); }

TEST(SdNotify, SendsTheStateToAnAbstractSocket) {
  const std::string name = "carillon-sd-notify-test-" + std::to_string(::getpid());
  const Manager manager(name);
  EXPECT_TRUE(sd_notify(with_socket("@" + name), "READY=1").ok());
  EXPECT_EQ(manager.receive(), "READY=1");
}

TEST(SdNotify, DoesNothingWithoutANotifySocket) {
  EXPECT_TRUE(sd_notify(Environment{}, "READY=1").ok());
}

TEST(SdNotify, RefusesAnInvalidSocketAddress) {
  const Status answer = sd_notify(with_socket("relative/path"), "READY=1");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().message,
            "NOTIFY_SOCKET is 'relative/path', must be an absolute path or start with @");
  EXPECT_FALSE(sd_notify(with_socket("/" + std::string(200, 'x')), "READY=1").ok());
}

TEST(SdNotify, ReportsASocketWithoutAListener) {
  const Status answer = sd_notify(with_socket("/nonexistent/notify"), "READY=1");
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code, ErrorCode::kUnavailable);
}

}  // namespace
}  // namespace carillon
