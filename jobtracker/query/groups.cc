// Node groups and nodes.
//
// The owner of a group has its runs and the states of its task trackers in memory. So each job
// tracker answers for its own groups and sends the client to the owner of the next ones: each job
// tracker gives the same answer. The key of a page is the partition with which it begins.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "jobtracker/query/pages.h"
#include "jobtracker/query/query.h"
#include "shared/base/time_text.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kOtherRunsMax = 100'000;
// For counting the waiting jobs of all groups, whichever job trackers answer for them.
constexpr Duration kCountTimeMax = std::chrono::milliseconds{250};

std::string labels_text(const std::map<std::string, std::string>& labels) {
  std::string text;
  for (const auto& [name, value] : labels) text += (text.empty() ? "" : ",") + name + "=" + value;
  return text;
}

}  // namespace

std::optional<QueryDesk::GroupPage> QueryDesk::group_page(const Asker& asker,
                                                          const wire::Query& message) const {
  const auto group = group_of(message);
  if (!group.ok()) {
    clients_.answer(asker, error_reply(group.error()));
    return std::nullopt;
  }
  GroupPage page;
  if (group.value() && !ownership_.has(group.value())) {
    clients_.answer(asker, ownership_.elsewhere(group.value(), catalog_.parts(group.value())));
    return std::nullopt;
  }
  if (group.value()) {
    page.groups.insert(group.value());
    return page;
  }
  std::map<std::int32_t, std::set<GroupId>> partitions;  // those with groups
  for (const auto& [id, one] : catalog_.groups()) {
    if (whole(id) == id) partitions[partition_of(id)].insert(id);
  }
  const auto after = numbers(message.after);
  auto at = partitions.lower_bound(after.empty() ? 0 : static_cast<std::int32_t>(after.front()));
  if (at == partitions.end()) return page;
  if (const GroupId first = *at->second.begin(); !ownership_.has(first)) {
    clients_.answer(asker, ownership_.elsewhere(first, 1));
    return std::nullopt;
  }
  for (; at != partitions.end() && ownership_.has(*at->second.begin()); ++at)
    page.groups.insert(at->second.begin(), at->second.end());
  if (at != partitions.end()) page.next = key_text({at->first});
  return page;
}

void QueryDesk::read_other_runs(const Asker& asker, const std::set<GroupId>& groups,
                                std::function<void(OtherRuns)> then) {
  ListExecuting question{.limit = kOtherRunsMax};
  for (const GroupId group : groups) {
    for (const GroupId part : catalog_.parts_of(group)) {
      if (!ownership_.has(part)) question.groups.push_back(part);
    }
  }
  if (question.groups.empty()) return then({});
  read(asker, std::move(question),
       [this, asker, then = std::move(then)](Result<ReadAnswer> answer) {
         if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
         OtherRuns runs;
         for (const ExecutingJob& job : std::get<ExecutingAnswer>(answer.value()).jobs) {
           ++runs.by_session[job.session];
           ++runs.by_group[whole(job.job.group)];
         }
         then(std::move(runs));
       });
}

void QueryDesk::nodes(const Asker& asker, const wire::Query& message) {
  const auto page = group_page(asker, message);
  if (!page) return;
  read_other_runs(asker, page->groups, [this, asker, page](const OtherRuns& others) {
    read(asker, ListNodes{}, [this, asker, page, others](Result<ReadAnswer> answer) {
      if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
      clients_.answer(asker, node_rows(*page, std::get<NodesAnswer>(answer.value()).nodes, others));
    });
  });
}

