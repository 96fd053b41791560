#include "jobtracker/store/empty_groups.h"

#include <variant>

namespace carillon::jobtracker {

void EmptyGroups::posted(const Operation& operation, Epoch epoch) {
  if (const auto* add = std::get_if<AddJob>(&operation)) {
    put(add->job, epoch);
  } else if (const auto* end = std::get_if<End>(&operation)) {
    if (end->again) put(*end->again, epoch);
    for (const WaitingJob& child : end->children) put(child, epoch);
  } else if (const auto* change = std::get_if<ChangeWaiting>(&operation)) {
    if (change->to) put(*change->to, epoch);
  } else if (const auto* changed = std::get_if<ChangeDefinition>(&operation)) {
    for (const WaitingJob& added : changed->add) put(added, epoch);
  } else if (const auto* definition = std::get_if<AddDefinition>(&operation)) {
    if (definition->first) put(*definition->first, epoch);
  }
}

void EmptyGroups::put(const WaitingJob& job, Epoch epoch) {
  if (job.delayed) return;  // It is in another table.
  last_puts_[job.group] = epoch;
  if (!empty_.empty()) empty_.erase(job.group);
}

bool EmptyGroups::is_settled(GroupId group, Epoch open) const {
  const auto found = last_puts_.find(group);
  return (found == last_puts_.end() ? 0 : found->second) < open;
}

void EmptyGroups::found_empty(GroupId group, Epoch open) {
  if (is_settled(group, open)) empty_.insert(group);
}

}  // namespace carillon::jobtracker
