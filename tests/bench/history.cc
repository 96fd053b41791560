#include "tests/bench/history.h"

#include "shared/base/clock.h"
#include "shared/runtime/wakeup.h"

namespace carillon::bench {
namespace {

constexpr std::int64_t kPage = 2000;
// Short beside the shortest measurement, long beside an answer's cost.
constexpr Duration kPoll = std::chrono::milliseconds{3};

}  // namespace

Result<std::vector<HistoryRow>> read_history(JobClient& client, const std::string& group) {
  std::vector<HistoryRow> rows;
  RowFilter filter{.group = group, .limit = kPage};
  do {
    const RowPage page = CARILLON_TRY(client.history(filter));
    for (const Row& row : page.rows) {
      HistoryRow& one =
          rows.emplace_back(HistoryRow{.job_id = field_text(row, "job_id"),
                                       .task_id = field_text(row, "task_id"),
                                       .state = field_text(row, "state"),
                                       .trigger_time = field_text(row, "trigger_time")});
      const Field* lateness = find_field(row, "lateness_ms");
      if (lateness == nullptr) continue;
      if (const auto* real = std::get_if<double>(lateness)) one.lateness_ms = *real;
      if (const auto* whole = std::get_if<std::int64_t>(lateness)) {
        one.lateness_ms = static_cast<double>(*whole);
      }
    }
    filter.after = page.next;
  } while (!filter.after.empty());
  return rows;
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
  const SystemClock clock;
  Wakeup pause;
  std::int64_t last = -1;
  SteadyTime moved_at = clock.steady_now();
  while (true) {
    const std::int64_t now = CARILLON_TRY(read_counter(client, name));
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
