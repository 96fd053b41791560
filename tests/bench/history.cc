#include "tests/bench/history.h"

#include <limits>
#include <utility>

#include "shared/base/clock.h"
#include "shared/base/time_text.h"
#include "shared/runtime/wakeup.h"
#include "tests/bench/end_check.h"
#include "tests/bench/statistics.h"

namespace carillon::bench {
namespace {

constexpr std::int64_t kPage = 2000;
// Short beside the shortest measurement, long beside an answer's cost.
constexpr Duration kPoll = std::chrono::milliseconds{3};

// 0: a fire that never became a job has none.
JobId job_id_of(const Row& row) {
  const std::string text = field_text(row, "job_id");
  return JobId{text.empty() ? 0 : std::stoll(text)};
}

// What is not there is not as good as on time.
double number_of(const Field* field) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  if (field == nullptr) return kNone;
  if (const auto* whole = std::get_if<std::int64_t>(field)) return static_cast<double>(*whole);
  const auto* real = std::get_if<double>(field);
  return real == nullptr ? kNone : *real;
}

// Of `due`, none: any.
Status check_time(const HistoryRow& row, const std::optional<WallTime>& due) {
  if (due && row.trigger_time != format_time(*due)) {
    return Error{ErrorCode::kCorrupt, "task " + row.task_id + " has the time " + row.trigger_time +
                                          " in the history, and was to run at " +
                                          format_time(*due)};
  }
  return check_not_early(row);
}

}  // namespace

Status read_history(JobClient& client, const std::vector<std::string>& groups,
                    const std::function<void(const HistoryRow&)>& on_row) {
  for (const std::string& group : groups) {
    RowFilter filter{.group = group, .limit = kPage};
    do {
      const RowPage page = CARILLON_TRY(client.history(filter));
      for (const Row& row : page.rows) {
        on_row({.job_id = job_id_of(row),
                .task_id = field_text(row, "task_id"),
                .trigger_time = field_text(row, "trigger_time"),
                .state = field_text(row, "state"),
                .lateness_ms = number_of(find_field(row, "lateness_ms"))});
      }
      filter.after = page.next;
    } while (!filter.after.empty());
  }
  return {};
}

Result<std::vector<double>> check_jobs(JobClient& client, const std::vector<std::string>& groups,
                                       const std::vector<JobId>& submitted,
                                       const std::optional<WallTime>& due) {
  std::vector<End> ends;
  std::vector<double> lateness_ms;
  Status failed;
  CARILLON_TRY(read_history(client, groups, [&](const HistoryRow& row) {
    ends.push_back({.key = row.job_id.value, .state = row.state});
    lateness_ms.push_back(row.lateness_ms);
    if (failed.ok()) failed = check_time(row, due);
  }));
  std::vector<std::int64_t> expected;
  for (const JobId id : submitted) expected.push_back(id.value);
  CARILLON_TRY(check_each_succeeded_once(std::move(expected), std::move(ends), [](std::int64_t id) {
    return "job " + std::to_string(id);
  }));
  CARILLON_TRY(failed);
  return lateness_ms;
}

Status check_not_early(const HistoryRow& row) {
  if (row.lateness_ms >= -milliseconds(kClocksApart)) return {};
  return Error{ErrorCode::kCorrupt, "task " + row.task_id + " was started " +
                                        std::to_string(-row.lateness_ms) + " ms before its time, " +
                                        row.trigger_time};
}

Status await_history(JobClient& client, const std::string& group, std::size_t rows,
                     Duration patience) {
  const SystemClock clock;
  Wakeup pause;
  const SteadyTime end = clock.steady_now() + patience;
  while (true) {
    std::size_t count = 0;
    CARILLON_TRY(read_history(client, {group}, [&count](const HistoryRow&) { ++count; }));
    if (count >= rows) return {};
    if (clock.steady_now() > end) {
      return Error{ErrorCode::kTimeout, "the history of group " + group + " has " +
                                            std::to_string(count) + " rows, not " +
                                            std::to_string(rows)};
    }
    pause.wait_for(std::chrono::milliseconds{50});
  }
}

Result<std::int64_t> read_counter(JobClient& client, const std::string& name) {
  const RowPage page = CARILLON_TRY(client.stats());
  for (const Row& row : page.rows) {
    const Field* field = find_field(row, name);
    if (field == nullptr) continue;
    if (const auto* number = std::get_if<std::int64_t>(field)) return *number;
  }
  return Error{ErrorCode::kCorrupt, "the job tracker's stats have no " + name};
}

Status await_counter(JobClient& client, const std::string& name, std::int64_t least,
                     Duration patience) {
  return await_count(name, least, patience, [&] { return read_counter(client, name); });
}

Status await_count(const std::string& name, std::int64_t least, Duration patience,
                   const std::function<Result<std::int64_t>()>& read) {
  const SystemClock clock;
  Wakeup pause;
  std::int64_t last = -1;
  SteadyTime moved_at = clock.steady_now();
  while (true) {
    const std::int64_t now = CARILLON_TRY(read());
    if (now >= least) return {};
    if (now != last) moved_at = clock.steady_now();
    last = now;
    if (clock.steady_now() > moved_at + patience) {
      return Error{ErrorCode::kTimeout, name + " stands at " + std::to_string(now) + " of " +
                                            std::to_string(least) + " and moves no more"};
    }
    pause.wait_for(kPoll);
  }
}

}  // namespace carillon::bench
