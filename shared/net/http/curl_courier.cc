#include "shared/net/http/curl_courier.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <string_view>
#include <utility>

#include <curl/curl.h>

#include "shared/base/assert.h"
#include "shared/base/time_text.h"
#include "shared/base/utf8.h"
#include "shared/net/http/curl_guard.h"
#include "shared/net/http/curl_handles.h"
#include "shared/net/http/curl_library.h"
#include "shared/wire/base64.h"

namespace carillon::net {
namespace {

constexpr long kPerHostMax = 4;
constexpr int kPollMs = 1000;

bool is_mail(const std::string& to) { return to.find("://") == std::string::npos; }

// ---- the mail server's address ----

struct SmtpUrl {
  std::string host{};
  bool has_password = false;

  bool is_loopback() const {
    return host == "localhost" || host == "[::1]" || host.starts_with("127.");
  }
};

Result<SmtpUrl> parse_smtp(const std::string& text) {
  const auto wrong = [](const std::string& why) {
    return Error{ErrorCode::kInvalidArgument,
                 why + " (write smtp://HOST[:PORT] or smtps://USER:PASSWORD@HOST[:PORT])"};
  };
  const CurlOwned<CURLU> url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
    return wrong("not the address of a mail server");
  const auto part = [&](CURLUPart which) {
    char* found = nullptr;
    const bool is_there = curl_url_get(url.get(), which, &found, 0) == CURLUE_OK;
    const CurlOwned<char> owned(found);
    return is_there ? std::string{found} : std::string{};
  };
  const std::string scheme = part(CURLUPART_SCHEME);
  if (scheme != "smtp" && scheme != "smtps")
    return wrong("scheme '" + scheme + "' is not a mail server's scheme");
  const std::string path = part(CURLUPART_PATH);
  if (path.size() > 1 || !part(CURLUPART_QUERY).empty())
    return wrong("the address of a mail server has no path");
  return SmtpUrl{.host = part(CURLUPART_HOST), .has_password = !part(CURLUPART_PASSWORD).empty()};
}

// ---- the format of mail ----

// Encodes text for a header: base64 words if it is not plain ASCII (RFC 2047).
std::string encoded_words(std::string_view text) {
  constexpr std::size_t kWordBytes = 45;
  const bool is_plain = text.find_first_not_of(
                            " !\"#$%&'()*+,-./0123456789:;<>@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`"
                            "abcdefghijklmnopqrstuvwxyz{|}~") == std::string_view::npos;
  if (is_plain) return std::string{text};
  std::string words;
  while (!text.empty()) {
    std::size_t size = 0;
    while (size < text.size()) {
      const std::size_t bytes = std::max<std::size_t>(1, first_character(text.substr(size)).bytes);
      if (size + bytes > kWordBytes) break;
      size += bytes;
    }
    words += (words.empty() ? "=?UTF-8?B?" : " =?UTF-8?B?") +
             wire::to_base64(text.substr(0, size)) + "?=";
    text.remove_prefix(size);
  }
  return words;
}

// RFC 5322: "Sun, 22 Nov 2026 08:00:00 +0000".
std::string mail_date(WallTime now) {
  constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                     "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const auto day = std::chrono::floor<std::chrono::days>(now);
  const std::chrono::year_month_day date{day};
  const std::string time = format_time(now).substr(11, 8);
  return std::string{kDays[std::chrono::weekday{day}.c_encoding()]} + ", " +
         std::to_string(static_cast<unsigned>(date.day())) + " " +
         kMonths[static_cast<unsigned>(date.month()) - 1] + " " +
         std::to_string(static_cast<int>(date.year())) + " " + time + " +0000";
}

std::string with_crlf(std::string_view text) {
  std::string lines;
  for (const char c : text) {
    if (c == '\r') continue;
    if (c == '\n') lines += '\r';
    lines += c;
  }
  return lines;
}

std::size_t drop(const char*, std::size_t, std::size_t size, void*) { return size; }

}  // namespace

// The code that runs on the thread.
class CurlCourier::Worker {
 public:
  Worker(const CourierConfig& config, bool needs_tls, const Clock& clock, Mailbox<Sent>& sent,
         Mailbox<Heard>& heard)
      : config_(config),
        needs_tls_(needs_tls),
        clock_(clock),
        sent_(sent),
        heard_(heard),
        multi_(curl_multi_init()) {
    curl_multi_setopt(multi_, CURLMOPT_MAX_HOST_CONNECTIONS, kPerHostMax);
  }
  ~Worker() {
    for (const auto& [easy, transfer] : transfers_) curl_multi_remove_handle(multi_, easy);
    transfers_.clear();
    curl_multi_cleanup(multi_);
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  void run() {
    while (!stopped_) {
      sent_.clear();
      while (auto sent = sent_.take()) begin(std::move(*sent));
      int running = 0;
      curl_multi_perform(multi_, &running);
      int left = 0;
      while (const CURLMsg* message = curl_multi_info_read(multi_, &left)) {
        if (message->msg == CURLMSG_DONE) end(message->easy_handle, message->data.result);
      }
      curl_waitfd posted{.fd = sent_.fd(), .events = CURL_WAIT_POLLIN, .revents = 0};
      curl_multi_poll(multi_, &posted, 1, kPollMs, nullptr);
    }
  }
  void stop() {
    stopped_ = true;
    curl_multi_wakeup(multi_);
  }

 private:
  struct Transfer {
    explicit Transfer(const AddressGuard& allowed) : guard(allowed) {}

    Sent sent{};
    CurlOwned<CURL> easy{};
    CurlOwned<curl_slist> head{};
    CurlOwned<curl_slist> recipients{};
    CurlOwned<curl_mime> mime{};
    char detail[CURL_ERROR_SIZE] = "";
    CurlGuard guard;
  };

  void begin(Sent sent) {
    auto transfer = std::make_unique<Transfer>(config_.guard);
    transfer->sent = std::move(sent);
    transfer->easy.reset(curl_easy_init());
    CURL* easy = transfer->easy.get();
    CARILLON_ASSERT(easy != nullptr, "memory is available");
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, kCurlConnectMs);
    const Duration own = transfer->sent.delivery.timeout;
    const Duration timeout = own == Duration{} ? config_.timeout : own;
    curl_easy_setopt(
        easy, CURLOPT_TIMEOUT_MS,
        static_cast<long>(std::chrono::ceil<std::chrono::milliseconds>(timeout).count()));
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, transfer->detail);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, drop);
    if (is_mail(transfer->sent.delivery.to)) {
      set_mail(*transfer);
    } else {
      set_post(*transfer);
    }
    curl_multi_add_handle(multi_, easy);
    transfers_.emplace(easy, std::move(transfer));
  }

  static void add(CurlOwned<curl_slist>& list, const std::string& line) {
    curl_slist* grown = curl_slist_append(list.get(), line.c_str());
    CARILLON_ASSERT(grown != nullptr, "memory is available");
    (void)list.release();
    list.reset(grown);
  }

  void set_post(Transfer& transfer) const {
    CURL* easy = transfer.easy.get();
    const Delivery& delivery = transfer.sent.delivery;
    add(transfer.head, "Content-Type: application/json");
    add(transfer.head, "Expect:");
    curl_easy_setopt(easy, CURLOPT_URL, delivery.to.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "carillon");
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.head.get());
    curl_easy_setopt(easy, CURLOPT_POST, 1L);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                     static_cast<curl_off_t>(delivery.body.size()));
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, delivery.body.c_str());
    transfer.guard.watch(easy);
  }

  void set_mail(Transfer& transfer) const {
    CURL* easy = transfer.easy.get();
    const Delivery& delivery = transfer.sent.delivery;
    const std::string domain = config_.from.substr(config_.from.find('@') + 1);
    add(transfer.head, "From: Carillon <" + config_.from + ">");
    add(transfer.head, "To: <" + delivery.to + ">");
    add(transfer.head, "Subject: " + encoded_words(delivery.subject));
    add(transfer.head, "Date: " + mail_date(clock_.wall_now()));
    add(transfer.head, "Message-ID: <carillon-" + std::to_string(delivery.id) + "@" + domain + ">");
    add(transfer.head, "Auto-Submitted: auto-generated");
    add(transfer.recipients, "<" + delivery.to + ">");
    transfer.mime.reset(curl_mime_init(easy));
    curl_mimepart* part = curl_mime_addpart(transfer.mime.get());
    const std::string text = with_crlf(delivery.body);
    curl_mime_data(part, text.data(), text.size());
    curl_mime_type(part, "text/plain; charset=utf-8");
    curl_mime_encoder(part, "quoted-printable");
    curl_easy_setopt(easy, CURLOPT_URL, config_.smtp.c_str());
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "smtp,smtps");
    curl_easy_setopt(easy, CURLOPT_USE_SSL,
                     static_cast<long>(needs_tls_ ? CURLUSESSL_ALL : CURLUSESSL_TRY));
    curl_easy_setopt(easy, CURLOPT_MAIL_FROM, ("<" + config_.from + ">").c_str());
    curl_easy_setopt(easy, CURLOPT_MAIL_RCPT, transfer.recipients.get());
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, transfer.head.get());
    curl_easy_setopt(easy, CURLOPT_MIMEPOST, transfer.mime.get());
  }

  void end(CURL* easy, CURLcode code) {
    const auto found = transfers_.find(easy);
    CARILLON_ASSERT(found != transfers_.end(), "only a started transfer ends");
    const std::unique_ptr<Transfer> transfer = std::move(found->second);
    transfers_.erase(found);
    const bool taken = heard_.put({.turn = transfer->sent.turn,
                                   .id = transfer->sent.delivery.id,
                                   .status = status_of(*transfer, code)});
    CARILLON_ASSERT(taken, "the queue has room for all transfers in progress");
    curl_multi_remove_handle(multi_, easy);
  }

  static Status status_of(const Transfer& transfer, CURLcode code) {
    if (code != CURLE_OK && !transfer.guard.refusal().empty())
      return Error{ErrorCode::kDenied, transfer.guard.refusal()};
    if (code != CURLE_OK) {
      const char* why = *transfer.detail != '\0' ? transfer.detail : curl_easy_strerror(code);
      return Error{ErrorCode::kUnavailable, why};
    }
    if (is_mail(transfer.sent.delivery.to)) return {};
    long status = 0;
    curl_easy_getinfo(transfer.easy.get(), CURLINFO_RESPONSE_CODE, &status);
    if (status >= 200 && status <= 299) return {};
    return Error{ErrorCode::kUnavailable, "answered with status " + std::to_string(status)};
  }

  const CourierConfig& config_;
  const bool needs_tls_;
  const Clock& clock_;
  Mailbox<Sent>& sent_;
  Mailbox<Heard>& heard_;
  CURLM* multi_;
  std::atomic<bool> stopped_ = false;
  std::map<CURL*, std::unique_ptr<Transfer>> transfers_{};
};

