// Warnings about accepted jobs.
#include "jobtracker/intake/submit.h"

namespace carillon::jobtracker {

// Why probably no worker will take the job; empty: no warning. Task trackers that are only away for
// a while cause no warning.
std::string SubmitIntake::why_nobody_takes(const JobSpec& spec, GroupId place) const {
  const Group& group = *catalog_.group(spec.group);
  const bool has_executors = executors_.has(group.id);
  const bool is_pushed = spec.dispatch == Dispatch::kPush;
  if (is_pushed ? has_executors : workers_.accepts(place, wire::glance_of(spec))) return {};
  const std::string of_group = " of group '" + group.name + "' ";
  if (is_pushed) {
    const bool is_served = workers_.count(place) > 0;
    return "no executor" + of_group + "has ever connected" +
           (is_served ? ", and none can, because it is a group of task trackers" : "");
  }
  if (workers_.count(place) > 0) return none_accepts(group.name, spec.run.kind);
  // Its executors have marked it as served.
  if (has_executors) return "no task tracker" + of_group + "is connected";
  return group.served ? "" : "no task tracker" + of_group + "has ever connected";
}

// Empty: no warning.
std::string SubmitIntake::warning_for(const JobSpec& spec, GroupId place, DefinitionState hold,
                                      const ChildGraph::Foreign& foreign_children,
                                      const ChildGraph::IsComing& is_coming) const {
  std::string all = why_nobody_takes(spec, place);
  const auto warn = [&all](const std::string& text) { all += (all.empty() ? "" : "; ") + text; };
  const std::string tasks = children_.undefined_of(spec, foreign_children, is_coming);
  if (!tasks.empty()) warn("not defined yet: " + tasks);
  if (!alarms_.can_tell(spec))
    warn("alarms by mail are not sent: the job tracker has no mail server (see --smtp)");
  if (is_held(hold)) {
    warn(std::string{hold == DefinitionState::kSuspended ? "is suspended" : "is in quarantine"} +
         ", like the job that it replaces (resume it to let it run)");
  }
  return all;
}

}  // namespace carillon::jobtracker
