#include "tests/contract/compared_reads.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "jobtracker/store/names.h"

namespace carillon::jobtracker {
namespace {

constexpr std::int64_t kAll = 1'000'000;
constexpr JobId kNewest{std::numeric_limits<std::int64_t>::max()};
constexpr int kTasksDrawn = 12;
constexpr std::size_t kJobsDrawn = 8;
constexpr int kGroupsDrawn = 2;

class Reads {
 public:
  Reads(Twins& twins, BatchSource& source, bool is_thorough)
      : twins_(twins), source_(source), is_thorough_(is_thorough), now_(source.now()) {}

  void compare() {
    for (const auto& session : twins_.sessions()) compare_of_session(session.get());
    groups_ = twins_.compare_start(nullptr).groups;
    for (const Group& group : groups_) compare_waiting(group);
    compare_delayed();
    compare_holders();
    list_definitions();
    compare_definitions();
    compare_log();
    compare_others();
  }

 private:
  // Anybody who is open, or who only reads.
  Twins::Session* anybody() {
    const auto& sessions = twins_.sessions();
    const auto drawn = source_.below(sessions.size() + 1);
    return drawn == sessions.size() ? nullptr : sessions[drawn].get();
  }
  template <class Answer, class... Rows>
  void compare(const Read& question, const std::string& what, Rows Answer::*... rows) {
    twins_.compare(anybody(), question, what, rows...);
  }
  JobId some_job_of(GroupId group) {
    const auto table = twins_.tables().waiting.find(group);
    if (table == twins_.tables().waiting.end() || table->second.all().empty()) return kNewest;
    const auto at = static_cast<std::ptrdiff_t>(source_.below(table->second.all().size()));
    return std::next(table->second.all().begin(), at)->first;
  }
  std::size_t drawn(std::size_t all, std::size_t some) const {
    return is_thorough_ ? all : std::min(all, some);
  }

  void compare_of_session(Twins::Session* who) {
    const std::string name = " of session " + std::to_string(who->as.session.value);
    twins_.compare_start(who);
    twins_.compare(who, ReadDelayed{.through = now_, .limit = kAll}, "delayed and due" + name,
                   &JobsAnswer::jobs);
    twins_.compare(who, ReadDelayed{.through = now_ + 20 * kSecond, .limit = 7},
                   "first delayed" + name, &JobsAnswer::jobs);
    for (const std::int64_t limit : {std::int64_t{3}, kAll}) {
      twins_.compare(who, ReadInbox{.limit = limit}, "inbox" + name, &InboxAnswer::rows);
      twins_.compare(who, ReadExecutorResults{.after = source_.chance(50) ? 0 : 40, .limit = limit},
                     "executors' results" + name, &ExecutorResultsAnswer::rows,
                     &ExecutorResultsAnswer::next);
    }
    // Each has a clock of its own.
    (void)twins_.ask<ClockAnswer>(who, ReadClock{});
  }

  void compare_waiting(const Group& group) {
    constexpr auto kJobs = &JobsAnswer::jobs;
    const auto& all = twins_.tables().waiting.at(group.id).all();
    std::optional<HandOutKey> middle;
    if (!all.empty()) {
      auto at = all.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(source_.below(all.size())));
      middle = hand_out_key(at->second);
    }
    compare(FindGroup{group.name}, "group " + group.name, &GroupAnswer::group);
    compare(ListWaiting{.group = group.id, .limit = kAll}, "waiting of " + group.name, kJobs);
    compare(ListWaiting{.group = group.id, .after = middle, .limit = 20}, "page of " + group.name,
            kJobs);
    compare(ListWaiting{.group = group.id, .and_later_groups = true, .after = middle, .limit = 20},
            "page of " + group.name + " and of later groups", kJobs);
    compare(ReadDue{.group = group.id, .now = now_, .limit = 77}, "due of " + group.name, kJobs);
    compare(ReadDue{.group = group.id, .now = now_, .after = middle, .limit = 20},
            "further due of " + group.name, kJobs);
    compare(ReadUpcoming{.group = group.id,
                         .after_time = now_ - 5 * kSecond,
                         .through = now_ + 10 * kSecond,
                         .limit = source_.chance(50) ? 33 : 4},
            "upcoming of " + group.name, kJobs);
    compare(ListWaiting{.group = group.id, .delayed = true, .limit = kAll},
            "delayed of " + group.name, kJobs);
    compare(ListExecuting{.groups = {group.id}, .limit = kAll}, "executing of " + group.name,
            &ExecutingAnswer::jobs);
  }

