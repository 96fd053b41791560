#include "jobtracker/api/console_session.h"

#include <charconv>
#include <utility>

#include "shared/base/crypto.h"
#include "shared/base/secret.h"
#include "shared/base/signing.h"

namespace carillon::jobtracker {
namespace {

constexpr std::string_view kPurpose = "session";
constexpr std::size_t kIdBytes = 16;
constexpr std::size_t kMarkLength = 16;
// Of the fields of a session in its cookie: kind, name, id, issued, expires, mark, role, groups.
constexpr std::size_t kFields = 8;
constexpr char kFieldEnd = '\n';
constexpr char kPatternEnd = ' ';

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string micros_text(WallTime time) { return std::to_string(time.time_since_epoch().count()); }

std::optional<WallTime> micros_time(const std::string& text) {
  std::int64_t micros = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), micros);
  if (parsed.ec != std::errc{} || parsed.ptr != text.data() + text.size()) return std::nullopt;
  return WallTime{Duration{micros}};
}

}  // namespace

std::string derive(std::string_view purpose, const std::string& text, std::string_view key) {
  return to_base64url(hmac_sha256(key, std::string{purpose} + kFieldEnd + text));
}

std::string sign_text(std::string_view purpose, const std::string& text, std::string_view key) {
  return to_base64url(text) + "." + derive(purpose, text, key);
}

std::optional<std::string> read_signed(std::string_view purpose, std::string_view signed_text,
                                       std::string_view key) {
  const std::size_t dot = signed_text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  auto text = from_base64url(signed_text.substr(0, dot));
  if (!text || !is_same_secret(derive(purpose, *text, key), signed_text.substr(dot + 1)))
    return std::nullopt;
  return text;
}

ConsoleSession make_session(std::string kind, std::string name, WallTime now, Duration length) {
  return {.kind = std::move(kind),
          .name = std::move(name),
          .id = to_base64url(random_bytes(kIdBytes)),
          .issued_at = now,
          .expires_at = now + length};
}

std::string sign_session(const ConsoleSession& session, std::string_view key) {
  std::string text;
  for (const std::string& field :
       {session.kind, session.name, session.id, micros_text(session.issued_at),
        micros_text(session.expires_at), session.password_mark})
    text += field + kFieldEnd;
  if (session.own_role) text += to_string(session.own_role->role);
  text += kFieldEnd;
  if (session.own_role) {
    std::string patterns;
    for (const std::string& pattern : session.own_role->groups)
      patterns += (patterns.empty() ? "" : std::string{kPatternEnd}) + pattern;
    text += patterns;
  }
  return sign_text(kPurpose, text, key);
}

std::optional<ConsoleSession> read_session(std::string_view text, std::string_view key) {
  const auto signed_text = read_signed(kPurpose, text, key);
  if (!signed_text) return std::nullopt;
  const std::vector<std::string> fields = split(*signed_text, kFieldEnd);
  if (fields.size() != kFields) return std::nullopt;
  const auto issued_at = micros_time(fields[3]);
  const auto expires_at = micros_time(fields[4]);
  if (!issued_at || !expires_at) return std::nullopt;
  ConsoleSession session{.kind = fields[0],
                         .name = fields[1],
                         .id = fields[2],
                         .issued_at = *issued_at,
                         .expires_at = *expires_at,
                         .password_mark = fields[5]};
  if (!fields[6].empty()) {
    const auto role = parse_role(fields[6]);
    if (!role.ok()) return std::nullopt;
    session.own_role = {role.value(), split(fields[7], kPatternEnd)};
  }
  return session;
}

std::string csrf_token_of(const ConsoleSession& session, std::string_view key) {
  return derive("csrf", session.kind + kFieldEnd + session.name + kFieldEnd + session.id, key);
}

std::string password_mark_of(const std::string& password_hash) {
  return sha256_hex(password_hash).substr(0, kMarkLength);
}

}  // namespace carillon::jobtracker
