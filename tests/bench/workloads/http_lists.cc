// How fast the HTTP API answers what people look at, with a long history and many schedules.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "jobtracker/state/id_source.h"
#include "shared/base/time_text.h"
#include "tests/bench/api_client.h"
#include "tests/bench/log_filler.h"
#include "tests/bench/meter.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

// Less than the job tracker keeps.
constexpr Duration kPast = std::chrono::hours{24 * 5};
constexpr Duration kFiguresPast = std::chrono::hours{24 * 7};
constexpr std::int64_t kGroups = 20;
// It has few rows of the history, and all jobs that wait for a worker.
constexpr std::int64_t kSmallGroup = 20;
constexpr std::int64_t kRareOneIn = 499'979;
constexpr std::int64_t kAuditRows = 100'000;
constexpr std::int64_t kJobsOfACall = 1000;
constexpr std::int64_t kDeepPages = 100;
constexpr int kDeepPageSize = 1000;
constexpr Duration kPatience = std::chrono::seconds{60};
constexpr Duration kLook = std::chrono::milliseconds{20};
constexpr const char* kRareWord = "zebra";

std::string name_of_task(std::int64_t number) { return "task-" + std::to_string(number); }

// What is put into the store past the job tracker.
class Past {
 public:
  Past(const Round& round, std::int64_t rows, std::int64_t definitions)
      : round_(round),
        rows_(rows),
        definitions_(definitions),
        end_(round.clock.wall_now() - std::chrono::minutes{1}),
        first_id_(jobtracker::IdSource::first_of(end_ - kPast)) {
    // Multiples of 64: a session's ids have the same remainder.
    step_id_ = std::max((jobtracker::IdSource::first_of(end_) - first_id_) / rows / 128 * 128,
                        std::int64_t{128});
  }

  Status fill() {
    CARILLON_TRY(make_groups());
    const auto db = CARILLON_TRY(connect_to_store(round_.store_url));
    CARILLON_TRY(insert_numbered(*db, history_insert(), rows_));
    CARILLON_TRY(insert_numbered(*db, counts_insert(), kPast / kSlot * kGroups * 2));
    CARILLON_TRY(
        insert_numbered(*db, figures_insert(), kFiguresPast / std::chrono::minutes{1} * kGroups));
    CARILLON_TRY(insert_numbered(*db, audit_insert(), kAuditRows));
    CARILLON_TRY(raise_ids(*db, first_id_ + (rows_ + 1) * step_id_));
    const auto store = CARILLON_TRY(DirectStore::open(round_.store_url, round_.clock));
    const auto indexed = CARILLON_TRY(index_log(*store));
    if (indexed == rows_) return {};
    return Error{ErrorCode::kCorrupt, "not all rows were indexed"};
  }

  std::string group(std::int64_t number) const {
    return round_.group + "-" + std::to_string(number);
  }
  // Of a definition.
  std::string group_of(std::int64_t task) const { return group(1 + task % (kGroups - 1)); }
  WallTime end() const { return end_; }
  // The job of a row of the history.
  std::string job_id(std::int64_t row) const {
    return std::to_string(first_id_ + row * step_id_ - 64);
  }

 private:
  static constexpr Duration kSlot = std::chrono::minutes{30};

  Status make_groups() {
    const auto store = CARILLON_TRY(DirectStore::open(round_.store_url, round_.clock));
    for (std::int64_t number = 1; number <= kGroups; ++number) {
      const GroupId id = CARILLON_TRY(store->make_group(group(number)));
      if (id.value != number) {
        return Error{ErrorCode::kInvalidArgument, "--store: it has groups, and must be empty"};
      }
    }
    return {};
  }

  static std::string text(std::int64_t number) { return std::to_string(number); }
  // Of n - 1, rounded down in both databases.
  static std::string quotient(std::int64_t divisor) {
    const std::string by = text(divisor);
    return "((n - 1) - (n - 1) % " + by + ") / " + by;
  }
  static std::string micros(WallTime time) { return text(time.time_since_epoch().count()); }

