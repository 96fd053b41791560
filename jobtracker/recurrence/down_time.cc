#include "jobtracker/recurrence/down_time.h"

namespace carillon::jobtracker {

void DownTime::begin(const StartAnswer& found, WallTime now) {
  from_ = found.last_alive;
  from_of_ = found.last_alive_of;
  until_ = now;
}

WallTime DownTime::from(GroupId group) const {
  const auto found = from_of_.find(partition_of(group));
  return found == from_of_.end() ? from_ : found->second;
}

bool DownTime::was_missed(GroupId group, WallTime trigger, Duration threshold) const {
  const WallTime last_word = from(group);
  return last_word != WallTime{} && trigger > last_word && trigger <= until_ - threshold;
}

}  // namespace carillon::jobtracker
