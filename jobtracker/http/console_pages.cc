#include "jobtracker/http/console_pages.h"

#include <algorithm>
#include <array>
#include <string>

#include "console/console_files.h"

namespace carillon::jobtracker {
namespace {

// Nothing from other servers, and no code within the page.
constexpr const char* kPolicy =
    "default-src 'self'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src "
    "'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

// What the paths of its pages begin with: /jobs, /jobs/ops/nightly. All are one file, which shows
// the page of its address.
constexpr std::array<std::string_view, 16> kConsolePages{
    "jobs",   "runs",   "waiting", "executing", "history",    "calendar", "groups",  "scripts",
    "alarms", "access", "audit",   "cluster",   "operations", "login",    "account", "search"};

bool is_page(std::string_view path) {
  if (!path.starts_with('/')) return false;
  path.remove_prefix(1);
  return std::find(kConsolePages.begin(), kConsolePages.end(), path.substr(0, path.find('/'))) !=
         kConsolePages.end();
}

const ConsoleFile* file_of(std::string_view target) {
  std::string_view path = target.substr(0, target.find('?'));
  if (is_page(path)) path = "/";
  const auto files = console_files();
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const ConsoleFile& file) { return file.path == path; });
  return found == files.end() ? nullptr : &*found;
}

std::string header(const net::HttpCall& call, const char* name) {
  const auto found = call.headers.find(name);
  return found == call.headers.end() ? std::string{} : found->second;
}

bool takes_gzip(const net::HttpCall& call) {
  return header(call, "accept-encoding").find("gzip") != std::string::npos;
}

}  // namespace

bool is_for_console(const net::HttpCall& head) {
  if (!head.target.starts_with("/?") && head.target != "/") return file_of(head.target) != nullptr;
  return header(head, "accept").find("text/html") != std::string::npos && takes_gzip(head);
}

std::optional<net::HttpResponse> check_console_head(const net::HttpCall& head) {
  if (head.method == "GET") return std::nullopt;
  return net::HttpResponse{.status = 405, .body = "only GET\n", .headers = {{"Allow", "GET"}}};
}

net::HttpResponse console_page(const net::HttpCall& call) {
  const ConsoleFile& file = *file_of(call.target);
  const bool is_start = file.path == "/";
  net::HttpResponse response{
      .content_type = std::string{file.content_type},
      .headers = {
          {"Content-Security-Policy", kPolicy},
          {"X-Content-Type-Options", "nosniff"},
          {"Referrer-Policy", "no-referrer"},
          {"ETag", std::string{file.etag}},
          {"Vary", "Accept-Encoding"},
          {"Cache-Control", is_start ? "no-cache" : "public, max-age=31536000, immutable"}}};
  if (header(call, "if-none-match") == file.etag) {
    response.status = 304;
    return response;
  }
  if (!takes_gzip(call))
    return {.status = 406, .body = "the console is for browsers, which accept gzip\n"};
  response.headers["Content-Encoding"] = "gzip";
  response.body = file.gzip_bytes;
  return response;
}

}  // namespace carillon::jobtracker