  // Nearly all rows are of definitions, every eleventh of a job that ran once; one of a hundred
  // failed. The numbers have no divisors in common, so that each task has rows of each kind.
  std::string history_insert() const {
    const std::string id = "(" + text(first_id_) + " + n * " + text(step_id_) + ")";
    const std::string task = "(n * 7919 % " + text(definitions_) + ")";
    const std::string at =
        "(" + micros(end_ - kPast) + " + n * " + text(std::max(kPast.count() / rows_, 1L)) + ")";
    const std::string rare = "n % " + text(kRareOneIn);
    return "INSERT INTO lts_job_log (log_id, job_id, group_id, task_id, definition_id, attempt, "
           "state, trigger_time_us, started_us, ended_us, node, exit_code, message, fires, final, "
           "bucket, executor_log_id) SELECT " +
           id + ", " + id + " - 64, CASE WHEN " + rare + " = 7 THEN " + text(kSmallGroup) +
           " ELSE 1 + " + task + " % " + text(kGroups - 1) +
           " END, CASE WHEN n % 11 = 0 THEN 'job-' || (" + id + " - 64) ELSE 'task-' || " + task +
           " END, CASE WHEN n % 11 = 0 THEN 0 ELSE 1 + " + task + " END, 1, CASE WHEN " + rare +
           " = 13 THEN 3 WHEN n % 101 = 1 THEN 1 ELSE 0 END, " + at + ", " + at + " + 1000, " + at +
           " + 250000, 'worker-' || (n % 40), CASE WHEN n % 101 = 1 THEN 1 ELSE 0 END, CASE WHEN " +
           rare + " = 250011 THEN '" + kRareWord +
           " crossed' WHEN n % 101 = 1 THEN 'exit status 1' ELSE '' END, 1, 1, n % 64, 0 ";
  }

  std::string counts_insert() const {
    const WallTime first{(end_ - kPast).time_since_epoch() / kSlot * kSlot};
    return "INSERT INTO lts_log_count (group_id, slot_us, state, final, ends) SELECT 1 + n % " +
           text(kGroups) + ", " + micros(first) + " + " + quotient(2 * kGroups) + " * " +
           text(kSlot.count()) + ", " + quotient(kGroups) + " % 2, 1, 2000 ";
  }

  std::string figures_insert() const {
    constexpr Duration kMinute = std::chrono::minutes{1};
    const WallTime first{(end_ - kFiguresPast).time_since_epoch() / kMinute * kMinute};
    const std::string group = "1 + n % " + text(kGroups);
    return "INSERT INTO lts_figures (minute_us, group_id, part_id, submitted, started, ended, "
           "failed, lateness_p50_ms, lateness_p95_ms, lateness_p99_ms, backlog, workers, threads) "
           "SELECT " +
           micros(first) + " + " + quotient(kGroups) + " * " + text(kMinute.count()) + ", " +
           group + ", " + group + ", 100, 100, 100, n % 3, 2, 5, 9, n % 50, 2, 16 ";
  }

  std::string audit_insert() const {
    const std::string step = text(kPast.count() / kAuditRows);
    return "INSERT INTO lts_audit (audit_id, at_us, by_name, by_kind, address, action, group_name, "
           "task_id, outcome, before_json, after_json) SELECT " +
           text(first_id_) + " + n * " + text(rows_ * step_id_ / kAuditRows) + ", " +
           micros(end_ - kPast) + " + n * " + step +
           ", 'user-' || (n % 50), 'user', '127.0.0.1', 'trigger', '" + round_.group +
           "-' || (1 + n % " + text(definitions_) + " % " + text(kGroups - 1) +
           "), 'task-' || (n % " + text(definitions_) + "), CASE WHEN n % 9973 = 7 THEN '" +
           kRareWord + "' ELSE 'ok' END, '', '' ";
  }

  const Round& round_;
  const std::int64_t rows_;
  const std::int64_t definitions_;
  const WallTime end_;
  const std::int64_t first_id_;
  std::int64_t step_id_ = 0;
};

// ---- what the job tracker is given ----

// Daily or weekly, spread over the minutes. One of a thousand has the rare word.
JobSpec definition_of(const Past& past, std::int64_t number) {
  JobSpec job = noop_job({past.group_of(number)}, number);
  job.task_id = name_of_task(number);
  job.owner = "team-" + std::to_string(number % 50);
  job.tags = {"tag-" + std::to_string(number % 10)};
  if (number % 1000 == 1) job.description = std::string{"counts "} + kRareWord + "s";
  job.schedule.kind = ScheduleKind::kCron;
  job.schedule.tz = "UTC";
  job.schedule.cron = std::to_string(number % 60) + " " + std::to_string(number / 60 % 24) +
                      " * * " + (number % 5 < 3 ? "*" : std::to_string(number % 7));
  return job;
}

