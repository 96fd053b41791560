#include "tasktracker/run/run_environment.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "shared/base/joined.h"
#include "shared/base/time_text.h"
#include "shared/job/run_words.h"

namespace carillon::tasktracker {
namespace {

// Whether a variable is about this process, or about a job that this process is a run of. Settings
// may be secrets, and a run gets no credentials; the addresses of job trackers are for a jobclient
// in the run.
bool is_private(std::string_view name) {
  static constexpr std::string_view kNames[] = {
      "NOTIFY_SOCKET",  "WATCHDOG_USEC", "WATCHDOG_PID",          "LISTEN_FDS", "LISTEN_PID",
      "LISTEN_FDNAMES", "INVOCATION_ID", "CREDENTIALS_DIRECTORY", "TRACEPARENT"};
  if (name.starts_with("CARILLON_")) return name != "CARILLON_TRACKER";
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

Environment with_trackers(const Environment& own, const std::vector<std::string>& trackers) {
  std::map<std::string, std::string> variables = own.all();
  if (!trackers.empty()) variables["CARILLON_TRACKER"] = joined(trackers, ",");
  return Environment{std::move(variables)};
}

std::vector<std::string> run_environment(const Environment& own, const JobInfo& job) {
  std::map<std::string, std::string> variables;
  for (const auto& [name, value] : own.all()) {
    if (!is_private(name)) variables[name] = value;
  }
  for (const auto& [name, value] : job.params) variables[param_variable(name)] = value;
  variables["CARILLON_TASK_ID"] = job.task_id;
  variables["CARILLON_JOB_ID"] = std::to_string(job.job_id.value);
  variables["CARILLON_ATTEMPT"] = std::to_string(job.attempt);
  variables["CARILLON_GROUP"] = job.group;
  variables["CARILLON_NODE"] = job.node;
  variables["CARILLON_TRIGGER_TIME"] = format_time(job.trigger_time);

  if (!job.traceparent.empty()) variables["TRACEPARENT"] = job.traceparent;
  if (job.shard_total > 1) {
    variables["CARILLON_SHARD_INDEX"] = std::to_string(job.shard_index);
    variables["CARILLON_SHARD_TOTAL"] = std::to_string(job.shard_total);
  }

  std::vector<std::string> lines;
  lines.reserve(variables.size());
  for (const auto& [name, value] : variables) {
    lines.push_back(name + '=' + value.substr(0, value.find('\0')));
  }
  return lines;
}

}  // namespace carillon::tasktracker
