#include "jobtracker/push/executor_choice.h"

#include <algorithm>
#include <utility>

#include "jobtracker/state/xxl_number.h"

namespace carillon::jobtracker {
namespace {

constexpr std::size_t kFailedMax = 10'000;  // jobs whose next try should use another executor
// A due try may still wait for its turn; a later one may use any executor.
constexpr Duration kFailedFor = std::chrono::minutes{1};

}  // namespace

void ExecutorChoice::start(const std::vector<RouteRow>& rows, std::vector<Operation>& operations) {
  for (const RouteRow& row : rows) {
    if (const ActiveDefinition* found = catalog_.definition(row.definition)) {
      memories_[{found->row.group, found->row.task_id}] = RouteMemory::from_text(row.memory);
    } else {
      operations.emplace_back(PutRoute{{.definition = row.definition, .group = row.group}});
    }
  }
}

std::vector<std::string> ExecutorChoice::all_for(const PushedJob& job) const {
  if (job.push.addresses.empty()) return executors_.addresses(job.group);
  const bool have_list = executors_.are_listed(job.group);
  std::vector<std::string> addresses;
  for (const std::string& address : job.push.addresses) {
    const ExecutorRow* found = executors_.find(job.group, address);
    if (found == nullptr || (have_list && !found->is_manual)) continue;
    const bool is_new =
        std::find(addresses.begin(), addresses.end(), found->address) == addresses.end();
    if (is_new) addresses.push_back(found->address);
  }
  return addresses;
}

std::vector<std::string> ExecutorChoice::by_route(const PushedJob& job,
                                                  const std::vector<std::string>& addresses,
                                                  std::vector<Operation>& operations) {
  RouteMemory memory;
  // The current definition: the attempt may belong to a replaced one.
  const ActiveDefinition* definition = catalog_.definition(job.group, job.task_id);
  if (definition != nullptr) memory = memories_[{job.group, job.task_id}];
  const RouteMemory before = memory;
  const std::int32_t number = xxl_number(job.task_id);
  auto order = route(job.push.route, number != 0 ? std::to_string(number) : job.task_id, addresses,
                     memory, random_);
  if (definition != nullptr && memory != before) {
    memories_[{job.group, job.task_id}] = memory;
    operations.emplace_back(PutRoute{
        {.definition = definition->row.id, .group = job.group, .memory = memory.to_text()}});
  }
  prefer_the_well(job.group, order);
  prefer_another(job.id, order);
  return order;
}

void ExecutorChoice::prefer_another(JobId job, std::vector<std::string>& order) {
  const auto failed = failed_at_.find(job);
  if (failed == failed_at_.end()) return;
  std::stable_partition(order.begin(), order.end(), [&](const std::string& address) {
    return address != failed->second.address;
  });
  failed_at_.erase(failed);
}

void ExecutorChoice::prefer_the_well(GroupId group, std::vector<std::string>& order) const {
  std::stable_sort(order.begin(), order.end(), [&](const auto& a, const auto& b) {
    return health_.of(group, a) < health_.of(group, b);
  });
}

void ExecutorChoice::failed_at(JobId job, const std::string& address, SteadyTime due) {
  if (failed_at_.size() >= kFailedMax) failed_at_.clear();  // Only a preference.
  failed_at_[job] = {.address = address, .until = due + kFailedFor};
}

void ExecutorChoice::tidy(SteadyTime now) {
  std::erase_if(failed_at_, [now](const auto& one) { return one.second.until <= now; });
  std::erase_if(memories_, [&](const auto& one) {
    const auto& [group, task_id] = one.first;
    return catalog_.definition(group, task_id) == nullptr;
  });
}

}  // namespace carillon::jobtracker
