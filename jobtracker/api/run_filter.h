#pragma once

#include <optional>
#include <string>
#include <vector>

#include "carillon/ids.h"
#include "carillon/time.h"
#include "jobtracker/api/row_pages.h"

namespace carillon::jobtracker::api {

// Which runs a list has. Empty members match all.
struct RunFilter {
  std::string list{};  // waiting, executing, history
  std::string group{};
  std::string task_id{};
  std::string task_prefix{};
  std::vector<std::string> states{};
  JobId job_id{};
  std::optional<WallTime> since{};  // ended, or due, at or after this time
  std::optional<WallTime> until{};  // before this time
  std::string node{};               // its name or address
  std::string text{};               // in the task id, the node or the message

  bool matches(const wire::Row& row) const;
};

// The parameters of a list, but for the page's.
Result<RunFilter> run_filter_of(std::string list, const Parameters& parameters);
// The same for one of the lists of /runs, where `state` names states of any list: "waiting",
// "executing" and "ended" stand for all states of a list. None: the list has no such state.
Result<std::optional<RunFilter>> filter_of_any_run(std::string list, const Parameters& parameters);
RowList list_of_runs(const RunFilter& filter);

// Error: kInvalidArgument.
Result<JobId> job_id_of(const std::string& text);

}  // namespace carillon::jobtracker::api
