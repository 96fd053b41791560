#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "shared/base/mutex.h"

namespace carillon::testing {

// One connection to a ScriptedServer, from its end. Whatever takes longer than 10 s fails.
// Thread: the connection's.
class Conversation {
 public:
  Conversation(int fd, int number) : fd_(fd), number_(number) {}

  // The how many-th connection it is, from 1.
  int number() const { return number_; }
  int fd() const { return fd_; }
  // The next whole request, head and body; empty when the other end has closed.
  std::string read_request();
  void write(std::string_view bytes) const;
  // "HTTP/1.1 200 OK" with this body.
  void answer(std::string_view body, const std::string& further_headers = "") const;
  // Until the other end closes.
  void wait_for_close() const;
  // Closes with a reset instead of an end.
  void reset() const;

 private:
  const int fd_;
  const int number_;
  std::string rest_{};
};

// A server that does what a test says, byte by byte, with a thread for each connection. A
// connection is closed when its script returns.
//
// Thread: the test's; scripts run on threads of their own.
class ScriptedServer {
 public:
  using Script = std::function<void(Conversation& conversation)>;

  explicit ScriptedServer(Script script);
  // Closes whatever is open and waits for the scripts.
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  // "http://127.0.0.1:PORT".
  std::string url() const;
  int connections() const { return connections_; }

 private:
  void accept();

  const Script script_;
  int fd_ = -1;
  int port_ = 0;
  std::atomic<int> connections_{0};
  Mutex mutex_;
  std::vector<int> open_ CARILLON_GUARDED_BY(mutex_);
  std::vector<std::thread> threads_ CARILLON_GUARDED_BY(mutex_);
  std::thread acceptor_;
};

}  // namespace carillon::testing
