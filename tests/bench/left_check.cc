#include "tests/bench/left_check.h"

#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "carillon/job_client.h"
#include "jobtracker/store/sql/mysql_store.h"
#include "jobtracker/store/sql/sqlite_store.h"

namespace carillon::bench {
namespace {

constexpr std::string_view kSqlite = "sqlite:";

struct Left {
  std::int64_t waiting = 0;
  std::int64_t executing = 0;
};

Status check_none(const std::string& where, const std::string& group, const Left& left) {
  if (left.waiting == 0 && left.executing == 0) return {};
  return Error{ErrorCode::kCorrupt, "all jobs have ended, but " + where + " of group " + group +
                                        " " + std::to_string(left.waiting) + " wait and " +
                                        std::to_string(left.executing) + " execute"};
}

// Nothing is what another job tracker has in memory.
Result<std::int64_t> count_of(const Row& row, const std::string& name) {
  const Field* field = find_field(row, name);
  if (field == nullptr) {
    return Error{ErrorCode::kCorrupt, "the job tracker's groups have no " + name};
  }
  const auto* count = std::get_if<std::int64_t>(field);
  return count == nullptr ? 0 : *count;
}

Status check_tracker(const Round& round, JobClient& client) {
  const RowPage page = CARILLON_TRY(client.groups());
  for (const Row& row : page.rows) {
    const std::string group = field_text(row, "group");
    if (!group.starts_with(round.group)) continue;
    Left left;
    left.waiting = CARILLON_TRY(count_of(row, "waiting"));
    left.executing = CARILLON_TRY(count_of(row, "executing"));
    CARILLON_TRY(check_none("for the job tracker", group, left));
  }
  return {};
}

Result<std::unique_ptr<jobtracker::ReadOnlyStore>> open_reader(const std::string& url) {
  if (!url.starts_with(kSqlite)) return jobtracker::open_mysql_reader(url);
  return jobtracker::open_sqlite_reader(url.substr(kSqlite.size()));
}

// What a job tracker has forgotten would be run, or wait for its worker, after its next start.
Status check_store(const Round& round) {
  const auto store = CARILLON_TRY(open_reader(round.store_url));
  const auto start = CARILLON_TRY(store->read(jobtracker::ReadStart{}));
  const auto counts = CARILLON_TRY(store->read(jobtracker::CountWaiting{
      .now = round.clock.wall_now(), .rows_max = std::numeric_limits<std::int64_t>::max()}));
  std::map<GroupId, Left> left;
  for (const auto& job : std::get<jobtracker::StartAnswer>(start).executing) {
    ++left[job.job.group].executing;
  }
  for (const auto& of : std::get<jobtracker::CountAnswer>(counts).groups) {
    left[of.group].waiting = of.waiting;
  }
  bool knows_round = false;
  for (const auto& group : std::get<jobtracker::StartAnswer>(start).groups) {
    if (!group.name.starts_with(round.group)) continue;
    knows_round = true;
    CARILLON_TRY(check_none("in the store", group.name, left[group.id]));
  }
  if (knows_round) return {};
  return Error{ErrorCode::kCorrupt, "the store has no group of this round"};
}

}  // namespace

Status check_nothing_left(const Round& round) {
  for (std::size_t i = 0; i < round.cluster.tracker_processes().size(); ++i) {
    const auto client = CARILLON_TRY(round.cluster.client_of(i));
    CARILLON_TRY(check_tracker(round, *client));
  }
  return check_store(round);
}

}  // namespace carillon::bench
