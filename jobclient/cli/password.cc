#include "jobclient/cli/password.h"

#include <termios.h>
#include <unistd.h>

#include "jobclient/cli/line_reader.h"
#include "shared/base/secret_file.h"

namespace carillon::cli {
namespace {

// Shows nothing of what is typed.
class HiddenInput {
 public:
  explicit HiddenInput(int descriptor) : descriptor_(descriptor) {
    is_terminal_ = ::tcgetattr(descriptor_, &before_) == 0;
    if (!is_terminal_) return;
    termios hidden = before_;
    hidden.c_lflag &= ~static_cast<tcflag_t>(ECHO);
    (void)::tcsetattr(descriptor_, TCSAFLUSH, &hidden);  // then the password is visible
  }
  ~HiddenInput() {
    if (is_terminal_) (void)::tcsetattr(descriptor_, TCSAFLUSH, &before_);
  }
  HiddenInput(const HiddenInput&) = delete;
  HiddenInput& operator=(const HiddenInput&) = delete;

  bool is_terminal() const { return is_terminal_; }

 private:
  const int descriptor_;
  termios before_{};
  bool is_terminal_ = false;
};

Result<std::string> read_line(Context& context, const char* question) {
  const HiddenInput hidden(context.around.input);
  if (hidden.is_terminal()) {
    context.err() << question;
    context.err().flush();
  }
  LineReader lines(context.around.input, kPasswordMax);
  const auto line = lines.next();
  if (hidden.is_terminal()) context.err() << '\n';
  if (!line || line->is_too_long)
    return Error{ErrorCode::kInvalidArgument, "the input has no password"};
  return line->text;
}

Status check(const std::string& password) {
  if (password.size() >= kPasswordMin && password.size() <= kPasswordMax) return {};
  return Error{ErrorCode::kInvalidArgument,
               "a password needs at least " + std::to_string(kPasswordMin) + " characters"};
}

}  // namespace

Result<std::string> read_password(Context& context, const std::string& path) {
  std::string password;
  if (!path.empty() && path != "-") {
    password = CARILLON_TRY(read_secret_file(path));
  } else {
    password = CARILLON_TRY(read_line(context, "Password: "));
    if (path.empty() && ::isatty(context.around.input) != 0) {
      const std::string again = CARILLON_TRY(read_line(context, "Again: "));
      if (again != password) return Error{ErrorCode::kInvalidArgument, "the two passwords differ"};
    }
  }
  CARILLON_TRY(check(password));
  return password;
}

}  // namespace carillon::cli
