#include "jobclient/cli/web_page.h"

#include <array>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace carillon::cli {
namespace {

constexpr const char* kOpener = "xdg-open";

std::string html_escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

bool write_private_file(const std::string& path, std::string_view text) {
  ::unlink(path.c_str());
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return false;
  const bool is_written =
      ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::close(fd);
  return is_written;
}

// Not waited for: some browsers run until they are closed.
void start_opener(const Environment& environment, std::string path) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  std::string program = kOpener;
  const std::array<char*, 3> arguments{program.data(), path.data(), nullptr};
  std::vector<std::string> variables;
  for (const auto& [name, value] : environment.all()) variables.push_back(name + "=" + value);
  std::vector<char*> pointers;
  for (std::string& variable : variables) pointers.push_back(variable.data());
  pointers.push_back(nullptr);
  pid_t process = 0;
  (void)::posix_spawnp(&process, kOpener, &actions, nullptr, arguments.data(), pointers.data());
  posix_spawn_file_actions_destroy(&actions);
}

std::string page_that_leads_to(const std::string& url) {
  const std::string address = html_escaped(url);
  return "<!DOCTYPE html><meta charset=\"utf-8\"><title>Carillon</title>"
         "<meta http-equiv=\"refresh\" content=\"0; url=" +
         address + "\"><a href=\"" + address + "\">Carillon</a>\n";
}

}  // namespace

std::string write_web_page(const std::string& folder, const std::string& url) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const std::string path = folder + "/console.html";
  return !failed && write_private_file(path, page_that_leads_to(url)) ? path : std::string{};
}

void open_web_page(const Environment& environment, const std::string& folder,
                   const std::string& url) {
  if (!environment.get("DISPLAY") && !environment.get("WAYLAND_DISPLAY")) return;
  const std::string path = write_web_page(folder, url);
  if (!path.empty()) start_opener(environment, path);
}

}  // namespace carillon::cli
