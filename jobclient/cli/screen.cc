#include "jobclient/cli/screen.h"

#include <algorithm>

#include <poll.h>
#include <unistd.h>

namespace carillon::cli {
namespace {

// Another screen without a cursor, and back.
constexpr std::string_view kEnterScreen = "\x1b[?1049h\x1b[?25l";
constexpr std::string_view kLeaveScreen = "\x1b[?25h\x1b[?1049l";
constexpr std::string_view kToTop = "\x1b[H";
constexpr std::string_view kEndOfLine = "\x1b[K\n";
constexpr std::string_view kEndOfScreen = "\x1b[K\x1b[J";
constexpr char kCtrlC = '\x03';

// A signal handler reaches nothing else. Written only while no handler of ours is set.
int kept_input = -1;
struct termios kept_settings {};

// SA_RESETHAND has put the default back, which ends the process as soon as this returns.
void restore(int signal) {
  // There is nobody left to tell that it cannot be restored.
  (void)!::write(STDOUT_FILENO, kLeaveScreen.data(), kLeaveScreen.size());
  if (kept_input >= 0) ::tcsetattr(kept_input, TCSANOW, &kept_settings);
  ::raise(signal);
}

}  // namespace

Screen::Screen(std::ostream& out, int input) : out_(out), input_(input) {
  has_keys_ = ::isatty(input_) == 1 && ::tcgetattr(input_, &before_) == 0;
  kept_input = has_keys_ ? input_ : -1;
  kept_settings = before_;
  struct sigaction action {};
  action.sa_handler = restore;
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    ::sigaction(kSignals[i], nullptr, &actions_[i]);
    if (actions_[i].sa_handler != SIG_IGN) ::sigaction(kSignals[i], &action, nullptr);
  }
  if (has_keys_) {
    struct termios settings = before_;
    settings.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO | ISIG));
    ::tcsetattr(input_, TCSANOW, &settings);
  }
  out_ << kEnterScreen << std::flush;
}

Screen::~Screen() {
  out_ << kLeaveScreen << std::flush;
  if (has_keys_) ::tcsetattr(input_, TCSANOW, &before_);
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], &actions_[i], nullptr);
}

void Screen::show(const std::string& text, std::size_t height) {
  out_ << kToTop;
  std::size_t lines = 0;
  for (std::size_t start = 0; start < text.size() && (height == 0 || lines < height); ++lines) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (lines > 0) out_ << kEndOfLine;
    out_ << text.substr(start, end - start);
    start = end + 1;
  }
  out_ << kEndOfScreen << std::flush;
}

bool Screen::is_over_after(Duration time) {
  const auto milliseconds = std::chrono::ceil<std::chrono::milliseconds>(time);
  if (!has_keys_) {
    ::poll(nullptr, 0, static_cast<int>(milliseconds.count()));
    return false;
  }
  struct pollfd keyboard {
    .fd = input_, .events = POLLIN, .revents = 0
  };
  if (::poll(&keyboard, 1, static_cast<int>(milliseconds.count())) <= 0) return false;
  std::array<char, 64> keys{};
  const ssize_t count = ::read(input_, keys.data(), keys.size());
  if (count <= 0) return true;
  const auto end = keys.begin() + count;
  return std::any_of(keys.begin(), end,
                     [](char key) { return key == 'q' || key == 'Q' || key == kCtrlC; });
}

}  // namespace carillon::cli
