#pragma once

#include <memory>
#include <string>

#include "carillon/result.h"
#include "tests/bench/child_process.h"
#include "tests/support/mariadb_server.h"
#include "tests/support/temp_folder.h"

namespace carillon::bench {

// The store under test, from `--store`:
//   sqlite          a new file for each round, in the temporary folder
//   sqlite:PATH     that file, new or not
//   mysql           a private MariaDB server with a new database for each round, and room for it
//   mysql-stock     the same with the server's own settings: what a user has who tunes nothing
//   mysql://...     that database as it is
//
// Thread: the one that opened it.
class BenchStore {
 public:
  static Result<std::unique_ptr<BenchStore>> open(const std::string& store,
                                                  const testing::TempFolder& folder);

  // The URL for the next round's job tracker.
  Result<std::string> next_url();

  // "sqlite", "mysql" or "mysql-stock".
  const std::string& kind() const { return kind_; }
  // What survives a power failure, as the server says where one can be asked, and its memory.
  const std::string& durability() const { return durability_; }
  // Of the private server; nothing otherwise.
  Usage usage() const { return server_ == nullptr ? Usage{} : usage_of(server_->id()); }

 private:
  BenchStore(std::string store, const testing::TempFolder& folder)
      : store_(std::move(store)), folder_(folder) {}
  Status prepare();

  const std::string store_;
  const testing::TempFolder& folder_;
  std::string kind_ = "sqlite";
  std::string durability_{};
  std::unique_ptr<testing::MariadbServer> server_{};
  int round_ = 0;
};

}  // namespace carillon::bench
