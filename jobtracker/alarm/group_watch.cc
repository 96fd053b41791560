#include "jobtracker/alarm/group_watch.h"

#include <algorithm>

#include "shared/base/time_text.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker {
namespace {

// A look may use this share of the time, so that it does not delay answers to clients.
constexpr int kShareOfAnswers = 10;

constexpr std::size_t kNamesSaid = 5;  // task trackers or executors named in one text

std::string counted(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  std::size_t said = 0;
  for (const std::string& name : names) {
    if (++said > kNamesSaid) break;
    text += (said == 1 ? "" : ", ") + name;
  }
  if (names.size() > kNamesSaid)
    text += " and " + std::to_string(names.size() - kNamesSaid) + " more";
  return text;
}

std::string in_seconds(Duration time) {
  return format_duration(std::chrono::floor<std::chrono::seconds>(time));
}

}  // namespace

GroupWatch::GroupWatch(const std::vector<AlarmRule>& rules, Catalog& catalog,
                       const Ownership& ownership, const Workers& workers,
                       const Executors& executors, const ExecutorSilence& silence,
                       Questions& questions, SchedulingClock& clock, Tell tell)
    : catalog_(catalog),
      ownership_(ownership),
      workers_(workers),
      executors_(executors),
      silence_(silence),
      questions_(questions),
      clock_(clock),
      tell_(std::move(tell)),
      // Meanwhile task trackers reconnect, and missed jobs are handed out.
      next_look_(clock.steady_now() + kGroupLooks) {
  for (const AlarmRule& rule : rules) {
    rules_[{lower_ascii(rule.group), rule.condition}] = rule;
    counts_ends_ = counts_ends_ || rule.condition == Condition::kFailures;
  }
}

const AlarmRule* GroupWatch::rule_of(const Group& group, Condition condition) const {
  static const AlarmRule kSilentByDefault{.condition = Condition::kSilent};
  auto found = rules_.find({lower_ascii(group.name), condition});
  if (found == rules_.end()) found = rules_.find({std::string{}, condition});
  if (found == rules_.end() && condition == Condition::kSilent) return &kSilentByDefault;
  return found == rules_.end() || found->second.is_off ? nullptr : &found->second;
}

void GroupWatch::go_on_from(Memory memory) {
  const auto has_none = [this](GroupId group) {
    const auto parts = catalog_.parts_of(group);
    return std::none_of(parts.begin(), parts.end(),
                        [this](GroupId part) { return ownership_.has(part); });
  };
  std::erase_if(memory.unserved_since, [&](const auto& one) { return !ownership_.has(one.first); });
  std::erase_if(memory.silent, [&](const auto& one) { return !ownership_.has(one.first); });
  std::erase_if(memory.ends, [&](const auto& one) { return has_none(one.first); });
  std::erase_if(memory.past, [&](const auto& one) { return has_none(one.first); });
  std::erase_if(memory.found, [&](const auto& one) { return has_none(one.first); });
  std::erase_if(memory.said, [&](const auto& one) {
    const auto [group, condition] = one.first;
    const bool is_each_ones = condition == Condition::kFailures || condition == Condition::kOutput;
    return is_each_ones ? has_none(group) : !ownership_.has(group);
  });
  memory_ = std::move(memory);
}

void GroupWatch::count(GroupId part, bool has_failed) {
  if (!counts_ends_) return;
  const Group* group = catalog_.whole_of(part);
  if (group == nullptr) return;
  Ends& ends = memory_.ends[group->id];
  ++ends.runs;
  if (has_failed) ++ends.failed;
}

bool GroupWatch::watches_output(GroupId id) const {
  const Group* group = rules_.empty() ? nullptr : catalog_.whole_of(id);
  return group != nullptr && rule_of(*group, Condition::kOutput) != nullptr;
}

void GroupWatch::wrote(GroupId id, const std::string& task_id, const OutputRow& output) {
  const Group& group = *catalog_.whole_of(id);
  auto words = words_.find(group.id);
  if (words == words_.end())
    words = words_.try_emplace(group.id, rule_of(group, Condition::kOutput)->words).first;
  const std::string_view word = words->second.find(
      {.job_id = output.job_id, .attempt = output.attempt, .stream = output.stream}, output.bytes);
  if (word.empty()) return;
  memory_.found[group.id] = {.at = clock_.steady_now(),
                             .what = "'" + std::string{word} + "' from " + task_id + ", job " +
                                     std::to_string(output.job_id.value)};
}