wire::Rows QueryDesk::node_rows(const GroupPage& page, const std::vector<NodeRow>& stored,
                                const OtherRuns& others) const {
  wire::Rows reply{.next = page.next};
  using Place = std::tuple<bool, std::string, std::string, WallTime, SessionId>;
  std::map<Place, const NodeRow*> nodes;  // those that are gone last
  for (const NodeRow& node : stored) {
    if (!page.groups.contains(node.group)) continue;
    const bool is_here = workers_.all().find(node.session) != workers_.all().end();
    const bool comes_here = catalog_.parts(node.group) == 1;
    const bool gone = comes_here ? !is_here : !is_here && !node.alive;
    nodes.emplace(Place{gone, group_name(node.group), node.name, node.started_at, node.session},
                  &node);
  }
  for (const auto& [place, found] : nodes) {
    const NodeRow& node = *found;
    const auto live = workers_.all().find(node.session);
    const bool alive = !std::get<bool>(place);
    wire::Field free;
    WallTime seen = node.last_seen;
    std::string state = alive ? "alive" : "gone";
    if (live != workers_.all().end()) {
      auto busy = static_cast<std::int64_t>(executing_.of_session(node.session).size());
      if (const auto other = others.by_session.find(node.session); other != others.by_session.end())
        busy += other->second;
      if (!live->second->overload.empty()) state = "overloaded";
      if (live->second->is_isolated) state = "isolated";
      if (live->second->is_draining || live->second->is_drained) state = "draining";
      free = std::max<std::int64_t>(0, live->second->threads - busy);
      seen = clock_.now() -
             std::chrono::duration_cast<Duration>(clock_.steady_now() - live->second->heard_at);
    }
    reply.rows.push_back(
        {{"name", node.name},
         {"kind", std::string("tasktracker")},
         {"group", group_name(node.group)},
         {"address", node.address},
         {"state", state},
         {"threads", std::int64_t{node.threads}},
         {"free", free},
         {"last_seen", format_time(seen)},
         {"labels", live != workers_.all().end() ? labels_text(live->second->labels) : ""},
         {"version",
          live != workers_.all().end() ? wire::Field{live->second->version} : wire::Field{}}});
  }
  for (const GroupId id : executors_.groups()) {
    if (!page.groups.contains(id)) continue;
    for (const auto& [address, row] : executors_.members(id))
      reply.rows.push_back(executor_row(row));
  }
  return reply;
}

void QueryDesk::groups(const Asker& asker, const wire::Query& message) {
  const auto page = group_page(asker, message);
  if (!page) return;
  CountWaiting question{.now = clock_.now()};
  if (const auto all = static_cast<std::int64_t>(catalog_.groups().size()); message.group.empty())
    question.time_max = kCountTimeMax * static_cast<std::int64_t>(page->groups.size()) /
                        std::max<std::int64_t>(all, 1);
  if (!ownership_.has_all()) {
    for (const GroupId group : page->groups) {
      const auto parts = catalog_.parts_of(group);
      question.groups.insert(question.groups.end(), parts.begin(), parts.end());
    }
  }
  read_other_runs(asker, page->groups, [this, asker, page, question](const OtherRuns& others) {
    read(asker, question, [this, asker, page, others](Result<ReadAnswer> answer) {
      if (!answer.ok()) return clients_.answer(asker, error_reply(answer.error()));
      clients_.answer(asker, group_rows(*page, std::get<CountAnswer>(answer.value()), others));
    });
  });
}

wire::Rows QueryDesk::group_rows(const GroupPage& page, const CountAnswer& counted,
                                 const OtherRuns& others) const {
  std::map<GroupId, CountAnswer::PerGroup> counts;
  for (const auto& one : counted.groups) {
    CountAnswer::PerGroup& sum = counts[whole(one.group)];
    sum.waiting += one.waiting;
    sum.due += one.due;
    sum.is_known = sum.is_known && one.is_known;
  }
  std::map<GroupId, std::int64_t> busy = others.by_group;
  for (const auto& [id, entry] : executing_.all()) ++busy[whole(entry.row.job.group)];
  wire::Rows reply{.next = page.next};
  for (const GroupId id : page.groups) {
    const Group* group = catalog_.group(id);
    if (group == nullptr) continue;
    const auto parts = catalog_.parts_of(id);
    const bool is_push = executors_.has(id);
    const auto nodes =
        static_cast<std::int64_t>(is_push ? executors_.members(id).size() : workers_.count(id));
    const CountAnswer::PerGroup& count = counts[id];
    const auto known = [&](std::int64_t number) {
      return count.is_known ? wire::Field{number} : wire::Field{};
    };
    const bool is_of_use = group->served || is_push || nodes > 0 || count.waiting > 0 ||
                           !count.is_known || busy[id] > 0 || catalog_.has_definitions(parts) ||
                           !ownership_.has_all(parts);
    if (!is_of_use) continue;
    reply.rows.push_back({{"group", group->name},
                          {"name", group->name},
                          {"kind", std::string(is_push ? "push" : "pull")},
                          {"waiting", known(count.waiting)},
                          {"executing", busy[id]},
                          {"due", known(count.due)},
                          {"nodes", nodes},
                          {"parts", static_cast<std::int64_t>(parts.size())}});
  }
  return reply;
}

}  // namespace carillon::jobtracker
