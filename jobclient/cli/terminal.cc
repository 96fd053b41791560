#include "jobclient/cli/terminal.h"

#include <charconv>

#include <sys/ioctl.h>
#include <unistd.h>

namespace carillon::cli {
namespace {

constexpr std::size_t kWidthMin = 20;

std::size_t width_from(const std::string& columns) {
  std::size_t width = 0;
  const auto [end, error] = std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (error != std::errc{} || end != columns.data() + columns.size()) return 0;
  return width < kWidthMin ? 0 : width;
}

}  // namespace

Terminal Terminal::of_process(const Environment& environment) {
  Terminal terminal;
  terminal.out_is_terminal = ::isatty(STDOUT_FILENO) == 1;
  terminal.err_is_terminal = ::isatty(STDERR_FILENO) == 1;
  terminal.width = width_from(environment.get("COLUMNS").value_or(""));
  if (terminal.width == 0 && terminal.out_is_terminal) {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= kWidthMin) {
      terminal.width = size.ws_col;
    }
  }
  terminal.colours = terminal.out_is_terminal && !environment.get("NO_COLOR") &&
                     environment.get("TERM").value_or("dumb") != "dumb";
  return terminal;
}

TerminalSize current_size(const Terminal& terminal) {
  winsize size{};
  if (!terminal.out_is_terminal || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0)
    return {.width = terminal.width};
  return {.width = size.ws_col >= kWidthMin ? size.ws_col : terminal.width, .height = size.ws_row};
}

std::string coloured(std::string_view text, Colour colour, bool on) {
  std::string_view code;
  switch (colour) {
    case Colour::kNone:
      break;
    case Colour::kBold:
      code = "1";
      break;
    case Colour::kDim:
      code = "2";
      break;
    case Colour::kRed:
      code = "31";
      break;
    case Colour::kGreen:
      code = "32";
      break;
    case Colour::kYellow:
      code = "33";
      break;
  }
  if (!on || code.empty()) return std::string{text};
  return "\x1b[" + std::string{code} + "m" + std::string{text} + "\x1b[0m";
}

Colour colour_of_state(std::string_view state) {
  for (const std::string_view good : {"succeeded", "accepted", "active", "would submit", "alive"}) {
    if (state == good) return Colour::kGreen;
  }
  for (const std::string_view bad :
       {"failed", "timed_out", "lost", "rejected", "killed", "quarantined", "refused", "dead",
        "unreachable", "unanswered", "not_taken"}) {
    if (state == bad) return Colour::kRed;
  }
  for (const std::string_view odd : {"duplicate", "skipped", "missed", "expired", "cancelled",
                                     "suspended", "later", "stored", "discarded", "draining"}) {
    if (state == odd) return Colour::kYellow;
  }
  return Colour::kNone;
}

}  // namespace carillon::cli
