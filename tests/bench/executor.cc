#include "tests/bench/executor.h"

#include <charconv>
#include <deque>
#include <future>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include "shared/runtime/thread.h"

namespace carillon::bench {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

// As xxl-job's own executors do: all that there are, in a request of less than 5 MiB.
constexpr std::size_t kResultsOfARequest = 20'000;
constexpr std::chrono::seconds kBeat{30};
constexpr std::chrono::seconds kPatience{30};
constexpr std::string_view kTaken =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 23\r\n\r\n"
    "{\"code\":200,\"msg\":null}";

// The body of the HTTP message that `bytes` begin with, and where it ends; nothing yet if it is not
// all there. The other end is ours, so what it does not do is not read.
struct Message {
  std::string_view body{};
  std::size_t end = 0;
};
std::optional<Message> read_message(std::string_view bytes) {
  const std::size_t head = bytes.find("\r\n\r\n");
  if (head == std::string_view::npos) return std::nullopt;
  std::size_t length = 0;
  for (const std::string_view name : {"\r\nContent-Length: ", "\r\ncontent-length: "}) {
    const std::size_t at = bytes.substr(0, head).find(name);
    if (at == std::string_view::npos) continue;
    std::from_chars(bytes.data() + at + name.size(), bytes.data() + head, length);
  }
  const std::size_t begin = head + 4;
  if (bytes.size() < begin + length) return std::nullopt;
  return Message{.body = bytes.substr(begin, length), .end = begin + length};
}

std::int64_t number_after(std::string_view body, std::string_view name) {
  std::int64_t number = 0;
  const std::size_t at = body.find(name);
  if (at != std::string_view::npos)
    std::from_chars(body.data() + at + name.size(), body.data() + body.size(), number);
  return number;
}

struct Run {
  std::int64_t log_id = 0;
  std::int64_t log_time_ms = 0;
};

std::string result_of(const Run& run) {
  return "{\"logId\":" + std::to_string(run.log_id) +
         ",\"logDateTim\":" + std::to_string(run.log_time_ms) +
         ",\"handleCode\":200,\"handleMsg\":null}";
}

// "http://HOST:PORT/path".
struct Admin {
  std::string host{};
  std::string port{};
  std::string path{};
};
Admin read_url(const std::string& url) {
  const std::size_t host = url.find("://") + 3;
  const std::size_t colon = url.find(':', host);
  const std::size_t path = std::min(url.find('/', colon), url.size());
  return {.host = url.substr(host, colon - host),
          .port = url.substr(colon + 1, path - colon - 1),
          .path = url.substr(path)};
}

}  // namespace

class Executor::Worker {
 public:
  Worker(const std::string& admin, std::string group, const Clock& clock)
      : admin_(read_url(admin)), group_(std::move(group)), clock_(clock) {}

  Status open(int addresses) {
    error_code failed;
    for (int i = 0; i < addresses && !failed; ++i) {
      tcp::acceptor& acceptor = acceptors_.emplace_back(io_);
      acceptor.open(tcp::v4(), failed);
      if (!failed) acceptor.bind({asio::ip::address_v4::loopback(), 0}, failed);
      if (!failed) acceptor.listen(asio::socket_base::max_listen_connections, failed);
      if (!failed) accept(acceptor);
    }
    if (!failed) {
      asio::connect(to_admin_, tcp::resolver{io_}.resolve(admin_.host, admin_.port, failed),
                    failed);
    }
    if (failed)
      return Error{ErrorCode::kUnavailable, "the benchmark's executor: " + failed.message()};
    to_admin_.set_option(tcp::no_delay{true});
    register_all();
    thread_ = CARILLON_TRY(Thread::start("executor", [this] { io_.run(); }));
    return {};
  }

  Status await_registered() {
    auto registered = registered_.get_future();
    if (registered.wait_for(kPatience) == std::future_status::ready) return registered.get();
    return Error{ErrorCode::kTimeout, "the executor could not register in 30 s"};
  }

  Result<std::vector<ExecutorCall>> stop() {
    join();
    CARILLON_TRY(std::exchange(failed_, Status{}));
    if (calls_.size() != seen_.size()) {
      return Error{ErrorCode::kCorrupt,
                   std::to_string(calls_.size() - seen_.size()) + " runs were called for twice"};
    }
    return std::move(calls_);
  }

  void join() {
    io_.stop();
    if (thread_) thread_->join();
    thread_.reset();
  }

 private:
  // One connection of a caller.
  struct Session {
    explicit Session(tcp::socket from) : socket(std::move(from)) {}
    tcp::socket socket;
    std::string bytes{};
    char room[16 * 1024];
  };

  struct Request {
    std::string path{};
    std::string body{};
  };

