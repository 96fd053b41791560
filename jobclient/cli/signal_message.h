#pragma once

#include <array>
#include <csignal>
#include <string>

// What is said on stderr when somebody stops jobclient while it waits, with Ctrl-C or SIGTERM. The
// process ends by the signal all the same: 130 or 143 to a shell, whose loops end with it. A signal
// that is ignored stays ignored.
//
// Thread: the owner's; one at a time in a process.
namespace carillon::cli {

class SignalMessage {
 public:
  explicit SignalMessage(const std::string& words);
  ~SignalMessage();
  SignalMessage(const SignalMessage&) = delete;
  SignalMessage& operator=(const SignalMessage&) = delete;

 private:
  static constexpr std::array kSignals{SIGINT, SIGTERM};
  std::array<struct sigaction, kSignals.size()> before_{};
};

}  // namespace carillon::cli
