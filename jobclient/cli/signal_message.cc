#include "jobclient/cli/signal_message.h"

#include <unistd.h>

namespace carillon::cli {
namespace {

// A signal handler reaches nothing else. Written only while no handler of ours is set.
std::array<char, 512> kept_words{};
std::size_t kept_bytes = 0;

// SA_RESETHAND has put the default back, which ends the process as soon as this returns.
void say(int signal) {
  // There is nobody left to tell that it cannot be said.
  (void)!::write(STDERR_FILENO, kept_words.data(), kept_bytes);
  ::raise(signal);
}

}  // namespace

SignalMessage::SignalMessage(const std::string& words) {
  kept_bytes = words.copy(kept_words.data(), kept_words.size());
  struct sigaction action {};
  action.sa_handler = say;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
}

SignalMessage::~SignalMessage() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], &before_[i], nullptr);
  }
}

}  // namespace carillon::cli
