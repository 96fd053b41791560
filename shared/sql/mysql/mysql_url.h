#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/result.h"

namespace carillon::sql {

struct MysqlHost {
  std::string name{};  // or an address; IPv6 without brackets
  std::uint16_t port = 3306;

  // "name:port"; an IPv6 address is in brackets.
  std::string text() const;

  bool operator==(const MysqlHost&) const = default;
};

// Where a MySQL or MariaDB database is and who asks. The password is never part of a message.
struct MysqlUrl {
  std::string user{};
  std::string password{};
  std::vector<MysqlHost>
      hosts{};  // at least one; each serves the same data, the first is preferred
  std::string database{};

  bool has_several() const { return hosts.size() > 1; }
  // The same with this host alone.
  MysqlUrl at(const MysqlHost& host) const;
  // "mysql://user:***@host:port/database", for logs and messages.
  std::string masked() const;

  bool operator==(const MysqlUrl&) const = default;
};

// Reads "mysql://user:password@host:port/database", or "host:port,host:port" for several hosts. The
// port may be left out (3306), the password too (empty). "%40" stands for "@" and so on, in user,
// password and database; an IPv6 address stands in brackets. kInvalidArgument names the part that
// is wrong, never the password.
Result<MysqlUrl> parse_mysql_url(std::string_view text);

}  // namespace carillon::sql
