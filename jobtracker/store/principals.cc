#include "jobtracker/store/batch.h"

namespace carillon::jobtracker {

std::optional<PrincipalRow> principal_after(const PutPrincipal& put,
                                            const std::optional<PrincipalRow>& before) {
  PrincipalRow after = put.row;
  if (!before) return after.principal.groups.empty() ? std::nullopt : std::optional{after};
  if (after.principal.groups.empty()) after.principal = before->principal;
  if (after.secret.empty()) after.secret = before->secret;
  if (!put.replaces && after.secret != before->secret) return std::nullopt;
  after.created_at = before->created_at;
  after.created_by = before->created_by;
  if (after.language.empty()) after.language = before->language;
  if (after.expires_at == WallTime{}) after.expires_at = before->expires_at;
  return after;
}

}  // namespace carillon::jobtracker
