#include "jobtracker/api/run_filter.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <utility>

#include "jobtracker/api/job_filter.h"
#include "jobtracker/store/rows.h"

namespace carillon::jobtracker::api {

Result<JobId> job_id_of(const std::string& text) {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, failed] = std::from_chars(text.data(), end, number);
  if (failed == std::errc{} && at == end && number > 0) return JobId{number};
  return Error{ErrorCode::kInvalidArgument, "job_id is '" + text + "', must be a number above 0"};
}

Result<RunFilter> run_filter_of(std::string list, const Parameters& parameters) {
  RunFilter filter{.list = std::move(list),
                   .group = parameters.text("group"),
                   .task_id = parameters.text("task_id"),
                   .task_prefix = parameters.text("task_prefix"),
                   .states = parameters.list("state"),
                   .node = parameters.text("node"),
                   .text = parameters.text("text")};
  if (parameters.has("job_id")) filter.job_id = CARILLON_TRY(job_id_of(parameters.text("job_id")));
  filter.since = CARILLON_TRY(parameters.time("since"));
  filter.until = CARILLON_TRY(parameters.time("until"));
  return filter;
}

Result<std::optional<RunFilter>> filter_of_any_run(std::string list, const Parameters& parameters) {
  constexpr std::array<std::string_view, 3> kHeld{"suspended", "quarantined", "delayed"};
  RunFilter filter = CARILLON_TRY(run_filter_of(std::move(list), parameters));
  if (filter.states.empty()) return std::optional{std::move(filter)};
  const std::string whole = filter.list == "history" ? "ended" : filter.list;
  bool has_whole = false;
  std::vector<std::string> own;
  for (const std::string& state : filter.states) {
    const bool is_held = std::find(kHeld.begin(), kHeld.end(), state) != kHeld.end();
    const bool is_end = log_state_of(state).has_value();
    if (!is_held && !is_end && state != "waiting" && state != "executing" && state != "ended") {
      return Error{ErrorCode::kInvalidArgument,
                   "state is '" + state +
                       "', must be waiting, executing, ended, or a state of a run such as failed"};
    }
    has_whole = has_whole || state == whole;
    if ((is_held && filter.list == "waiting") || (is_end && filter.list == "history"))
      own.push_back(state);
  }
  if (!has_whole && own.empty()) return std::optional<RunFilter>{};
  filter.states = has_whole ? std::vector<std::string>{} : std::move(own);
  return std::optional{std::move(filter)};
}

bool RunFilter::matches(const wire::Row& row) const {
  if (!text_in(row, "task_id").starts_with(task_prefix)) return false;
  if (job_id && text_in(row, "job_id") != std::to_string(job_id.value)) return false;
  if (list == "waiting" && !states.empty() &&
      std::find(states.begin(), states.end(), text_in(row, "state")) == states.end())
    return false;
  const char* const time_field = list == "history"   ? "ended_at"
                                 : list == "waiting" ? "due_time"
                                                     : "started_at";
  const auto time = parse_shown_time(text_in(row, time_field));
  if (time && since && *time < *since) return false;
  if (time && until && *time >= *until) return false;
  return is_text(row, "node", node) && contains_text(row, text, {"task_id", "node", "message"});
}

RowList list_of_runs(const RunFilter& filter) {
  wire::Query query{.what = filter.list,
                    .group = filter.group,
                    .task_id = filter.task_id,
                    .job_id = filter.job_id};
  const bool is_history = filter.list == "history";
  if (is_history) {
    query.states = filter.states;
    query.task_prefix = filter.task_prefix;
    query.text = filter.text.empty() ? filter.node : filter.text;
  }
  if (is_history && filter.since) {
    // `since` is exclusive there, and rows are compared again.
    query.since_us = filter.since->time_since_epoch().count() - 1;
  }
  if (is_history && filter.until) {
    // Rows have milliseconds.
    const auto until = std::chrono::ceil<std::chrono::milliseconds>(*filter.until);
    query.until_us = WallTime{until}.time_since_epoch().count();
  }
  RowList list{.queries = {std::move(query)},
               .item = [](const wire::Row& row, int) { return item_of(row); }};
  const bool is_plain = filter.task_prefix.empty() && filter.node.empty() && filter.text.empty() &&
                        !filter.since && !filter.until &&
                        (is_history || (filter.states.empty() && !filter.job_id));
  if (!is_plain) list.matches = [filter](const wire::Row& row, int) { return filter.matches(row); };
  return list;
}

}  // namespace carillon::jobtracker::api
