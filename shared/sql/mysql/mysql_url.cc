#include "shared/sql/mysql/mysql_url.h"

#include <charconv>
#include <optional>

namespace carillon::sql {
namespace {

constexpr std::string_view kScheme = "mysql://";
constexpr const char* kForm = ", expected mysql://user:password@host:port[,host:port...]/database";

Error wrong(const std::string& what) {
  return {ErrorCode::kInvalidArgument, "database url: " + what + kForm};
}

std::optional<int> hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') return letter - '0';
  if (letter >= 'a' && letter <= 'f') return letter - 'a' + 10;
  if (letter >= 'A' && letter <= 'F') return letter - 'A' + 10;
  return std::nullopt;
}

Result<std::string> percent_decoded(std::string_view text, const char* part) {
  std::string decoded;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '%') {
      decoded += text[at];
      continue;
    }
    const auto high = at + 1 < text.size() ? hex_digit(text[at + 1]) : std::nullopt;
    const auto low = at + 2 < text.size() ? hex_digit(text[at + 2]) : std::nullopt;
    if (!high || !low) {
      return wrong(std::string{"\"%\" in the "} + part +
                   " is not followed by two hexadecimal digits (write %25 for a percent sign)");
    }
    decoded += static_cast<char>(*high * 16 + *low);
    at += 2;
  }
  return decoded;
}

Result<std::uint16_t> parse_port(std::string_view text) {
  std::uint16_t port = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, port);
  if (error != std::errc{} || stop != end || port == 0) {
    return wrong("port \"" + std::string{text} + "\" is not a number from 1 to 65535");
  }
  return port;
}

// "host", "host:port", "[::1]" or "[::1]:port".
Result<MysqlHost> parse_host(std::string_view text) {
  MysqlHost host;
  std::string_view rest;
  if (text.starts_with('[')) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return wrong("\"[\" of the host is not closed");
    host.name = std::string{text.substr(1, close - 1)};
    rest = text.substr(close + 1);
    if (!rest.empty() && !rest.starts_with(':')) return wrong("unexpected text after \"]\"");
  } else {
    const auto colon = text.find(':');
    host.name = std::string{text.substr(0, colon)};
    rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon);
  }
  if (host.name.empty()) return wrong("the host is missing");
  if (!rest.empty()) host.port = CARILLON_TRY(parse_port(rest.substr(1)));
  return host;
}

// One or several, separated by ",".
Result<std::vector<MysqlHost>> parse_hosts(std::string_view text) {
  std::vector<MysqlHost> hosts;
  while (true) {
    const auto comma = text.find(',');
    hosts.push_back(CARILLON_TRY(parse_host(text.substr(0, comma))));
    if (comma == std::string_view::npos) return hosts;
    text.remove_prefix(comma + 1);
  }
}

// "ssl-ca=FILE&ssl-mode=verify_identity", in any order.
Status parse_parameters(std::string_view text, MysqlUrl& url) {
  bool verifies = false;
  while (true) {
    const auto end = text.find('&');
    const auto parameter = text.substr(0, end);
    const auto sign = parameter.find('=');
    const std::string name{parameter.substr(0, sign)};
    const auto given =
        sign == std::string_view::npos ? std::string_view{} : parameter.substr(sign + 1);
    const auto value = CARILLON_TRY(percent_decoded(given, "parameter"));
    if (name != "ssl-ca" && name != "ssl-mode") {
      return wrong("unknown parameter \"" + name + "\" (there are ssl-ca and ssl-mode)");
    }
    if (name == "ssl-ca" ? !url.ssl_ca.empty() : verifies) {
      return wrong(name + " is given twice");
    }
    if (name == "ssl-ca") {
      if (value.empty()) return wrong("ssl-ca names no file");
      url.ssl_ca = value;
    } else {
      // Any weaker mode would let an attacker in between read everything.
      if (value != "verify_identity") return wrong("ssl-mode must be verify_identity");
      verifies = true;
    }
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  if (verifies && !url.ssl_ca.empty()) return {};
  return wrong("ssl-ca=FILE and ssl-mode=verify_identity need each other");
}

}  // namespace

std::string MysqlHost::text() const {
  const bool is_ipv6 = name.find(':') != std::string::npos;
  return (is_ipv6 ? "[" + name + "]" : name) + ":" + std::to_string(port);
}

MysqlUrl MysqlUrl::at(const MysqlHost& host) const {
  MysqlUrl one = *this;
  one.hosts = {host};
  return one;
}

std::string MysqlUrl::masked() const {
  std::string list;
  for (const MysqlHost& host : hosts) list += (list.empty() ? "" : ",") + host.text();
  return std::string{kScheme} + user + (password.empty() ? "@" : ":***@") + list + "/" + database;
}

Result<MysqlUrl> parse_mysql_url(std::string_view text) {
  if (!text.starts_with(kScheme)) return wrong("it does not start with mysql://");
  text.remove_prefix(kScheme.size());

  std::string_view parameters;
  const auto question = text.rfind('?');
  const bool has_parameters =
      question != std::string_view::npos && text.find('@', question) == std::string_view::npos;
  if (has_parameters) {
    parameters = text.substr(question + 1);
    text = text.substr(0, question);
  }

  // The last "@" before the path: a password without percent-encoding may contain another.
  const auto at = text.substr(0, text.rfind('/')).rfind('@');
  if (at == std::string_view::npos) return wrong("the user is missing");
  const auto credentials = text.substr(0, at);
  text.remove_prefix(at + 1);

  MysqlUrl url;
  const auto colon = credentials.find(':');
  url.user = CARILLON_TRY(percent_decoded(credentials.substr(0, colon), "user"));
  if (url.user.empty()) return wrong("the user is missing");
  if (colon != std::string_view::npos) {
    url.password = CARILLON_TRY(percent_decoded(credentials.substr(colon + 1), "password"));
  }

  const auto slash = text.find('/');
  url.hosts = CARILLON_TRY(parse_hosts(text.substr(0, slash)));
  if (slash != std::string_view::npos) text.remove_prefix(slash + 1);
  if (slash == std::string_view::npos || text.empty()) return wrong("the database is missing");
  if (text.find_first_of("/?#") != std::string_view::npos) {
    return wrong("the database \"" + std::string{text} +
                 "\" contains one of / ? # (write such a character as %2F)");
  }
  url.database = CARILLON_TRY(percent_decoded(text, "database"));
  if (has_parameters) CARILLON_TRY(parse_parameters(parameters, url));
  return url;
}

}  // namespace carillon::sql
