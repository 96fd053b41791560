#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "shared/base/environment.h"

// What stands behind stdout and stderr.
namespace carillon::cli {

struct Terminal {
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  std::size_t width = 0;  // columns that a table may take; 0: as many as it likes
  bool colours = false;   // on stdout

  // COLUMNS stands over the terminal's own answer; NO_COLOR and TERM=dumb switch colours off.
  static Terminal of_process(const Environment& environment);
};

// 0: not known.
struct TerminalSize {
  std::size_t width = 0;
  std::size_t height = 0;
};
// Of stdout now: somebody may have changed the window.
TerminalSize current_size(const Terminal& terminal);

enum class Colour { kNone, kBold, kDim, kRed, kGreen, kYellow };

// With the codes around it, when `on`.
std::string coloured(std::string_view text, Colour colour, bool on);

// What the states and outcomes of jobs are shown in.
Colour colour_of_state(std::string_view state);

}  // namespace carillon::cli