  void compare_delayed() {
    compare(ListWaiting{.delayed = true, .limit = kAll}, "delayed", &JobsAnswer::jobs);
    compare(ListWaiting{.delayed = true, .after = HandOutKey{0, now_, JobId{}}, .limit = 9},
            "page of the delayed", &JobsAnswer::jobs);
    for (const bool only_due : {false, true}) {
      const auto [counted, other] =
          twins_.ask<CountAnswer>(anybody(), CountWaiting{.now = now_, .only_due = only_due});
      EXPECT_TRUE(std::equal(
          counted.groups.begin(), counted.groups.end(), other.groups.begin(), other.groups.end(),
          [](const auto& a, const auto& b) {
            return a.group == b.group && a.waiting == b.waiting && a.due == b.due;
          }))
          << "how many wait";
    }
  }

  void find(const Find& question) {
    compare(question, "who is " + question.task_id + " or " + std::to_string(question.job_id.value),
            &FindAnswer::definition, &FindAnswer::waiting, &FindAnswer::executing);
  }

  // Who holds which name.
  void compare_holders() {
    const std::size_t tasks = is_thorough_ ? kDrawnTaskIds : kTasksDrawn;
    for (std::size_t i = 0; i < tasks; ++i) {
      const int task = static_cast<int>(is_thorough_ ? i : source_.below(kDrawnTaskIds));
      for (int spelling = 0; spelling < kSpellings; ++spelling) {
        const std::string task_id = drawn_task_id(task, spelling);
        find({.task_id = task_id});
        for (int left = kGroupsDrawn; left > 0; --left)
          find({.group = groups_[source_.below(groups_.size())].id, .task_id = task_id});
      }
    }
    for (const WaitingJob& job : source_.youngest_jobs(is_thorough_ ? 200 : 20)) {
      find({.job_id = job.id});
      find({.group = job.group, .task_id = made_task_id(job.id)});
    }
    // Nobody made it.
    (void)twins_.read(anybody(), Find{.group = GroupId{9999}, .task_id = "task 1"});
    (void)twins_.read(anybody(), ReadDue{.group = GroupId{9999}, .now = now_, .limit = 1});
    (void)twins_.read(anybody(), FindGroup{"nobody's"});
  }

  void list_definitions() {
    constexpr auto kRows = &DefinitionsAnswer::definitions;
    constexpr auto kNext = &DefinitionsAnswer::next;
    std::vector<DefinitionId> ids{DefinitionId{}};
    for (const auto& [id, one] : twins_.tables().definitions) ids.push_back(id);
    const auto anywhere = [&] { return ids[source_.below(ids.size())]; };
    for (DefinitionId after;;) {
      const ListDefinitions page{.after = after, .limit = is_thorough_ ? 7 : 40};
      compare(page, "page of the definitions", kRows, kNext);
      after = twins_.ask<DefinitionsAnswer>(nullptr, page).first.next;
      if (!after) break;
    }
    for (const Group& group : groups_) {
      compare(
          ListDefinitions{
              .groups = {group.id, groups_.front().id}, .after = anywhere(), .limit = 9},
          "page of the definitions of " + group.name, kRows, kNext);
    }
    for (int left = kTasksDrawn; left > 0; --left) {
      const auto task = static_cast<int>(source_.below(kDrawnTaskIds));
      const std::string task_id = drawn_task_id(task, static_cast<int>(source_.below(kSpellings)));
      compare(ListDefinitions{.task_id = task_id,
                              .after = source_.chance(50) ? DefinitionId{} : anywhere(),
                              .limit = source_.chance(50) ? 1 : kAll},
              "definitions of " + task_id, kRows, kNext);
    }
  }