Status submit_definitions(JobClient& client, const Past& past, std::int64_t definitions) {
  for (std::int64_t first = 0; first < definitions; first += kJobsOfACall) {
    std::vector<JobSpec> jobs;
    for (std::int64_t i = first; i < std::min(first + kJobsOfACall, definitions); ++i)
      jobs.push_back(definition_of(past, i));
    CARILLON_TRY(submit_all(client, std::move(jobs)));
  }
  for (std::int64_t i = 0; i < definitions; i += 100)
    CARILLON_TRY(client.suspend({.task_id = name_of_task(i), .group = past.group_of(i)}));
  return {};
}

Status submit_waiting(JobClient& client, const Past& past, std::int64_t count) {
  std::vector<JobSpec> jobs;
  for (std::int64_t i = 0; i < count; ++i) jobs.push_back(noop_job({past.group(kSmallGroup)}, i));
  CARILLON_TRY(submit_all(client, std::move(jobs)));
  return {};
}

// Returns when they execute.
Status hold_executing(Round& round, JobClient& client, const std::string& group,
                      std::int64_t count) {
  CARILLON_TRY(round.cluster.start_workers(1, static_cast<int>(count), {group}));
  CARILLON_TRY(round.cluster.await_workers());
  std::vector<JobSpec> jobs;
  for (std::int64_t i = 0; i < count; ++i) {
    JobSpec& job = jobs.emplace_back(noop_job({group}, i));
    job.run.handler = "sleep";
    job.params["duration"] = "10h";
  }
  CARILLON_TRY(submit_all(client, std::move(jobs)));
  const SteadyTime end = round.clock.steady_now() + kPatience;
  while (round.clock.steady_now() < end) {
    const RowPage page = CARILLON_TRY(client.executing({.group = group, .limit = 2000}));
    if (static_cast<std::int64_t>(page.rows.size()) >= std::min<std::int64_t>(count, 400))
      return {};
    pause(kLook);
  }
  return Error{ErrorCode::kTimeout, "the jobs that are to execute do not"};
}

// ---- what is measured ----

struct Call {
  std::string name{};
  std::string target{};  // below /api/v1
  bool finds = false;    // items, whatever the sizes
};

