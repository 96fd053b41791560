#include "jobtracker/figures/figures_desk.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace carillon::jobtracker {
namespace {

constexpr Duration kMinute = std::chrono::minutes{1};
// A count may use this share of the time, so that it does not delay answers to clients.
constexpr int kShareOfCounts = 20;
constexpr Duration kFiguresCountMax = std::chrono::milliseconds{500};
constexpr std::int64_t kOthersRunsMax = 10'000;

WallTime minute_of(WallTime time) {
  return WallTime{time.time_since_epoch() - time.time_since_epoch() % kMinute};
}

std::int64_t milliseconds(Duration time) {
  return std::chrono::ceil<std::chrono::milliseconds>(time).count();
}

bool is_empty(const FiguresRow& row) {
  return row.submitted == 0 && row.started == 0 && row.ended == 0 && row.backlog == 0 &&
         row.workers == 0;
}

}  // namespace

FiguresDesk::FiguresDesk(GroupMetrics& metrics, const Catalog& catalog, const Ownership& ownership,
                         const ExecutingTable& executing, const Workers& workers,
                         const Executors& executors, Questions& questions, Batcher& batcher,
                         const SchedulingClock& clock)
    : metrics_(metrics),
      catalog_(catalog),
      ownership_(ownership),
      executing_(executing),
      workers_(workers),
      executors_(executors),
      questions_(questions),
      batcher_(batcher),
      clock_(clock) {}

void FiguresDesk::run_once() {
  count_due();
  const WallTime now = minute_of(clock_.now());
  const auto last = std::exchange(minute_, now);
  if (last && *last < now) write(*last);
}

void FiguresDesk::count_due() {
  const SteadyTime now = clock_.steady_now();
  if (is_counting_ || now < next_count_) return;
  CountWaiting question{.now = clock_.now(), .only_due = true, .time_max = kFiguresCountMax};
  for (const auto& [id, group] : catalog_.groups()) {
    if (ownership_.has(id)) question.groups.push_back(id);
  }
  next_count_ = now + kCountPeriod;
  if (question.groups.empty()) {
    has_counted_ = true;
    return;
  }
  is_counting_ = true;
  questions_.ask(std::move(question), [this, now](const Result<ReadAnswer>& answer) {
    is_counting_ = false;
    const SteadyTime::duration rest = (clock_.steady_now() - now) * kShareOfCounts;
    next_count_ = now + std::max<SteadyTime::duration>(kCountPeriod, rest);
    if (!answer.ok()) return;  // The next count asks again.
    has_counted_ = true;
    for (const auto& one : std::get<CountAnswer>(answer.value()).groups) {
      if (!one.is_known) continue;
      if (one.due > 0) {
        due_[one.group] = one.due;
      } else {
        due_.erase(one.group);
      }
    }
  });
}

std::int64_t FiguresDesk::due_of(const std::vector<GroupId>& parts) const {
  std::int64_t due = 0;
  for (const GroupId part : parts) {
    if (const auto found = due_.find(part); found != due_.end()) due += found->second;
  }
  return due;
}

std::map<GroupId, GroupLevels> FiguresDesk::members() const {
  std::map<GroupId, GroupLevels> groups;
  for (const auto& [session, worker] : workers_.all()) {
    if (is_push_session(session)) continue;
    GroupLevels& group = groups[worker->group];
    ++group.workers;
    group.threads += worker->threads;
  }
  for (const GroupId id : executors_.groups()) {
    if (ownership_.has(id))
      groups[id].workers = static_cast<std::int64_t>(executors_.addresses(id).size());
  }
  return groups;
}

std::map<GroupId, GroupLevels> FiguresDesk::levels() const {
  std::map<GroupId, GroupLevels> groups;
  for (const auto& [id, group] : members()) {
    if (ownership_.has(id)) groups[id] = group;
  }
  for (const auto& [part, due] : due_) {
    const Group* whole = catalog_.whole_of(part);
    if (whole != nullptr && ownership_.has(part)) groups[whole->id].due += due;
  }
  std::unordered_map<GroupId, std::int64_t> executing;
  for (const auto& [id, entry] : executing_.all()) ++executing[entry.row.job.group];
  for (const auto& [part, count] : executing) {
    if (const Group* whole = catalog_.whole_of(part)) groups[whole->id].executing += count;
  }
  return groups;
}