  void compare_definitions() {
    std::size_t left = drawn(twins_.tables().definitions.size(), 2 * kJobsDrawn);
    for (const auto& [id, one] : std::map(twins_.tables().definitions)) {
      if (left == 0) break;
      if (!is_thorough_ && source_.chance(50)) continue;
      --left;
      compare(ReadDefinition{.group = one.group, .task_id = one.task_id},
              "definition of " + one.task_id, &DefinitionAnswer::definition);
      for (const std::int64_t limit : {std::int64_t{2}, kAll}) {
        compare(ReadOccurrences{.definition = id, .group = one.group, .limit = limit},
                "runs of " + one.task_id, &JobsAnswer::jobs);
        compare(ReadOccurrences{.definition = id,
                                .group = one.group,
                                .limit = limit,
                                .untried_before =
                                    source_.chance(50) ? kNewest : some_job_of(one.group)},
                "untried runs of " + one.task_id, &JobsAnswer::jobs);
      }
      compare(ListScripts{id}, "scripts of definition " + std::to_string(id.value),
              &ScriptsAnswer::versions);
    }
  }

  void compare_log() {
    constexpr auto kEntries = &HistoryAnswer::entries;
    compare(ListHistory{.limit = kAll}, "log", kEntries);
    compare(ListHistory{.since = now_ - 20 * kSecond, .limit = kAll}, "youngest log", kEntries);
    for (std::size_t i = 0; i < drawn(kDrawnTaskIds, kTasksDrawn); ++i) {
      const int task = static_cast<int>(is_thorough_ ? i : source_.below(kDrawnTaskIds));
      const std::string task_id = drawn_task_id(task, 0);
      compare(ListHistory{.task_id = task_id, .limit = 5}, "newest log of " + task_id, kEntries);
    }
    const std::vector<LogState> states{static_cast<LogState>(source_.below(kLogStates)),
                                       static_cast<LogState>(source_.below(kLogStates))};
    compare(ListHistory{.states = states, .limit = source_.chance(50) ? 9 : kAll},
            "log of two states", kEntries);
    const std::string often = drawn_task_id(static_cast<int>(source_.below(kDrawnTaskIds)), 0);
    compare(ListHistory{.task_id = often, .limit = kAll}, "log of " + often, kEntries);
    compare(ListHistory{.task_id = often, .states = states, .limit = 7},
            "log of two states of " + often, kEntries);
    const auto& all = twins_.tables().log;
    if (!all.empty()) {
      auto at = all.begin();
      std::advance(at, static_cast<std::ptrdiff_t>(source_.below(all.size())));
      const LogEntry one = at->second;
      compare(ListHistory{.before_id = one.id, .limit = 50}, "page of the log", kEntries);
      compare(ListHistory{.job_id = one.job_id, .limit = kAll}, "log of a job", kEntries);
    }
    const auto count = [&](std::vector<GroupId> some, const std::string& what) {
      compare(CountLog{.from = now_ - std::chrono::hours{24},
                       .until = now_ + std::chrono::hours{24},
                       .groups = std::move(some)},
              "counts" + what, &LogCountAnswer::counts);
    };
    count({}, "");
    for (const Group& group : groups_) {
      count({group.id}, " of " + group.name);
      compare(ListHistory{.groups = {group.id, groups_.front().id}, .limit = 500},
              "log of " + group.name, kEntries);
      compare(
          ListHistory{
              .groups = {group.id}, .states = states, .since = now_ - 60 * kSecond, .limit = 5},
          "log of two states of " + group.name, kEntries);
    }
    std::set<JobId> jobs;
    for (const auto& [key, row] : twins_.tables().output) jobs.insert(row.job_id);
    std::size_t left = drawn(jobs.size(), kJobsDrawn);
    for (const JobId job : jobs) {
      if (left-- == 0) break;
      const std::string what = "output of " + std::to_string(job.value);
      compare(ListOutput{.job_id = job, .limit = kAll}, what, &OutputAnswer::rows);
      compare(ListOutput{.job_id = job, .after_attempt = 1, .after_sequence = 1, .limit = 2},
              "page of the " + what, &OutputAnswer::rows);
    }
  }

