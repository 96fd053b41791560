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

// The address of a MySQL or MariaDB database, with user and password. The password is never part of
// a message.
struct MysqlUrl {
  std::string user{};
  std::string password{};
  std::vector<MysqlHost> hosts{};  // at least one; all have the same data, the first is preferred
  std::string database{};
  // PEM file with the authorities that sign the server's certificate. The connection is then
  // encrypted, and the certificate must name the host. Empty: not encrypted.
  std::string ssl_ca{};

  bool has_several() const { return hosts.size() > 1; }
  // The same URL with only this host.
  MysqlUrl at(const MysqlHost& host) const;
  // "mysql://user:***@host:port/database", for logs and messages.
  std::string masked() const;

  bool operator==(const MysqlUrl&) const = default;
};

// Parses "mysql://user:password@host:port/database", or "host:port,host:port" for several hosts.
// Port (3306) and password (empty) are optional. User, password and database use percent-encoding
// ("%40" for "@"); an IPv6 address is in brackets. "?ssl-ca=FILE&ssl-mode=verify_identity" asks for
// TLS; "@", "&" and "?" in FILE are written as %40, %26 and %3F. Error: kInvalidArgument names the
// wrong part, never the password.
Result<MysqlUrl> parse_mysql_url(std::string_view text);

}  // namespace carillon::sql
