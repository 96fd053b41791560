#include "shared/base/configuration_file.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include <toml++/toml.h>

#include "shared/base/nearest_word.h"

namespace carillon {
namespace {

struct KeysOfProgram {
  std::string_view program;
  std::string_view keys;  // separated by spaces
};

// The programs that may share a file, and the keys of each program's table: no program knows
// another's options, and each checks the whole file. A test compares this with their --help.
constexpr std::array kPrograms{
    KeysOfProgram{
        "jobtracker",
        "store store_file data store_wait log_retention audit_retention listen advertise http "
        "http_cert http_key http_names behind_proxy keys insecure xxl_listen xxl_token "
        "xxl_token_file xxl_ca "
        "executor_networks executor_silence tz "
        "lease silence isolate_after pregenerate_horizon pregenerate_period preload_capacity "
        "definition_memory alarm alarm_file alarm_when alarm_interval smtp smtp_file smtp_from "
        "console_read_only console_url oidc_issuer oidc_client_id oidc_client_secret_file "
        "oidc_role proxy_user_header proxy_groups_header proxy_role "
        "name "
        "log_level"},
    KeysOfProgram{"tasktracker",
                  "tracker group threads name label allow http http_job_networks drain_timeout "
                  "kill_grace kill_leftovers "
                  "stop_without_lease cpu_max memory_max output_max data xxl_admin xxl_appname "
                  "xxl_port xxl_address xxl_token xxl_token_file http_cert http_key xxl_ca run_as "
                  "xxl_log_path xxl_log_days token_file keys insecure log_level"},
    KeysOfProgram{
        "jobclient",
        "tracker http_url ca connect_timeout answer_timeout token_file keys insecure data "
        "output"}};

Error bad_file(const std::string& path, int line, const std::string& what) {
  const std::string where = line > 0 ? path + ":" + std::to_string(line) : path;
  return {ErrorCode::kInvalidArgument, "configuration: " + where + ": " + what};
}

int line_of(const toml::node& node) { return static_cast<int>(node.source().begin.line); }

std::optional<std::string> scalar_text(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return std::to_string(number->get());
  if (const auto* boolean = node.as_boolean()) return boolean->get() ? "true" : "false";
  return std::nullopt;
}

Result<FileValue> read_value(const std::string& path, const std::string& key,
                             const toml::node& node) {
  FileValue value{.line = line_of(node)};
  const auto* list = node.as_array();
  if (list == nullptr) {
    auto text = scalar_text(node);
    if (!text) {
      return bad_file(
          path, value.line,
          key + " must be a string in quotes, a whole number, true or false, or a list");
    }
    value.texts.push_back(*std::move(text));
    return value;
  }
  value.is_list = true;
  for (const toml::node& item : *list) {
    auto text = scalar_text(item);
    if (!text) {
      return bad_file(path, line_of(item), key + " must be a list of strings in quotes");
    }
    value.texts.push_back(*std::move(text));
  }
  return value;
}

Result<std::string> read_all(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  std::ostringstream text;
  // Reading an empty file also fails, so this is checked first.
  if (file && file.peek() == std::ifstream::traits_type::eof() && !file.bad()) return std::string{};
  if (!file || !(text << file.rdbuf())) {
    return bad_file(path, 0, std::string{"cannot be read: "} + std::strerror(errno));
  }
  return text.str();
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r";
  const std::size_t start = text.find_first_not_of(kBlanks);
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(kBlanks) + 1 - start);
}

// A hint for the most frequent mistake, for which the parser's message is unclear: a string without
// quotes. The text itself is left out, because it may be a password.
std::string quotes_hint(std::string_view text, std::uint32_t line) {
  for (; line > 1; --line) text.remove_prefix(std::min(text.find('\n') + 1, text.size()));
  text = text.substr(0, text.find('\n'));
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos) return {};
  const std::string_view value = trimmed(text.substr(sign + 1));
  if (value.empty() || std::string_view{"\"'[{"}.find(value.front()) != std::string_view::npos) {
    return {};
  }
  return " (put a string in quotes: " + std::string{trimmed(text.substr(0, sign))} + " = \"...\")";
}

// The only place that converts exceptions of toml++ to errors.
Result<toml::table> parse(const std::string& path, const std::string& text) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    const std::uint32_t line = error.source().begin.line;
    return bad_file(path, static_cast<int>(line),
                    "not TOML: " + std::string{error.description()} + quotes_hint(text, line));
  }
}

Status take_values(const std::string& path, const toml::table& table, FileValues& values) {
  for (const auto& [key, node] : table) {
    if (node.is_table()) continue;
    const std::string name{key.str()};
    values[name] = CARILLON_TRY(read_value(path, name, node));
  }
  return {};
}

std::vector<std::string> words_of(std::string_view text) {
  std::istringstream stream{std::string{text}};
  return {std::istream_iterator<std::string>{stream}, {}};
}

// Keys of another program's table.
Status check_keys(const std::string& path, std::string_view program, const toml::table& table) {
  const auto* found = std::find_if(kPrograms.begin(), kPrograms.end(),
                                   [&](const auto& known) { return known.program == program; });
  const std::vector<std::string> keys = words_of(found->keys);
  for (const auto& [key, node] : table) {
    const std::string name{key.str()};
    if (std::find(keys.begin(), keys.end(), name) != keys.end()) continue;
    return bad_file(
        path, line_of(node),
        "unknown key '" + name + "' of " + std::string{program} + did_you_mean(name, keys));
  }
  return {};
}

}  // namespace

std::string tables_with_key(const std::string& key) {
  std::string tables;
  for (const KeysOfProgram& known : kPrograms) {
    const std::vector<std::string> keys = words_of(known.keys);
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) continue;
    tables += (tables.empty() ? "[" : " or [") + std::string{known.program} + "]";
  }
  return tables;
}

Result<FileValues> read_configuration_file(const std::string& path, const std::string& program) {
  const std::string text = CARILLON_TRY(read_all(path));
  const toml::table file = CARILLON_TRY(parse(path, text));
  FileValues values;
  CARILLON_TRY(take_values(path, file, values));
  std::vector<std::string> tables{program};
  for (const KeysOfProgram& known : kPrograms) tables.emplace_back(known.program);
  for (const auto& [key, node] : file) {
    const toml::table* table = node.as_table();
    if (table == nullptr) continue;
    const std::string name{key.str()};
    if (std::find(tables.begin(), tables.end(), name) == tables.end()) {
      return bad_file(path, line_of(node),
                      "unknown table [" + name + "]" + did_you_mean(name, tables));
    }
    if (name != program) {
      CARILLON_TRY(check_keys(path, name, *table));
      continue;
    }
    for (const auto& [inner_key, inner] : *table) {
      if (inner.is_table()) {
        return bad_file(path, line_of(inner),
                        "unknown table [" + name + "." + std::string{inner_key.str()} + "]");
      }
    }
    CARILLON_TRY(take_values(path, *table, values));
  }
  return values;
}

}  // namespace carillon
