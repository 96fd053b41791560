#include "jobtracker/store/memory_store.h"

#include <algorithm>

#include "jobtracker/store/names.h"
#include "shared/base/utf8.h"

namespace carillon::jobtracker {
namespace {

Error away() { return {ErrorCode::kUnavailable, "memory store: told to be away"}; }

Error fenced(const StoreSession& session) {
  return {ErrorCode::kDenied, "session " + std::to_string(session.session.value) +
                                  " of job tracker '" + session.name +
                                  "' was fenced: another job tracker took over"};
}

}  // namespace

void MemoryDatabase::open_session(const StoreSession& session, WallTime now) {
  TrackerRow row{.name = session.name, .beat = now};
  for (const auto& [key, other] : tables_.trackers) {
    row.id_high = std::max(row.id_high, other.id_high);
    const bool is_ours = key.first == session.session;
    const bool counts = other.alive_before == WallTime{} && other.batch > 0 && !is_ours;
    const WallTime alive = counts ? other.beat : other.alive_before;
    row.alive_before = std::max(row.alive_before, alive);
  }
  std::erase_if(tables_.trackers,
                [&](const auto& entry) { return entry.first.first != session.session; });
  tables_.trackers[{session.session, session.lane}] = row;
}

TrackerRow* MemoryDatabase::tracker(const StoreSession& session) {
  const auto found = tables_.trackers.find({session.session, session.lane});
  return found == tables_.trackers.end() ? nullptr : &found->second;
}

void MemoryDatabase::undo() {
  for (auto step = undo_.rbegin(); step != undo_.rend(); ++step) (*step)();
  undo_.clear();
}

Result<Group> MemoryDatabase::make_group(const std::string& name, WallTime now) {
  CARILLON_TRY(check_group_name(name));
  const auto lower = lower_ascii(name);
  for (const auto& [id, group] : tables_.groups) {
    if (lower_ascii(group.name) == lower) return group;
  }
  if (tables_.groups.size() >= kGroupsMax) {
    return Error{ErrorCode::kLimit, "group '" + name + "' is one too many: at most " +
                                        std::to_string(kGroupsMax) + " groups can be made"};
  }
  Group group{.id = GroupId{1}, .name = name, .created_at = now};
  if (!tables_.groups.empty()) group.id.value = tables_.groups.rbegin()->first.value + 1;
  group.table = new_group_table(name, [&](const std::string& table) {
    return std::any_of(tables_.groups.begin(), tables_.groups.end(),
                       [&](const auto& entry) { return entry.second.table == table; });
  });
  tables_.groups.emplace(group.id, group);
  tables_.waiting.try_emplace(group.id);
  return group;
}

MemoryStore::MemoryStore(MemoryDatabase& database, const StoreSession& session, const Clock& clock)
    : database_(database), session_(session), clock_(clock) {
  database_.open_session(session_, clock_.wall_now());
}

bool MemoryStore::takes_fault(MemoryFault fault) {
  if (faults_.empty() || faults_.front() != fault) return false;
  faults_.pop_front();
  return true;
}

CommitResult MemoryStore::commit(const Batch& batch) {
  if (takes_fault(MemoryFault::kUnavailable)) return RolledBack{.error = away()};
  TrackerRow* row = database_.tracker(session_);
  if (row == nullptr || row->batch != batch.number - 1) {
    return RolledBack{.error = fenced(session_), .fenced = true};
  }
  auto applied = database_.apply(batch);
  if (auto* failure = std::get_if<MemoryDatabase::Failure>(&applied)) {
    return RolledBack{.error = std::move(failure->error), .culprit = failure->culprit};
  }
  auto& committed = std::get<Committed>(applied);
  if (takes_fault(MemoryFault::kUnknownLost)) {
    database_.undo();
    return Unknown{.if_committed = std::move(committed)};
  }
  row->batch = batch.number;
  row->id_high = batch.id_high;
  row->beat = batch.now;
  if (batch.recovered) row->alive_before = WallTime{};
  if (takes_fault(MemoryFault::kUnknownCommitted)) {
    return Unknown{.if_committed = std::move(committed)};
  }
  return std::move(committed);
}

Result<bool> MemoryStore::settle(std::int64_t batch_number) {
  if (takes_fault(MemoryFault::kUnavailable)) return away();
  const TrackerRow* row = database_.tracker(session_);
  if (row == nullptr) return fenced(session_);
  return row->batch >= batch_number;
}

ClockAnswer MemoryStore::read_clock() const {
  if (!database_.clock_ahead()) return {};
  return {.shows = clock_.wall_now() + *database_.clock_ahead(), .at = clock_.steady_now()};
}

Result<ReadAnswer> MemoryStore::read(const Read& question) {
  if (takes_fault(MemoryFault::kUnavailable)) return away();
  if (const auto* make = std::get_if<MakeGroup>(&question)) {
    auto group = CARILLON_TRY(database_.make_group(make->name, clock_.wall_now()));
    return ReadAnswer{GroupAnswer{std::move(group)}};
  }
  auto answer = CARILLON_TRY(database_.read(question));
  if (auto* clock = std::get_if<ClockAnswer>(&answer)) *clock = read_clock();
  if (auto* start = std::get_if<StartAnswer>(&answer)) {
    start->clock = read_clock();
    if (const TrackerRow* row = database_.tracker(session_)) {
      start->id_high = row->id_high;
      start->last_alive = row->alive_before;
    }
  }
  return answer;
}

Result<ReadAnswer> MemoryReader::read(const Read& question) {
  if (std::holds_alternative<MakeGroup>(question)) {
    return Error{ErrorCode::kInvalidArgument, "a read-only store makes no groups"};
  }
  return database_.read(question);
}

}  // namespace carillon::jobtracker
