#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jobtracker/store/sql/mysql_store.h"
#include "jobtracker/store/sql/sqlite_store.h"
#include "tests/bench/direct_store.h"
#include "tests/bench/log_filler.h"
#include "tests/bench/statistics.h"
#include "tests/bench/workloads/all.h"

// How fast people find something in a long history.
namespace carillon::bench {
namespace {

using namespace jobtracker;

constexpr std::int64_t kRowsAtOnce = 100'000;
constexpr std::int64_t kFound = 20;       // the newest rows that are looked for
constexpr std::int64_t kIdsApart = 1024;  // of two rows
constexpr int kOften = 1000;              // tasks that run again and again
constexpr int kQuestions = 25;            // of each kind

// A row for each number `n` of a sequence.
constexpr std::string_view kInsert =
    "INSERT INTO lts_job_log (log_id, job_id, group_id, task_id, definition_id, attempt, state, "
    "trigger_time_us, started_us, ended_us, node, exit_code, message, fires, final, bucket, "
    "executor_log_id) "
    "SELECT n * 1024, n * 1024 - 64, CASE WHEN n % 499979 = 7 THEN 3 ELSE 1 + n % 2 END, "
    "CASE WHEN n % 499979 = 11 THEN 'rare' WHEN n % 10 = 0 THEN 'often-' || (n % 10000) "
    "ELSE 'job-' || (n * 1024 - 64) END, "
    "CASE WHEN n % 10 = 0 THEN 1 ELSE 0 END, 1, "
    "CASE WHEN n % 499979 = 13 THEN 3 WHEN n % 100 = 1 THEN 1 ELSE 0 END, "
    "1000 * n, 1000 * n, 1000 * n + 500, 'worker-1', 0, 'done', 1, 1, n % 64, 0 ";
Result<std::unique_ptr<ReadOnlyStore>> reader_of(const std::string& url) {
  if (!url.starts_with("sqlite:")) return open_mysql_reader(url);
  return open_sqlite_reader(url.substr(7));
}

class Searches {
 public:
  Searches(const Clock& clock, ReadOnlyStore& reader, std::int64_t rows)
      : clock_(clock), reader_(reader), rows_(rows) {}

  // Milliseconds until the newest are found, in as many questions as it takes.
  Result<double> time(ListHistory question) {
    const SteadyTime began = clock_.steady_now();
    std::size_t found = 0;
    question.limit = kFound;
    do {
      const auto answer = CARILLON_TRY(reader_.read(question));
      const auto& history = std::get<HistoryAnswer>(answer);
      found += history.entries.size();
      question.limit = kFound - static_cast<std::int64_t>(found);
      question.before_id = history.next;
    } while (question.before_id != 0 && question.limit > 0);
    if (found == 0) return Error{ErrorCode::kCorrupt, "nothing was found of what is there"};
    return std::chrono::duration<double, std::milli>(clock_.steady_now() - began).count();
  }

  // The n-th question of each kind.
  std::vector<std::pair<std::string, ListHistory>> kinds(int n) const {
    const std::int64_t any = 1 + (rows_ - 1) / kQuestions * n;
    // One of nine in ten runs once.
    const std::int64_t once = any % 10 == 0 ? any + 1 : any;
    const JobId job{once * kIdsApart - 64};
    return {{"a task that ran once", {.task_id = "job-" + std::to_string(job.value)}},
            {"a task that runs often", {.task_id = "often-" + std::to_string(n * 10)}},
            {"a rare task", {.task_id = "rare"}},
            {"a job", {.job_id = job}},
            {"a frequent state", {.states = {LogState::kSucceeded}}},
            {"a rare state", {.states = {LogState::kKilled}}},
            {"a large group", {.groups = {GroupId{1}}}},
            {"a small group", {.groups = {GroupId{3}}}},
            {"a state of a group", {.groups = {GroupId{2}}, .states = {LogState::kFailed}}}};
  }

 private:
  const Clock& clock_;
  ReadOnlyStore& reader_;
  const std::int64_t rows_;
};

Result<Figures> run(Round& round) {
  const std::int64_t rows =
      std::max(round.flags.number("rows") / kRowsAtOnce, std::int64_t{1}) * kRowsAtOnce;
  {
    const auto empty = CARILLON_TRY(DirectStore::open(round.store_url, round.clock));
    for (const char* name : {"one", "two", "three"}) CARILLON_TRY(empty->make_group(name));
  }
  const auto writer = CARILLON_TRY(connect_to_store(round.store_url));
  const auto reader = CARILLON_TRY(reader_of(round.store_url));
  CARILLON_TRY(insert_numbered(*writer, kInsert, rows));
  CARILLON_TRY(raise_ids(*writer, (rows + 1) * kIdsApart));
  Searches searches(round.clock, *reader, rows);
  Figures figures;
  for (const auto& [name, question] : searches.kinds(1)) {
    const double took = CARILLON_TRY(searches.time(question));
    figures.push_back({name + ", without index", "ms", took});
  }
  // Its session begins after all these rows were given their ids.
  const auto store = CARILLON_TRY(DirectStore::open(round.store_url, round.clock));
  const Duration began = store->time();
  const auto indexed = CARILLON_TRY(index_log(*store));
  if (indexed != rows) return Error{ErrorCode::kCorrupt, "not all rows were indexed"};
  figures.push_back(
      {"index", "rows/s",
       static_cast<double>(rows) / std::chrono::duration<double>(store->time() - began).count()});
  std::vector<std::pair<std::string, std::vector<double>>> times;
  for (int n = 0; n < kQuestions; ++n) {
    std::size_t kind = 0;
    for (const auto& [name, question] : searches.kinds(n)) {
      if (n == 0) times.push_back({name, {}});
      times[kind++].second.push_back(CARILLON_TRY(searches.time(question)));
    }
  }
  for (const auto& [name, values] : times) add_percentiles(figures, name, values);
  return figures;
}

}  // namespace

Workload history_workload() {
  Verb verb{.name = "history",
            .summary = "How fast the newest rows of a task, job, state or group are found",
            .description =
                "Fills the history with rows, without a job tracker, and looks for the newest 20 "
                "rows of frequent and of rare tasks, jobs, states and groups: first without the "
                "index of the log, then with it. The first group of figures is one question each."};
  verb.options = {{.name = "rows",
                   .kind = OptionKind::kNumber,
                   .placeholder = "N",
                   .help = "Rows of the history, rounded to 100000.",
                   .fallback = "1000000",
                   .min = 1,
                   .max = 100'000'000}};
  return {.verb = std::move(verb), .run = run, .starts_tracker = true};
}

}  // namespace carillon::bench
