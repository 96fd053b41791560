#include "jobtracker/api/task_view.h"

#include <algorithm>
#include <utility>

#include "shared/base/crypto.h"
#include "shared/base/time_text.h"
#include "shared/job/schedule.h"
#include "shared/wire/codec.h"
#include "shared/wire/spec_json.h"

namespace carillon::jobtracker::api {
namespace {

constexpr std::size_t kNextFires = 10;

}  // namespace

Json definition_item(const wire::Row& row) {
  Json item = item_of(row);
  // Read from the history, where they are wanted.
  item["last_result"] = nullptr;
  item["success_rate"] = nullptr;
  return item;
}

bool is_one_shot(const wire::Row& row) {
  const std::string kind = text_in(row, "kind");
  return kind == "at" || kind == "now";
}

Json one_shot_item(const wire::Row& row) {
  const Json item = item_of(row);
  const std::string state = text_in(row, "state");
  const bool is_held = state == "suspended" || state == "quarantined";
  return {{"task_id", item["task_id"]},
          {"group", item["group"]},
          {"kind", item["kind"]},
          {"schedule", item["trigger_time"]},
          {"tz", nullptr},
          {"dst", nullptr},
          {"state", is_held ? state : "active"},
          {"next_fire", is_held ? Json{} : item["due_time"]},
          {"last_fire", nullptr},
          {"priority", item["priority"]},
          {"overlap", nullptr},
          {"tags", Json::array()},
          {"running", 0},
          {"description", ""},
          {"owner", ""},
          {"job_id", item["job_id"]},
          {"last_result", nullptr},
          {"success_rate", nullptr}};
}

Result<JobSpec> spec_in(const wire::Row& shown) {
  auto spec = wire::decode_spec(text_in(shown, "spec"));
  if (!spec.ok()) return Error{ErrorCode::kCorrupt, spec.error().message};
  JobSpec whole = std::move(spec).value();
  whole.task_id = text_in(shown, "task_id");
  whole.group = text_in(shown, "group");
  return whole;
}

Json next_fires(const JobSpec& spec, const wire::Row& shown) {
  Json fires = Json::array();
  const auto next = parse_time(text_in(shown, "next_fire"));
  if (!next.ok()) return fires;  // it has none
  fires.push_back(format_time(next.value()));
  const bool repeats =
      spec.schedule.kind == ScheduleKind::kCron || spec.schedule.kind == ScheduleKind::kEvery;
  if (!repeats) return fires;
  Schedule schedule = spec.schedule;
  // The grid of an interval goes on from its next fire, whenever it began.
  if (schedule.kind == ScheduleKind::kEvery) schedule.first = next.value();
  auto compiled = CompiledSchedule::compile(schedule, next.value());
  if (!compiled.ok()) return fires;
  auto fire = compiled.value().next_fire(next.value());
  const auto most = std::min<std::size_t>(
      kNextFires, static_cast<std::size_t>(spec.schedule.count.value_or(kNextFires)));
  for (; fire && fires.size() < most; fire = compiled.value().next_fire(*fire))
    fires.push_back(format_time(*fire));
  return fires;
}

Json json_of_spec(const JobSpec& spec) {
  return Json::parse(wire::spec_to_json(spec), nullptr, false);
}

std::string etag_of(const wire::Row& shown) {
  constexpr std::size_t kLength = 24;
  return '"' + sha256_hex(text_in(shown, "spec")).substr(0, kLength) + '"';
}

}  // namespace carillon::jobtracker::api
