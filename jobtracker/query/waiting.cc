// What waits.
#include <algorithm>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"

namespace carillon::jobtracker {

// Pages through one group after another: first its executable table, then its delayed jobs. Without
// a named group, the delayed jobs of all groups come last. A page key is group : delayed : priority
// : time : id.
void QueryDesk::waiting(const Asker& asker, const wire::Query& message) {
  const auto group = group_of(message);
  if (!group.ok()) return clients_.answer(asker, error_reply(group.error()));
  const auto visible = visible_parts(asker, group.value());
  if (!visible) return clients_.answer(asker, wire::Rows{});
  const auto rows_max = static_cast<std::size_t>(page_of(message));
  // A task has few jobs among many, so whole pages are searched.
  ListWaiting question{.group = visible->empty() ? GroupId{} : visible->front(),
                       .limit = message.task_id.empty() ? page_of(message) : kPageMax};
  const auto after = numbers(message.after);
  if (after.size() == 5) {
    question.group = GroupId{static_cast<std::int32_t>(after[0])};
    question.delayed = after[1] != 0;
    if (after[4] != 0)
      question.after =
          HandOutKey{static_cast<int>(after[2]), WallTime{Duration{after[3]}}, JobId{after[4]}};
  } else if (visible->empty()) {
    const auto& groups = catalog_.groups();
    question.delayed = groups.empty();
    if (!groups.empty()) question.group = groups.begin()->first;
  }
  question.and_later_groups = visible->empty();
  if (!visible->empty() && !is_of(*visible, question.group))
    return clients_.answer(asker, wire::Rows{});
  read(asker, question,
       [this, asker, message, question, parts = *visible, rows_max](Result<ReadAnswer> answer) {
         if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
         const auto& jobs = std::get<JobsAnswer>(answer.value()).jobs;
         wire::Rows reply;
         const WaitingJob* last = nullptr;
         for (const WaitingJob& job : jobs) {
           if (reply.rows.size() == rows_max) break;
           last = &job;
           if (!is_of_task(message, job.task_id)) continue;
           reply.rows.push_back(waiting_row(job));
         }
         if (reply.rows.size() == rows_max ||
             static_cast<std::int64_t>(jobs.size()) == question.limit) {
           const GroupId of = question.delayed ? question.group : last->group;
           reply.next = key_text({of.value, question.delayed ? 1 : 0, last->priority,
                                  due_time(*last).time_since_epoch().count(), last->id.value});
         } else {
           reply.next = page_after(parts, question);
         }
         clients_.answer(asker, std::move(reply));
       });
}

// The key after the last page of a group's table, or of delayed jobs.
std::string QueryDesk::page_after(const std::vector<GroupId>& parts, const ListWaiting& last) {
  if (parts.empty()) return last.delayed ? std::string{} : key_text({0, 1, 0, 0, 0});
  if (!last.delayed) return key_text({last.group.value, 1, 0, 0, 0});
  const auto at = std::find(parts.begin(), parts.end(), last.group);
  if (at == parts.end() || at + 1 == parts.end()) return {};
  return key_text({(at + 1)->value, 0, 0, 0, 0});
}

}  // namespace carillon::jobtracker
