#include <algorithm>
#include <utility>

#include "jobtracker/store/batch.h"

namespace carillon::jobtracker {

std::optional<AuditRow> audit_row_of(const NumberedRequest& request,
                                     const std::vector<Outcome>& outcomes) {
  std::optional<AuditRow> row = request.audit;
  if (!row || request.operation_count == 0) return row;
  const auto first = outcomes.begin() + static_cast<std::ptrdiff_t>(request.first_operation);
  const auto last = first + static_cast<std::ptrdiff_t>(request.operation_count);
  const auto is_done = [](const Outcome& outcome) { return outcome.kind == OutcomeKind::kDone; };
  if (std::none_of(first, last, is_done)) row->outcome = "conflict";
  return row;
}

}  // namespace carillon::jobtracker
