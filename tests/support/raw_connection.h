#pragma once

#include <string>
#include <string_view>

namespace carillon::testing {

// A connection to a server on this machine that is written by hand.
// Thread: one.
class RawConnection {
 public:
  // `url`: "http://ANYTHING:PORT". `from`: the loopback address to connect from.
  explicit RawConnection(const std::string& url, const char* from = "127.0.0.1");
  ~RawConnection();
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  int fd() const { return fd_; }
  void send(std::string_view bytes) const;
  std::string receive_now() const;
  // What comes until `end` has come, or the other end closes, or nothing comes for 10 s.
  std::string receive_until(const std::string& end) const;

 private:
  int fd_;
};

}  // namespace carillon::testing