Result<std::unique_ptr<CurlCourier>> CurlCourier::start(CourierConfig config, EventLoop& loop,
                                                        const Clock& clock) {
  if (!is_curl_ready()) return Error{ErrorCode::kUnavailable, "cannot start the HTTP library"};
  bool needs_tls = false;
  if (!config.smtp.empty()) {
    const SmtpUrl smtp = CARILLON_TRY(parse_smtp(config.smtp));
    needs_tls = smtp.has_password && !smtp.is_loopback();
  }
  std::unique_ptr<CurlCourier> courier(new CurlCourier(std::move(config), loop));
  courier->worker_ =
      std::make_unique<Worker>(courier->config_, needs_tls, clock, courier->sent_, courier->heard_);
  courier->thread_ =
      CARILLON_TRY(Thread::start("courier", [raw = courier->worker_.get()] { raw->run(); }));
  return courier;
}

CurlCourier::CurlCourier(CourierConfig config, EventLoop& loop)
    : config_(std::move(config)),
      loop_(loop),
      sent_(config_.deliveries_max),
      heard_(config_.deliveries_max) {
  loop_.watch(heard_.fd(), [this] { hear(); });
}

CurlCourier::~CurlCourier() {
  if (worker_) worker_->stop();
  if (thread_) thread_->join();
  loop_.unwatch(heard_.fd());
}

void CurlCourier::set_receiver(OnDelivered receiver) {
  receiver_ = std::move(receiver);
  ++turn_;
}

bool CurlCourier::send(Delivery delivery) {
  if (under_way_ == config_.deliveries_max) return false;
  const bool taken = sent_.put(Sent{turn_, std::move(delivery)});
  CARILLON_ASSERT(taken, "the queue has room for all transfers in progress");
  ++under_way_;
  return true;
}

void CurlCourier::hear() {
  heard_.clear();
  while (auto heard = heard_.take()) {
    --under_way_;
    if (receiver_ && heard->turn == turn_) receiver_(heard->id, heard->status);
  }
}

}  // namespace carillon::net