// The groups whose queues are to be checked, with all their partitions.
std::vector<GroupId> GroupWatch::watched() const {
  std::vector<GroupId> all;
  for (const auto& [id, group] : catalog_.groups()) {
    if (!ownership_.has(id) || catalog_.whole_of(id) != &group) continue;
    if (rule_of(group, Condition::kUnserved) == nullptr &&
        rule_of(group, Condition::kLate) == nullptr &&
        rule_of(group, Condition::kBacklog) == nullptr)
      continue;
    const auto parts = catalog_.parts_of(id);
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

void GroupWatch::run_once() {
  const SteadyTime now = clock_.steady_now();
  if (is_asking_ || now < next_look_) return;
  next_look_ = now + kGroupLooks;
  judge_silence();
  if (rules_.empty()) return;
  for (const auto& [id, group] : catalog_.groups()) {
    if (catalog_.whole_of(id) != &group) continue;
    judge_failures(group);
    judge_output(group);
  }
  judge_overload();
  auto groups = watched();
  if (groups.empty()) return;
  is_asking_ = true;
  questions_.ask(CountWaiting{.now = clock_.now(), .groups = std::move(groups)},
                 [this, now](Result<ReadAnswer> answer) {
                   is_asking_ = false;
                   const SteadyTime::duration rest = (clock_.steady_now() - now) * kShareOfAnswers;
                   next_look_ = now + std::max<SteadyTime::duration>(kGroupLooks, rest);
                   // After an error, the next look asks again.
                   if (answer.ok()) judge(std::get<CountAnswer>(answer.value()).groups);
                 });
}

void GroupWatch::judge(const std::vector<CountAnswer::PerGroup>& counts) {
  std::map<GroupId, Seen> groups;
  for (const auto& part : counts) {
    const Group* group = catalog_.whole_of(part.group);
    if (group == nullptr) continue;
    Seen& seen = groups[group->id];
    if (part.due > 0 && (seen.due == 0 || part.due_since < seen.due_since))
      seen.due_since = part.due_since;
    seen.due += part.due;
  }
  for (auto& [id, seen] : groups) {
    seen.is_push = executors_.has(id);
    seen.nodes = static_cast<std::int64_t>(seen.is_push ? executors_.members(id).size()
                                                        : workers_.count(id));
    judge(*catalog_.group(id), seen);
  }
}

void GroupWatch::judge(const Group& group, const Seen& seen) {
  const std::string due = counted(seen.due, "due job");
  if (const AlarmRule* rule = rule_of(group, Condition::kUnserved)) {
    const SteadyTime now = clock_.steady_now();
    if (seen.nodes > 0 || seen.due == 0) {
      memory_.unserved_since.erase(group.id);
    } else {
      memory_.unserved_since.try_emplace(group.id, now);
    }
    const auto since = memory_.unserved_since.find(group.id);
    set(group, *rule, since != memory_.unserved_since.end() && now - since->second >= rule->time,
        counted(seen.nodes, seen.is_push ? "executor" : "task tracker") + ", " + due);
  }
  if (const AlarmRule* rule = rule_of(group, Condition::kLate)) {
    const Duration waits = seen.due > 0 ? clock_.now() - seen.due_since : Duration{};
    set(group, *rule, waits >= rule->time,
        seen.due > 0 ? due + ", the first for " + in_seconds(waits) : due);
  }
  if (const AlarmRule* rule = rule_of(group, Condition::kBacklog))
    set(group, *rule, seen.due >= rule->limit, due);
}

void GroupWatch::judge_failures(const Group& group) {
  const AlarmRule* rule = rule_of(group, Condition::kFailures);
  const auto ended = memory_.ends.extract(group.id);
  if (rule == nullptr) return;
  const SteadyTime now = clock_.steady_now();
  std::deque<Counted>& past = memory_.past[group.id];
  if (!ended.empty()) past.push_back({.until = now, .ends = ended.mapped()});
  while (!past.empty() && past.front().until + kFailureWindow <= now) past.pop_front();
  Ends ends;
  for (const Counted& one : past) {
    ends.runs += one.ends.runs;
    ends.failed += one.ends.failed;
  }
  if (past.empty()) memory_.past.erase(group.id);
  set(group, *rule, ends.runs >= kFailureRunsMin && ends.failed * 100 >= ends.runs * rule->limit,
      std::to_string(ends.failed) + " of " + counted(ends.runs, "run") + " failed in " +
          format_duration(kFailureWindow));
}

void GroupWatch::judge_output(const Group& group) {
  const AlarmRule* rule = rule_of(group, Condition::kOutput);
  if (rule == nullptr) return;
  const auto found = memory_.found.find(group.id);
  if (found == memory_.found.end()) return set(group, *rule, false, "none of them");
  if (clock_.steady_now() < found->second.at + kFailureWindow)
    return set(group, *rule, true, found->second.what);
  memory_.found.erase(found);
  set(group, *rule, false, "none for " + format_duration(kFailureWindow));
}

// A message names each executor: when another one becomes silent, a new message is sent.
void GroupWatch::judge_silence() {
  auto silent = silence_.silent();
  for (const auto& [id, names] : memory_.silent) silent.try_emplace(id);
  for (const auto& [id, names] : silent) {
    const Group* group = catalog_.group(id);
    if (group == nullptr || !ownership_.has(id)) continue;
    const AlarmRule* rule = rule_of(*group, Condition::kSilent);
    if (rule == nullptr) continue;
    const std::set<std::string> before = std::exchange(memory_.silent[id], names);
    if (!std::includes(before.begin(), before.end(), names.begin(), names.end()))
      memory_.said.erase({id, Condition::kSilent});
    std::string measure =
        counted(static_cast<std::int64_t>(names.size()), "executor") + " with runs";
    if (!names.empty()) measure += ": " + listed(names);
    set(*group, *rule, !names.empty(), measure);
    if (names.empty()) memory_.silent.erase(id);
  }
}

// A group's overload is that of the task tracker that has been overloaded longest; the message
// names all.
void GroupWatch::judge_overload() {
  const SteadyTime now = clock_.steady_now();
  std::map<GroupId, std::set<std::string>> overloaded;  // by name
  std::map<GroupId, SteadyTime> since;
  auto known = std::exchange(memory_.overloaded_since, {});
  for (const auto& [session, worker] : workers_.all()) {
    if (worker->overload.empty()) continue;
    const auto before = known.find(session);
    const SteadyTime began = before == known.end() ? now : before->second;
    memory_.overloaded_since.emplace(session, began);
    overloaded[worker->group].insert(worker->name + " (" + worker->overload + ")");
    auto [first, is_new] = since.try_emplace(worker->group, began);
    first->second = std::min(first->second, began);
  }
  for (const auto& [id, group] : catalog_.groups()) {
    const AlarmRule* rule = rule_of(group, Condition::kOverload);
    if (rule == nullptr || !ownership_.has(id) || catalog_.whole_of(id) != &group) continue;
    const auto first = since.find(id);
    const std::set<std::string>& names = overloaded[id];
    std::string measure = std::to_string(names.size()) + " of " +
                          counted(static_cast<std::int64_t>(workers_.count(id)), "task tracker");
    if (!names.empty()) measure += ": " + listed(names);
    set(group, *rule, first != since.end() && now - first->second >= rule->time, measure);
  }
}

void GroupWatch::set(const Group& group, const AlarmRule& rule, bool is_so,
                     const std::string& measure) {
  const std::pair key{group.id, rule.condition};
  const auto said = memory_.said.find(key);
  if (is_so == (said != memory_.said.end())) return;
  wire::AlarmCondition condition{
      .condition = std::string{word_of(rule.condition)}, .is_over = !is_so, .at = clock_.now()};
  if (is_so) {
    condition.since = condition.at;
    const std::string limit = limit_of(rule);
    condition.text =
        condition.condition + ": " + measure + (limit.empty() ? "" : " (limit " + limit + ")");
    memory_.said[key] = condition.at;
  } else {
    condition.since = said->second;
    condition.text = condition.condition + " is over after " +
                     in_seconds(condition.at - condition.since) + ": " + measure;
    memory_.said.erase(said);
  }
  tell_(group.id, std::move(condition));
}

std::vector<FiringAlarm> GroupWatch::firing() const {
  std::vector<FiringAlarm> firing;
  for (const auto& [key, since] : memory_.said) {
    const auto& [id, condition] = key;
    const Group* const group = catalog_.group(id);
    const AlarmRule* const rule = group == nullptr ? nullptr : rule_of(*group, condition);
    const std::string limit = rule == nullptr ? std::string{} : limit_of(*rule);
    firing.push_back({.group = id,
                      .rule = std::string{word_of(condition)},
                      .since = since,
                      .message = limit.empty() ? std::string{} : "the limit is " + limit});
  }
  return firing;
}

}  // namespace carillon::jobtracker
