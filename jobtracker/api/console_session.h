#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/time.h"
#include "shared/base/principal.h"

namespace carillon::jobtracker {

// A session of the console. Its cookie contains all of it, signed with a key that the job trackers
// share, so that each of them knows it, also after a restart.
//
// Thread: any.
struct ConsoleSession {
  // A role that the store does not keep: of a person who signed in elsewhere, or of the local
  // administrator.
  struct OwnRole {
    Role role = Role::kViewer;
    std::vector<std::string> groups{};

    bool operator==(const OwnRole&) const = default;
  };

  std::string kind{};  // of its principal: user, oidc, local
  std::string name{};
  std::string id{};  // random
  WallTime issued_at{};
  WallTime expires_at{};
  std::string password_mark{};        // user: see password_mark_of()
  std::optional<OwnRole> own_role{};  // none: the stored user has the role

  bool operator==(const ConsoleSession&) const = default;
};

// A session with a new id.
ConsoleSession make_session(std::string kind, std::string name, WallTime now, Duration length);

// The text of its cookie.
std::string sign_session(const ConsoleSession& session, std::string_view key);
// None: it is not signed with this key. It may have expired.
std::optional<ConsoleSession> read_session(std::string_view text, std::string_view key);

// What a page must send with each change, so that pages of other sites cannot make changes.
std::string csrf_token_of(const ConsoleSession& session, std::string_view key);

// Identifies a stored hash of a password: with a new password the mark is another one.
std::string password_mark_of(const std::string& password_hash);

// A text and its signature, for one purpose: "TEXT.SIGNATURE".
std::string sign_text(std::string_view purpose, const std::string& text, std::string_view key);
// The text; none: the signature is wrong.
std::optional<std::string> read_signed(std::string_view purpose, std::string_view signed_text,
                                       std::string_view key);
// A value that only holders of the key can derive from `text`.
std::string derive(std::string_view purpose, const std::string& text, std::string_view key);

}  // namespace carillon::jobtracker
