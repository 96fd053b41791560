// Waiting jobs, and their numbers per group.
#include <algorithm>
#include <map>
#include <set>
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
  const auto rows_max = static_cast<std::size_t>(page_of(message));
  // A task has few jobs among many, so whole pages are searched.
  ListWaiting question{.group = group.value(),
                       .limit = message.task_id.empty() ? page_of(message) : kPageMax};
  const auto after = numbers(message.after);
  if (after.size() == 5) {
    question.group = GroupId{static_cast<std::int32_t>(after[0])};
    question.delayed = after[1] != 0;
    if (after[4] != 0)
      question.after =
          HandOutKey{static_cast<int>(after[2]), WallTime{Duration{after[3]}}, JobId{after[4]}};
  } else if (!group.value()) {
    question.group = next_group({}, {});
    question.delayed = !question.group;
  }
  read(
      asker, question,
      [this, asker, message, question, group = group.value(), rows_max](Result<ReadAnswer> answer) {
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
          reply.next = key_text({question.group.value, question.delayed ? 1 : 0, last->priority,
                                 due_time(*last).time_since_epoch().count(), last->id.value});
        } else {
          reply.next = page_after(group, question);
        }
        clients_.answer(asker, std::move(reply));
      });
}

// The key after the last page of a group's table, or of delayed jobs.
std::string QueryDesk::page_after(GroupId named, const ListWaiting& last) const {
  if (named && !last.delayed) return key_text({last.group.value, 1, 0, 0, 0});
  if (!last.group) return {};  // The delayed jobs of all groups were the last.
  const GroupId next = next_group(named, last.group);
  if (next) return key_text({next.value, 0, 0, 0, 0});
  return named ? std::string{} : key_text({0, 1, 0, 0, 0});
}

// The group to list after `last`; 0: complete. For all groups, known empty ones are skipped.
GroupId QueryDesk::next_group(GroupId named, GroupId last) const {
  if (!named) {
    auto next = catalog_.groups().upper_bound(last);
    while (next != catalog_.groups().end() && empty_groups_.contains(next->first)) ++next;
    return next == catalog_.groups().end() ? GroupId{} : next->first;
  }
  const auto parts = catalog_.parts_of(named);
  const auto at = std::find(parts.begin(), parts.end(), last);
  return at == parts.end() || at + 1 == parts.end() ? GroupId{} : *(at + 1);
}

void QueryDesk::groups(const Asker& asker) {
  const CountWaiting question{.now = clock_.now(), .empty = empty_groups_.all()};
  read(asker, question, [this, asker](Result<ReadAnswer> answer) {
    if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
    std::map<GroupId, CountAnswer::PerGroup> counts;
    for (const auto& one : std::get<CountAnswer>(answer.value()).groups) {
      counts[whole(one.group)].waiting += one.waiting;
      counts[whole(one.group)].due += one.due;
    }
    std::map<GroupId, std::int64_t> busy;
    for (const auto& [id, entry] : executing_.all()) ++busy[whole(entry.row.job.group)];
    wire::Rows reply;
    std::set<GroupId> defined;
    for (const auto& [id, definition] : catalog_.definitions())
      defined.insert(whole(definition->row.group));
    for (const auto& [id, group] : catalog_.groups()) {
      if (whole(id) != id) continue;
      const auto parts = catalog_.parts_of(id);
      const auto part = std::find_if(parts.begin(), parts.end(),
                                     [this](GroupId one) { return ownership_.has(one); });
      const bool is_push = executors_.has(id);
      // Columns that only the owner has in memory stay empty.
      const bool is_ours = ownership_.has_all(parts);
      const auto nodes =
          static_cast<std::int64_t>(is_push ? executors_.members(id).size()
                                            : workers_.count(part == parts.end() ? id : *part));
      const bool is_of_use = group.served || is_push || nodes > 0 || counts[id].waiting > 0 ||
                             busy[id] > 0 || defined.contains(id) || !is_ours;
      if (!is_of_use) continue;
      reply.rows.push_back({{"group", group.name},
                            {"name", group.name},
                            {"kind", std::string(is_push ? "push" : "pull")},
                            {"waiting", counts[id].waiting},
                            {"executing", is_ours ? wire::Field{busy[id]} : wire::Field{}},
                            {"due", counts[id].due},
                            {"nodes", part != parts.end() ? wire::Field{nodes} : wire::Field{}},
                            {"parts", static_cast<std::int64_t>(parts.size())}});
    }
    clients_.answer(asker, std::move(reply));
  });
}

}  // namespace carillon::jobtracker