std::vector<Call> calls_of(const Past& past, std::int64_t definitions, std::int64_t rows) {
  const std::string group = past.group(1);
  const std::int64_t often = definitions / 2;
  const std::string task = "group=" + past.group_of(often) + "&task_id=" + name_of_task(often);
  const auto before_end = [&past](Duration ago) { return format_time(past.end() - ago); };
  const std::string day = "since=" + before_end(std::chrono::hours{72}) +
                          "&until=" + before_end(std::chrono::hours{48});
  const std::string now = format_time(past.end());
  const std::string tomorrow = format_time(past.end() + std::chrono::hours{24});
  const std::string rare = std::string{"text="} + kRareWord;
  return {
      {"runs: all", "/runs", true},
      {"runs: history", "/runs/history", true},
      {"runs: history, 1000 rows", "/runs/history?page_size=1000", true},
      {"runs: history, failed", "/runs/history?state=failed", true},
      {"runs: state=failed", "/runs?state=failed", true},
      {"runs: history, killed (rare)", "/runs/history?state=killed"},
      {"runs: history, a task", "/runs/history?" + task, true},
      {"runs: history, no such task", "/runs/history?task_id=none"},
      {"runs: history, task_prefix", "/runs/history?task_prefix=task-12"},
      {"runs: history, a job", "/runs/history?job_id=" + past.job_id(rows / 2), true},
      {"runs: history, a group", "/runs/history?group=" + group, true},
      {"runs: history, small group", "/runs/history?group=" + past.group(kSmallGroup)},
      {"runs: history, group and failed", "/runs/history?state=failed&group=" + group, true},
      {"runs: history, a node", "/runs/history?node=worker-7"},
      {"runs: history, a day", "/runs/history?" + day, true},
      {"runs: history, a day, failed", "/runs/history?state=failed&" + day, true},
      {"runs: history, a rare word", "/runs/history?" + rare},
      {"runs: history, an unknown word", "/runs/history?text=okapi"},
      {"runs: waiting", "/runs?state=waiting", true},
      {"runs: waiting, a group", "/runs/waiting?group=" + past.group(kSmallGroup), true},
      {"runs: executing", "/runs?state=executing", true},
      {"a run", "/runs/" + past.job_id(rows / 2)},
      {"jobs", "/jobs", true},
      {"jobs: with results", "/jobs?results=true", true},
      {"jobs: suspended", "/jobs?state=suspended", true},
      {"jobs: quarantined (none)", "/jobs?state=quarantined&page_size=100"},
      {"jobs: a group", "/jobs?group=" + group, true},
      {"jobs: task_prefix", "/jobs?task_prefix=" + name_of_task(often), true},
      {"jobs: a rare word", "/jobs?" + rare},
      {"jobs: an unknown word", "/jobs?text=okapi"},
      {"jobs: an owner", "/jobs?owner=team-7", true},
      {"jobs: a tag", "/jobs?tag=tag-7", true},
      {"a job", "/jobs/" + past.group_of(often) + "/" + name_of_task(often)},
      {"groups", "/groups?page_size=200", true},
      {"nodes", "/nodes?page_size=100", true},
      {"executors", "/executors"},
      {"trackers", "/trackers"},
      {"alarms", "/alarms"},
      {"alarms: history", "/alarms/history"},
      {"alarms: rules", "/alarms/rules"},
      {"audit", "/audit?page_size=100", true},
      {"audit: a task", "/audit?" + task},
      {"audit: a principal", "/audit?by=user-7", true},
      {"audit: an action that is rare", "/audit?action=clean_history"},
      {"audit: a rare word", "/audit?" + rare},
      {"overview", "/overview"},
      {"stats", "/stats"},
      {"counts: 5 days", "/counts?since=" + before_end(kPast) + "&until=" + now, true},
      {"figures: 15 min", "/figures?range=15m"},
      {"figures: a day", "/figures?range=24h"},
      {"figures: a week", "/figures?range=7d"},
      {"figures: a week, a group", "/figures?range=7d&group=" + group},
      {"calendar: a day", "/calendar?from=" + now + "&to=" + tomorrow},
      {"calendar: a day, a group", "/calendar?from=" + now + "&to=" + tomorrow + "&group=" + group},
      {"calendar: a minute", "/calendar?minute=" + before_end(-std::chrono::hours{2})},
      {"search: a task", "/search?text=" + name_of_task(often), true},
      {"search: a rare word", std::string{"/search?"} + rare},
      {"search: an unknown word", "/search?text=okapi"},
      {"search: a run", "/search?text=" + past.job_id(rows / 2), true},
  };
}

class Viewer {
 public:
  Viewer(const Clock& clock, ApiClient& api, std::int64_t calls)
      : clock_(clock), api_(api), calls_(calls) {}

  // Several calls in turn.
  Status time(Figures& figures, const Call& call) {
    std::vector<double> took_ms;
    for (std::int64_t i = 0; i < calls_; ++i) {
      const SteadyTime began = clock_.steady_now();
      const auto answer = CARILLON_TRY(ask(call.target));
      took_ms.push_back(since(began));
      if (call.finds && answer["items"].empty())
        return Error{ErrorCode::kCorrupt, call.target + " found nothing of what is there"};
    }
    figures.push_back({call.name + ", p50", "ms", percentile(took_ms, 0.5)});
    figures.push_back({call.name + ", max", "ms", percentile(took_ms, 1)});
    slowest_ms_ = std::max(slowest_ms_, percentile(took_ms, 0.5));
    return {};
  }

  // The page after many rows.
  Status time_deep(Figures& figures) {
    std::string token;
    for (std::int64_t i = 0; i < kDeepPages; ++i) {
      const auto page = CARILLON_TRY(
          ask("/runs/history?page_size=" + std::to_string(kDeepPageSize) + and_token(token)));
      const std::string next = page.value("next_page_token", "");
      if (next.empty()) break;
      token = next;
    }
    return time(figures, {"runs: history, deep", "/runs/history?page_size=50" + and_token(token)});
  }