FiguresRow FiguresDesk::row_of(WallTime minute, GroupId part, const GroupMinute& counts,
                               const std::map<GroupId, GroupLevels>& members) const {
  const Group* whole = catalog_.whole_of(part);
  FiguresRow row{.minute = minute,
                 .group = whole == nullptr ? part : whole->id,
                 .part = part,
                 .submitted = counts.submitted,
                 .started = counts.started,
                 .ended = counts.ended,
                 .failed = counts.failed,
                 .lateness_p50_ms = milliseconds(counts.lateness.quantile(0.50)),
                 .lateness_p95_ms = milliseconds(counts.lateness.quantile(0.95)),
                 .lateness_p99_ms = milliseconds(counts.lateness.quantile(0.99)),
                 .backlog = due_of({part})};
  if (const auto found = members.find(part); row.group == part && found != members.end()) {
    row.workers = found->second.workers;
    row.threads = found->second.threads;
  }
  return row;
}

void FiguresDesk::write(WallTime minute) {
  const auto minutes = metrics_.take_minute();
  if (unstored_ > 0) return;
  const auto all_members = members();
  const GroupMinute none;
  for (const auto& [id, group] : catalog_.groups()) {
    if (!ownership_.has(id)) continue;
    const auto found = minutes.find(id);
    const FiguresRow row =
        row_of(minute, id, found == minutes.end() ? none : found->second, all_members);
    if (is_empty(row)) continue;
    ++unstored_;
    // A row that cannot be stored is missing.
    batcher_.post(Urgency::kHousekeeping, PutFigures{row},
                  [this](Operation&, const Outcome&, const Error*) { --unstored_; });
  }
}

void FiguresDesk::ask_levels(const std::string& name, OnLevels done) {
  const Group* group = catalog_.group(name);
  if (group == nullptr) {
    done(Error{ErrorCode::kNotFound, "there is no group '" + name + "'"});
    return;
  }
  if (ownership_.has_all(catalog_.parts_of(group->id))) {
    if (has_counted_) return done(levels()[group->id]);
    done(Error{ErrorCode::kUnavailable, "the due jobs have not been counted yet, try again"});
    return;
  }
  Others& others = others_[group->id];
  if (others.at && clock_.steady_now() < *others.at + kOthersAge) return done(others.levels);
  others.waiting.push_back(std::move(done));
  if (others.waiting.size() == 1) read_others(group->id);
}

void FiguresDesk::read_others(GroupId group) {
  const std::vector<GroupId> parts = catalog_.parts_of(group);
  questions_.ask(
      CountWaiting{
          .now = clock_.now(), .groups = parts, .only_due = true, .time_max = kFiguresCountMax},
      [this, group, parts](const Result<ReadAnswer>& counted) {
        if (!counted.ok()) return answer(group, counted.error());
        GroupLevels levels;
        for (const auto& one : std::get<CountAnswer>(counted.value()).groups) levels.due += one.due;
        questions_.ask(ListExecuting{.groups = parts, .limit = kOthersRunsMax},
                       [this, group, levels](const Result<ReadAnswer>& executing) mutable {
                         if (!executing.ok()) return answer(group, executing.error());
                         levels.executing = static_cast<std::int64_t>(
                             std::get<ExecutingAnswer>(executing.value()).jobs.size());
                         read_nodes(group, levels);
                       });
      });
}

void FiguresDesk::read_nodes(GroupId group, GroupLevels levels) {
  questions_.ask(ListNodes{}, [this, group, levels](const Result<ReadAnswer>& found) mutable {
    if (!found.ok()) return answer(group, found.error());
    for (const NodeRow& node : std::get<NodesAnswer>(found.value()).nodes) {
      if (!node.alive || node.group != group) continue;
      ++levels.workers;
      levels.threads += node.threads;
    }
    if (executors_.has(group))
      levels.workers = static_cast<std::int64_t>(executors_.addresses(group).size());
    answer(group, levels);
  });
}

void FiguresDesk::answer(GroupId group, const Result<GroupLevels>& levels) {
  Others& others = others_[group];
  if (levels.ok()) {
    others.at = clock_.steady_now();
    others.levels = levels.value();
  }
  for (const OnLevels& done : std::exchange(others.waiting, {})) done(levels);
}

}  // namespace carillon::jobtracker