  void compare_others() {
    compare(ListExecuting{.after = source_.youngest_jobs(100).front().id, .limit = 30},
            "page of what executes", &ExecutingAnswer::jobs);
    for (const char* name : kDrawnClientGroups) {
      for (const std::int64_t limit : {std::int64_t{4}, kAll}) {
        compare(ReadFeedback{.client_group = name, .limit = limit},
                std::string{"feedback for "} + name, &FeedbackAnswer::entries);
      }
    }
    compare(ReadExecutors{}, "executors", &ExecutorsAnswer::groups, &ExecutorsAnswer::executors);
    compare(CountFeedback{}, "how much feedback waits", &FeedbackCounts::rows);
    compare(ListNodes{}, "nodes", &NodesAnswer::nodes);
    compare(ListPrincipals{}, "principals", &PrincipalsAnswer::rows);
    compare_audit();
    compare_figures();
    compare_alarms();
  }

  void compare_alarms() {
    compare(ListSilences{}, "silences", &SilencesAnswer::rows);
    compare(ListAlarmHistory{.limit = kAll}, "alarm history", &AlarmHistoryAnswer::rows);
    const auto& all = twins_.tables().alarm_history;
    if (all.empty()) return;
    auto at = all.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(source_.below(all.size())));
    const AlarmHistoryRow one = at->second;
    compare(ListAlarmHistory{.group = one.group, .limit = 3}, "alarm history of a group",
            &AlarmHistoryAnswer::rows);
    compare(ListAlarmHistory{.before_id = one.id, .limit = 10}, "page of the alarm history",
            &AlarmHistoryAnswer::rows);
  }

  void compare_figures() {
    compare(ListFigures{.limit = kAll}, "figures", &FiguresAnswer::rows);
    const auto& all = twins_.tables().figures;
    if (all.empty()) return;
    auto at = all.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(source_.below(all.size())));
    const FiguresRow one = at->second;
    compare(ListFigures{.group = one.group, .since = one.minute, .limit = 3}, "figures of a group",
            &FiguresAnswer::rows);
    compare(ListFigures{.until = one.minute, .limit = 10}, "figures before a minute",
            &FiguresAnswer::rows);
    compare(ListFigures{.after = figures_key(one), .limit = 10}, "page of the figures",
            &FiguresAnswer::rows);
  }

  void compare_audit() {
    compare(ListAudit{.limit = kAll}, "audit", &AuditAnswer::rows);
    const auto& all = twins_.tables().audit;
    if (all.empty()) return;
    auto at = all.begin();
    std::advance(at, static_cast<std::ptrdiff_t>(source_.below(all.size())));
    const AuditRow one = at->second;
    compare(ListAudit{.group = one.group, .task_id = one.task_id, .by = one.by, .limit = 3},
            "audit of " + one.task_id, &AuditAnswer::rows);
    compare(ListAudit{.from_id = one.id - 50, .before_id = one.id, .limit = 10},
            "page of the audit", &AuditAnswer::rows);
  }

  Twins& twins_;
  BatchSource& source_;
  const bool is_thorough_;
  const WallTime now_;
  std::vector<Group> groups_{};
};

}  // namespace

void compare_reads(Twins& twins, BatchSource& source, bool is_thorough) {
  Reads{twins, source, is_thorough}.compare();
}

}  // namespace carillon::jobtracker
