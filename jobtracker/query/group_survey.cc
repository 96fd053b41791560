#include "jobtracker/query/group_survey.h"

#include <utility>
#include <variant>
#include <vector>

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kGroupsAtOnce = 200;
// Reading a table that is not in the database's cache takes up to a millisecond.
constexpr Duration kBetweenRounds = std::chrono::minutes{1};

}  // namespace

void GroupSurvey::run_once() {
  if (is_asking_ || catalog_.groups().size() < kManyGroups) return;
  // At first it is unknown for all groups whether their posted operations are stored.
  if (batcher_.open_epoch() == 0 || clock_.steady_now() < next_round_) return;
  auto groups = next_groups();
  if (!groups.empty()) ask(std::move(groups));
}

// Groups that may be empty.
std::vector<GroupId> GroupSurvey::next_groups() {
  std::vector<GroupId> groups;
  const EmptyGroups& empty = batcher_.empty_groups();
  auto at = catalog_.groups().upper_bound(last_);
  for (; at != catalog_.groups().end() && groups.size() < kGroupsAtOnce; ++at) {
    const GroupId id = last_ = at->first;
    const bool may_be =
        ownership_.has(id) && !empty.contains(id) && empty.is_settled(id, batcher_.open_epoch());
    if (may_be) groups.push_back(id);
  }
  if (at == catalog_.groups().end()) {
    last_ = {};
    next_round_ = clock_.steady_now() + kBetweenRounds;
  }
  return groups;
}

void GroupSurvey::ask(std::vector<GroupId> groups) {
  is_asking_ = true;
  CountWaiting question{.groups = std::move(groups), .rows_max = 1, .without_delayed = true};
  questions_.ask(std::move(question),
                 [this, open = batcher_.open_epoch()](Result<ReadAnswer> answer) {
                   is_asking_ = false;
                   if (!answer.ok()) return;  // The next pass asks again.
                   for (const auto& one : std::get<CountAnswer>(answer.value()).groups) {
                     if (one.waiting == 0) batcher_.empty_groups().found_empty(one.group, open);
                   }
                 });
}

}  // namespace carillon::jobtracker
