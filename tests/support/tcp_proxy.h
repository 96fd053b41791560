#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace carillon::testing {

// A network that misbehaves on command: listens on a free port of 127.0.0.1 and forwards to
// another port there.
//
// Thread: any. It forwards on a thread of its own.
class TcpProxy {
 public:
  enum class When {
    kBeforeForwarding,  // the server never gets what the client sent
    kAfterAnswer,       // the server does what was asked, but the client does not hear of it
  };

  explicit TcpProxy(std::uint16_t target_port);
  ~TcpProxy();
  TcpProxy(const TcpProxy&) = delete;
  TcpProxy& operator=(const TcpProxy&) = delete;

  std::uint16_t port() const { return port_; }

  void cut();            // closes every connection; new ones are welcome
  void refuse(bool on);  // new connections are closed at once; open ones stay
  void stall(bool on);   // keeps the connections and forwards nothing
  void half_close();     // the clients see the end of the stream, but may go on sending
  void cut_when(std::string client_bytes, When when);  // once, when a client sends these bytes
  int cuts() const { return cuts_; }                   // how often cut_when() has struck

 private:
  struct Link;

  void run();
  void accept_client();
  void forward(Link& link);
  // Takes what the client sent; false if the link is to be cut here.
  bool watch(Link& link, const char* bytes, std::size_t count);
  void wake();

  const std::uint16_t target_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  std::atomic<int> cuts_ = 0;

  std::mutex mutex_{};  // guards what follows; the forwarding thread holds it except in poll()
  std::vector<std::unique_ptr<Link>> links_;
  bool refusing_ = false;
  bool stalled_ = false;
  bool stopping_ = false;
  std::string trigger_{};
  When when_ = When::kBeforeForwarding;

  std::thread thread_{};  // last: it uses all of the above
};

}  // namespace carillon::testing
