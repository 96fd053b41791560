#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <sys/types.h>

#include "carillon/result.h"
#include "tests/support/temp_folder.h"

namespace carillon::testing {

// A private MariaDB server on a free port of 127.0.0.1, with its data in a temporary folder. Needs
// Debian's mariadb-server-core and mariadb-client-core only; takes about a second.
//
// The server dies with the thread that started it, so that a crashing test leaves none behind.
//
// Thread: the one that started it.
class MariadbServer {
 public:
  // kNotFound where MariaDB is not installed. `settings` are added to the server's command line;
  // without any it is as it comes: durable, with a buffer pool of 128 MiB.
  static Result<std::unique_ptr<MariadbServer>> start(
      std::vector<std::string> settings = quick_settings());
  // For tests: a server that is killed loses nothing by them, only a power failure.
  static std::vector<std::string> quick_settings();
  ~MariadbServer();  // kills it
  MariadbServer(const MariadbServer&) = delete;
  MariadbServer& operator=(const MariadbServer&) = delete;

  void stop();       // as an operator does: SIGTERM, and waits
  void kill();       // as a crash does: SIGKILL, and waits
  Status restart();  // the same port and data; kills it first if it runs
  void pause();      // it accepts and answers nothing ...
  void resume();     // ... until it goes on

  std::uint16_t port() const { return port_; }
  pid_t id() const { return process_; }  // of the process, -1 while none runs
  // A user with all rights; `port` is another one's, for example a proxy's.
  std::string url(const std::string& database) const { return url(database, port_); }
  static std::string url(const std::string& database, std::uint16_t port);

  // Empty, utf8mb4. An existing one is dropped first.
  Status create_database(const std::string& name);

 private:
  explicit MariadbServer(std::vector<std::string> settings);

  Status install();
  Status launch();
  Status wait_until_ready();

  std::vector<std::string> settings_;
  TempFolder folder_{};
  std::uint16_t port_ = 0;
  pid_t process_ = -1;
};

}  // namespace carillon::testing
