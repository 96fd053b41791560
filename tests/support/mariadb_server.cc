#include "tests/support/mariadb_server.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <utility>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shared/base/random.h"
#include "shared/sql/mysql/mysql_connection.h"
#include "tests/support/loopback.h"

namespace carillon::testing {
namespace {

constexpr int kLaunchesMax = 3;
constexpr std::chrono::milliseconds kPollPause{10};
constexpr int kPollsMax = 3000;
constexpr const char* kUser = "carillon";
constexpr const char* kPassword = "p@ss:w/rd";
constexpr const char* kPasswordEncoded = "p%40ss%3Aw%2Frd";

std::optional<std::string> find_program(const std::string& name) {
  for (const char* folder : {"/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"}) {
    auto path = std::string{folder} + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return std::nullopt;
}

// Starts a program with its output in a file; it is killed when the calling thread ends.
pid_t spawn(std::vector<std::string> command, const std::string& output) {
  std::vector<char*> argv;
  for (auto& word : command) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int log = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const pid_t process = ::fork();
  if (process == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(log, STDOUT_FILENO);
    ::dup2(log, STDERR_FILENO);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(log);
  return process;
}

int wait_for(pid_t process) {
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

// One that no outgoing connection is given: a server that is started again finds it free.
std::uint16_t free_port() {
  int first_given = 32'768;
  std::ifstream{"/proc/sys/net/ipv4/ip_local_port_range"} >> first_given;
  const double ports = std::max(first_given, 11'000) - 10'000;
  SystemRandom random;
  for (;;) {
    const auto port = static_cast<std::uint16_t>(10'000 + random.unit() * ports);
    const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const auto address = loopback(port);
    const bool is_free =
        ::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    ::close(listener);
    if (is_free) return port;
  }
}

// A server that is ready greets whoever connects.
bool greets(std::uint16_t port) {
  const int connection = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const auto address = loopback(port);
  const timeval patience{.tv_sec = 1, .tv_usec = 0};
  ::setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  char byte = 0;
  const bool greeted =
      ::connect(connection, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::recv(connection, &byte, 1, 0) == 1;
  ::close(connection);
  return greeted;
}

std::string tail_of(const std::string& path) {
  std::ifstream file{path};
  std::string text{std::istreambuf_iterator<char>{file}, {}};
  constexpr std::size_t kTailMax = 1500;
  return text.size() > kTailMax ? text.substr(text.size() - kTailMax) : text;
}

}  // namespace

MariadbServer::MariadbServer(std::vector<std::string> settings) : settings_(std::move(settings)) {}

MariadbServer::~MariadbServer() { kill(); }

std::vector<std::string> MariadbServer::quick_settings() {
  return {"--innodb-flush-log-at-trx-commit=2", "--innodb-buffer-pool-size=256M",
          "--innodb-log-file-size=256M"};
}

Result<std::unique_ptr<MariadbServer>> MariadbServer::start(std::vector<std::string> settings) {
  if (!find_program("mariadbd") || !find_program("mariadb-install-db")) {
    return Error{ErrorCode::kNotFound,
                 "mariadbd is not installed: apt-get install mariadb-server-core "
                 "mariadb-client-core"};
  }
  std::unique_ptr<MariadbServer> server{new MariadbServer{std::move(settings)}};
  CARILLON_TRY(server->install());
  Status status;
  for (int launch = 0; launch < kLaunchesMax; ++launch) {
    server->port_ = free_port();  // another program may take it before the server does
    status = server->launch();
    if (status.ok()) return server;
  }
  return status.error();
}

Status MariadbServer::install() {
  // Its own: a server that starts removes temporary tables from it, also those of others.
  std::filesystem::create_directory(folder_.file("tmp"));
  // The install script wants a name that the system knows, and to be root for another than us.
  std::vector<std::string> command{
      *find_program("mariadb-install-db"),        "--no-defaults",
      "--datadir=" + folder_.file("data"),        "--tmpdir=" + folder_.file("tmp"),
      "--auth-root-authentication-method=normal", "--skip-test-db"};
  if (::geteuid() == 0) command.emplace_back("--user=root");
  if (wait_for(spawn(std::move(command), folder_.file("install.log"))) != 0) {
    return Error{ErrorCode::kUnavailable,
                 "mariadb-install-db failed: " + tail_of(folder_.file("install.log"))};
  }
  std::ofstream{folder_.file("init.sql")}
      << "CREATE USER IF NOT EXISTS '" << kUser << "'@'%' IDENTIFIED BY '" << kPassword << "';\n"
      << "GRANT ALL PRIVILEGES ON *.* TO '" << kUser << "'@'%' WITH GRANT OPTION;\n";
  return {};
}

Status MariadbServer::launch() {
  std::vector<std::string> command{*find_program("mariadbd"),
                                   "--no-defaults",
                                   "--datadir=" + folder_.file("data"),
                                   "--tmpdir=" + folder_.file("tmp"),
                                   "--socket=" + folder_.file("socket"),
                                   "--port=" + std::to_string(port_),
                                   "--bind-address=127.0.0.1",
                                   "--pid-file=" + folder_.file("pid"),
                                   "--init-file=" + folder_.file("init.sql"),
                                   "--skip-name-resolve",
                                   "--character-set-server=utf8mb4"};
  if (::geteuid() == 0) command.emplace_back("--user=root");
  command.insert(command.end(), settings_.begin(), settings_.end());
  process_ = spawn(std::move(command), folder_.file("server.log"));
  return wait_until_ready();
}

Status MariadbServer::wait_until_ready() {
  for (int poll = 0; poll < kPollsMax; ++poll) {
    if (::waitpid(process_, nullptr, WNOHANG) == process_) {
      process_ = -1;
      return Error{ErrorCode::kUnavailable,
                   "mariadbd ended at once: " + tail_of(folder_.file("server.log"))};
    }
    if (greets(port_)) return {};
    std::this_thread::sleep_for(kPollPause);
  }
  kill();
  return Error{ErrorCode::kTimeout,
               "mariadbd did not become ready: " + tail_of(folder_.file("server.log"))};
}

void MariadbServer::stop() {
  if (process_ < 0) return;
  ::kill(process_, SIGTERM);
  ::kill(process_, SIGCONT);  // a paused one would never see it
  wait_for(process_);
  process_ = -1;
}

void MariadbServer::kill() {
  if (process_ < 0) return;
  ::kill(process_, SIGKILL);
  wait_for(process_);
  process_ = -1;
}

Status MariadbServer::restart() {
  kill();
  return launch();
}

void MariadbServer::pause() {
  if (process_ < 0) return;
  ::kill(process_, SIGSTOP);
  // The signal returns before the last thread stands still, which may still answer.
  int status = 0;
  while (::waitpid(process_, &status, WUNTRACED) < 0 && errno == EINTR) {
  }
}

void MariadbServer::resume() {
  if (process_ > 0) ::kill(process_, SIGCONT);
}

std::string MariadbServer::url(const std::string& database, std::uint16_t port) {
  return std::string{"mysql://"} + kUser + ":" + kPasswordEncoded +
         "@127.0.0.1:" + std::to_string(port) + "/" + database;
}

Status MariadbServer::create_database(const std::string& name) {
  const auto url_of_system = CARILLON_TRY(sql::parse_mysql_url(url("mysql")));
  const auto connection =
      CARILLON_TRY(sql::MysqlConnection::open(url_of_system, sql::MysqlOptions{}));
  return connection->run_script("DROP DATABASE IF EXISTS \"" + name + "\";\nCREATE DATABASE \"" +
                                name + "\" CHARACTER SET utf8mb4;\n");
}

}  // namespace carillon::testing
