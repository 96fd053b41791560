#include "shared/net/http/http_client.h"

#include <algorithm>
#include <memory>
#include <string_view>

#include <curl/curl.h>

#include "shared/net/http/curl_guard.h"
#include "shared/net/http/curl_handles.h"
#include "shared/net/http/curl_library.h"
#include "shared/net/http/tls_stream.h"

namespace carillon::net {
namespace {

constexpr int kLookAtCancelledMs = 100;
constexpr std::size_t kHeaderBytesMax = 64 * 1024;

using Easy = CurlOwned<CURL>;
using Lines = CurlOwned<curl_slist>;

// A multi handle with one transfer, because only that allows short waits.
class Transfer {
 public:
  explicit Transfer(CURL* easy) : multi_(curl_multi_init()), easy_(easy) {
    curl_multi_add_handle(multi_, easy_);
  }
  ~Transfer() {
    curl_multi_remove_handle(multi_, easy_);
    curl_multi_cleanup(multi_);
  }
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  // Runs until it is done; CURLE_ABORTED_BY_CALLBACK if it was cancelled.
  CURLcode run(const std::atomic<bool>& cancelled) {
    int running = 1;
    while (running > 0) {
      if (cancelled.load(std::memory_order_relaxed)) return CURLE_ABORTED_BY_CALLBACK;
      // Detects a missing multi handle, after a lack of memory.
      if (curl_multi_perform(multi_, &running) != CURLM_OK) return CURLE_FAILED_INIT;
      if (running > 0) curl_multi_poll(multi_, nullptr, 0, kLookAtCancelledMs, nullptr);
    }
    int left = 0;
    const CURLMsg* message = curl_multi_info_read(multi_, &left);
    return message == nullptr ? CURLE_FAILED_INIT : message->data.result;
  }

 private:
  CURLM* multi_;
  CURL* easy_;
};

struct Receiving {
  HttpReply reply{};
  std::size_t body_max = 0;
  std::size_t header_bytes = 0;
};

std::size_t take_body(const char* data, std::size_t, std::size_t size, void* target) {
  auto& receiving = *static_cast<Receiving*>(target);
  const std::size_t room = receiving.body_max - receiving.reply.body.size();
  receiving.reply.body.append(data, std::min(size, room));
  receiving.reply.body_cut = size > room;
  return std::min(size, room);  // Less than `size` aborts the transfer.
}

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t take_header(const char* data, std::size_t, std::size_t size, void* target) {
  auto& receiving = *static_cast<Receiving*>(target);
  const std::string_view line(data, size);
  receiving.header_bytes += size;
  if (receiving.header_bytes > kHeaderBytesMax) return 0;
  // An interim response, like 100, has its own headers.
  if (line.starts_with("HTTP/")) receiving.reply.headers.clear();
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return size;
  std::string name{trimmed(line.substr(0, colon))};
  for (char& c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  receiving.reply.headers.insert_or_assign(std::move(name),
                                           std::string{trimmed(line.substr(colon + 1))});
  return size;
}

Lines header_lines(const HttpRequest& request) {
  curl_slist* lines = nullptr;
  for (const auto& [name, value] : request.headers) {
    // libcurl's syntax for a header without a value has a semicolon.
    const std::string line = value.empty() ? name + ";" : name + ": " + value;
    lines = curl_slist_append(lines, line.c_str());
  }
  // Does not wait for "100 Continue", which few servers send.
  return Lines(curl_slist_append(lines, "Expect:"));
}

void set_request(CURL* easy, const HttpRequest& request, const curl_slist* lines) {
  curl_easy_setopt(easy, CURLOPT_URL, request.url.c_str());
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy, CURLOPT_USERAGENT, "carillon");
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, lines);
  if (request.method == "HEAD") {
    curl_easy_setopt(easy, CURLOPT_NOBODY, 1L);
    return;
  }
  if (!request.body.empty() || (request.method != "GET" && request.method != "DELETE")) {
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(request.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body.c_str());
  }
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method.c_str());
}

// Empty: it is not a valid URL.
std::string host_of(const std::string& text) {
  const CurlOwned<CURLU> url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return {};
  char* found = nullptr;
  if (curl_url_get(url.get(), CURLUPART_HOST, &found, 0) != CURLUE_OK) return {};
  const CurlOwned<char> owned(found);
  std::string host = found;
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

Error failure_of(CURLcode code, const char* detail) {
  const std::string why = *detail != '\0' ? detail : curl_easy_strerror(code);
  switch (code) {
    case CURLE_ABORTED_BY_CALLBACK:
      return {ErrorCode::kUnavailable, "stopped"};
    case CURLE_OPERATION_TIMEDOUT:
      return {ErrorCode::kTimeout, why};
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_URL_MALFORMAT:
      return {ErrorCode::kInvalidArgument, why};
    default:
      return {ErrorCode::kUnavailable, why};
  }
}

}  // namespace

Result<HttpReply> send_http(const HttpRequest& request, Duration timeout, std::size_t body_max,
                            const std::atomic<bool>& cancelled, const std::string& ca_file,
                            const AddressGuard& guard) {
  // A proxy would connect to it.
  CARILLON_TRY(guard.check_host(host_of(request.url)));
  const Easy easy(is_curl_ready() ? curl_easy_init() : nullptr);
  if (!easy) return Error{ErrorCode::kUnavailable, "cannot start the HTTP library"};

  const Lines lines = header_lines(request);
  set_request(easy.get(), request, lines.get());
  const auto timeout_ms = std::chrono::ceil<std::chrono::milliseconds>(timeout).count();
  curl_easy_setopt(easy.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT_MS, kCurlConnectMs);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(timeout_ms));

  if (!ca_file.empty()) curl_easy_setopt(easy.get(), CURLOPT_CAINFO, ca_file.c_str());

  Receiving receiving{.body_max = body_max};
  char detail[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, detail);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &receiving);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERFUNCTION, take_header);
  curl_easy_setopt(easy.get(), CURLOPT_HEADERDATA, &receiving);

  CurlGuard sockets(guard);
  sockets.watch(easy.get());

  const CURLcode code = Transfer(easy.get()).run(cancelled);
  if (!sockets.refusal().empty() && code == CURLE_COULDNT_CONNECT)
    return Error{ErrorCode::kDenied, sockets.refusal()};
  const bool is_cut = code == CURLE_WRITE_ERROR && receiving.reply.body_cut;
  if (code != CURLE_OK && !is_cut) return failure_of(code, detail);
  long status = 0;
  curl_easy_getinfo(easy.get(), CURLINFO_RESPONSE_CODE, &status);
  receiving.reply.status = static_cast<int>(status);
  return std::move(receiving.reply);
}

Status check_ca_file(const std::string& ca_file, const std::string& option) {
  CARILLON_TRY(TlsContext::open(ca_file, option));
  return {};
}

}  // namespace carillon::net
