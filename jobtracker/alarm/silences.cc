#include "jobtracker/alarm/silences.h"

namespace carillon::jobtracker {

void Silences::refresh() {
  questions_.ask(ListSilences{}, [this, changes = changes_](const Result<ReadAnswer>& answer) {
    // An answer may be older than a change.
    if (answer.ok() && changes == changes_) take(std::get<SilencesAnswer>(answer.value()).rows);
  });
}

void Silences::put(const SilenceRow& row) {
  ++changes_;
  until_[row.group] = row.until;
}

void Silences::take(const std::vector<SilenceRow>& stored) {
  until_.clear();
  for (const SilenceRow& one : stored) until_[one.group] = one.until;
}

std::optional<WallTime> Silences::until(GroupId group) const {
  const auto found = until_.find(group);
  if (found == until_.end() || found->second <= clock_.now()) return std::nullopt;
  return found->second;
}

std::vector<GroupId> Silences::groups() const {
  std::vector<GroupId> groups;
  for (const auto& [group, end] : until_) {
    if (until(group)) groups.push_back(group);
  }
  return groups;
}

}  // namespace carillon::jobtracker
