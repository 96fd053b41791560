#pragma once

#include <array>
#include <csignal>
#include <ostream>
#include <string>

#include <termios.h>

#include "carillon/time.h"
#include "jobclient/cli/terminal.h"

namespace carillon::cli {

// A terminal whose whole window shows one text, which changes. The window and the keyboard are
// restored at the end, also when a signal ends the process.
//
// Thread: the owner's; one at a time in a process.
class Screen {
 public:
  // `input`: the descriptor of the keyboard; if it is no terminal, no key ends the program.
  Screen(std::ostream& out, int input);
  ~Screen();
  Screen(const Screen&) = delete;
  Screen& operator=(const Screen&) = delete;

  // Shows these lines, as many as fit, instead of those before.
  void show(const std::string& text, std::size_t height);
  // Waits. True: somebody pressed q or Ctrl-C, or closed the keyboard.
  bool is_over_after(Duration time);

 private:
  static constexpr std::array kSignals{SIGTERM, SIGHUP, SIGINT};

  std::ostream& out_;
  const int input_;
  bool has_keys_ = false;
  struct termios before_ {};
  std::array<struct sigaction, kSignals.size()> actions_{};
};

}  // namespace carillon::cli