  // Page after page until there is an item, or no further page.
  Status time_until_found(Figures& figures, const Call& call) {
    const SteadyTime began = clock_.steady_now();
    std::string token;
    std::int64_t calls = 0;
    for (bool is_over = false; !is_over; ++calls) {
      const auto page = CARILLON_TRY(ask(call.target + and_token(token)));
      token = page.value("next_page_token", "");
      is_over = !page["items"].empty() || token.empty();
    }
    figures.push_back({call.name + ", all pages until found", "ms", since(began)});
    figures.push_back({call.name + ", all pages until found", "calls", static_cast<double>(calls)});
    return {};
  }

  double slowest_ms() const { return slowest_ms_; }

 private:
  static std::string and_token(const std::string& token) {
    return token.empty() ? "" : "&page_token=" + token;
  }
  double since(SteadyTime began) const {
    return std::chrono::duration<double, std::milli>(clock_.steady_now() - began).count();
  }
  Result<nlohmann::json> ask(const std::string& target) {
    const std::string body = CARILLON_TRY(api_.get("/api/v1" + target));
    auto json = nlohmann::json::parse(body, nullptr, false);
    if (json.is_object()) return json;
    return Error{ErrorCode::kCorrupt, target + " was answered " + body};
  }

  const Clock& clock_;
  ApiClient& api_;
  const std::int64_t calls_;
  double slowest_ms_ = 0;
};

Result<Figures> run(Round& round) {
  const std::int64_t rows = round.flags.number("rows");
  const std::int64_t definitions = round.flags.number("definitions");
  const SteadyTime began = round.clock.steady_now();
  Past past(round, rows, definitions);
  CARILLON_TRY(past.fill());
  CARILLON_TRY(round.cluster.start_tracker());
  const auto client = CARILLON_TRY(round.cluster.client());
  CARILLON_TRY(submit_definitions(*client, past, definitions));
  CARILLON_TRY(submit_waiting(*client, past, round.flags.number("waiting")));
  CARILLON_TRY(hold_executing(round, *client, past.group(2), round.flags.number("executing")));
  const auto filled = std::chrono::duration_cast<Duration>(round.clock.steady_now() - began);
  Figures figures{{"filled", "s", seconds(filled)}};
  const std::string token = CARILLON_TRY(make_api_token(*client));
  const auto api = CARILLON_TRY(ApiClient::open(round.cluster.http_url(), token));
  Viewer viewer(round.clock, *api, round.flags.number("calls"));
  for (const Call& call : calls_of(past, definitions, rows))
    CARILLON_TRY(viewer.time(figures, call));
  CARILLON_TRY(viewer.time_deep(figures));
  const std::vector<Call> searches{
      {"runs: history, a rare word", std::string{"/runs/history?text="} + kRareWord},
      {"jobs: task_prefix", "/jobs?task_prefix=" + name_of_task(definitions / 2)},
      {"jobs: quarantined (none)", "/jobs?state=quarantined&page_size=100"}};
  for (const Call& search : searches) CARILLON_TRY(viewer.time_until_found(figures, search));
  figures.push_back({"slowest call, p50", "ms", viewer.slowest_ms()});
  figures.push_back({"jobtracker memory, peak", "MiB",
                     static_cast<double>(round.cluster.tracker_usage().peak_memory_kib) / 1024});
  round.cluster.kill_oldest_worker();  // Its jobs would sleep for hours.
  return figures;
}

}  // namespace

Workload http_lists_workload() {
  Verb verb{.name = "http-lists",
            .summary = "How fast the HTTP API answers lists and the console's other questions",
            .description =
                "Fills an empty store with a history of five days and with schedules, starts a job "
                "tracker, and times calls of the HTTP API on one kept connection, one after the "
                "other."};
  verb.options = {number_option("rows", "Rows of the history.", "10000000", 100'000'000),
                  number_option("definitions", "Daily and weekly schedules.", "100000", 1'000'000),
                  number_option("waiting", "Due jobs that wait for a worker.", "10000", 1'000'000),
                  number_option("executing", "Jobs that execute.", "200", 1000),
                  number_option("calls", "Of each kind.", "20", 10'000)};
  return {.verb = std::move(verb), .run = run, .starts_tracker = true};
}

}  // namespace carillon::bench
