#include "jobtracker/intake/script_change.h"

#include <utility>

#include "jobtracker/state/definitions.h"

namespace carillon::jobtracker {

Result<Run> changed_script(JobSpec spec, const wire::Act& act, WallTime now) {
  if (spec.run.kind != RunKind::kScript)
    return Error{ErrorCode::kConflict, "it does not run a script (submit it again as a script)"};
  if (!act.language.empty()) spec.run.script_language = act.language;
  spec.run.script_source = act.payload.value_or("");
  spec.run.script_remark = act.remark;
  spec.task_id.clear();  // A generated task id cannot be chosen.
  CARILLON_TRY(spec.validate());
  if (act.script_version < 0 || act.script_version > version_of(spec.run, now).version) {
    return Error{ErrorCode::kInvalidArgument,
                 "script_version is " + std::to_string(act.script_version) +
                     ", must be a time that has passed, in milliseconds since 1970"};
  }
  return std::move(spec.run);
}

}  // namespace carillon::jobtracker