  void accept(tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](const error_code& failed, tcp::socket socket) {
      if (failed) return;
      socket.set_option(tcp::no_delay{true});
      read(std::make_shared<Session>(std::move(socket)));
      accept(acceptor);
    });
  }

  void read(const std::shared_ptr<Session>& session) {
    session->socket.async_read_some(
        asio::buffer(session->room), [this, session](const error_code& failed, std::size_t count) {
          if (failed) return;
          session->bytes.append(session->room, count);
          const auto message = read_message(session->bytes);
          if (!message) return read(session);
          take(message->body);
          session->bytes.erase(0, message->end);
          asio::async_write(session->socket, asio::buffer(kTaken),
                            [this, session](const error_code& cut, std::size_t) {
                              if (!cut) read(session);
                            });
        });
  }

  void take(std::string_view body) {
    const Run run{.log_id = number_after(body, "\"logId\":"),
                  .log_time_ms = number_after(body, "\"logDateTime\":")};
    if (run.log_id == 0) return;  // idleBeat, for one
    calls_.push_back({.job = number_after(body, "\"executorParams\":\""),
                      .logged = WallTime{std::chrono::milliseconds{run.log_time_ms}},
                      .came = clock_.wall_now()});
    seen_.insert(run.log_id);
    ended_.push_back(run);
    tell_admin();
  }

  // ---- to the job tracker, one request after the other ----

  void register_all() {
    for (const tcp::acceptor& acceptor : acceptors_) {
      requests_.push_back({.path = "/api/registry",
                           .body = "{\"registryGroup\":\"EXECUTOR\",\"registryKey\":\"" + group_ +
                                   "\",\"registryValue\":\"http://127.0.0.1:" +
                                   std::to_string(acceptor.local_endpoint().port()) + "/\"}"});
    }
    tell_admin();
    beat_.expires_after(kBeat);
    beat_.async_wait([this](const error_code& failed) {
      if (!failed) register_all();
    });
  }

  void tell_admin() {
    if (std::exchange(is_telling_, true)) return;
    Request request;
    if (!requests_.empty()) {
      request = std::move(requests_.front());
      requests_.pop_front();
    } else if (!ended_.empty()) {
      request = {.path = "/api/callback", .body = take_results()};
    } else {
      is_telling_ = false;
      return;
    }
    sent_ = "POST " + admin_.path + request.path + " HTTP/1.1\r\nHost: " + admin_.host + ":" +
            admin_.port + "\r\nContent-Type: application/json\r\nContent-Length: " +
            std::to_string(request.body.size()) + "\r\n\r\n" + request.body;
    asio::async_write(to_admin_, asio::buffer(sent_),
                      [this](const error_code& failed, std::size_t) {
                        if (failed)
                          return fail("a request to the job tracker broke: " + failed.message());
                        hear();
                      });
  }

  std::string take_results() {
    std::string body = "[";
    for (std::size_t i = 0; i < kResultsOfARequest && !ended_.empty(); ++i) {
      if (i > 0) body += ',';
      body += result_of(ended_.front());
      ended_.pop_front();
    }
    return body + "]";
  }

  void hear() {
    to_admin_.async_read_some(asio::buffer(room_), [this](const error_code& failed,
                                                          std::size_t count) {
      if (failed) return fail("the job tracker hung up: " + failed.message());
      heard_.append(room_, count);
      const auto message = read_message(heard_);
      if (!message) return hear();
      if (heard_.rfind("HTTP/1.1 200", 0) != 0 || number_after(message->body, "\"code\":") != 200) {
        return fail("the job tracker answered " + heard_);
      }
      heard_.erase(0, message->end);
      if (requests_.empty() && !std::exchange(has_registered_, true)) registered_.set_value({});
      is_telling_ = false;
      tell_admin();
    });
  }

  void fail(const std::string& why) {
    failed_ = Error{ErrorCode::kUnavailable, why};
    if (!std::exchange(has_registered_, true)) registered_.set_value(failed_);
  }

  const Admin admin_;
  const std::string group_;
  const Clock& clock_;
  asio::io_context io_{1};
  std::deque<tcp::acceptor> acceptors_{};
  tcp::socket to_admin_{io_};
  asio::steady_timer beat_{io_};
  std::promise<Status> registered_{};
  bool has_registered_ = false;
  bool is_telling_ = false;
  std::deque<Request> requests_{};
  std::deque<Run> ended_{};
  std::string sent_{};
  std::string heard_{};
  char room_[4 * 1024];
  std::vector<ExecutorCall> calls_{};
  std::unordered_set<std::int64_t> seen_{};
  Status failed_{};
  std::unique_ptr<Thread> thread_{};
};

Executor::Executor(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

Executor::~Executor() { worker_->join(); }

Result<std::unique_ptr<Executor>> Executor::start(const std::string& admin,
                                                  const std::string& group, int addresses,
                                                  const Clock& clock) {
  std::unique_ptr<Executor> executor(new Executor(std::make_unique<Worker>(admin, group, clock)));
  CARILLON_TRY(executor->worker_->open(addresses));
  CARILLON_TRY(executor->worker_->await_registered());
  return executor;
}

Result<std::vector<ExecutorCall>> Executor::stop() { return worker_->stop(); }

}  // namespace carillon::bench
