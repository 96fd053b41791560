#pragma once

#include <optional>
#include <vector>

#include "jobclient/cli/context.h"

// submit: one job from flags, or many as JSON lines.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_submit();
int run_submit(Context& context);

// Neither accepted nor stored.
bool is_refused(const SubmitAnswer& answer);

// What the first job failed with that may have been taken, or was not, for no fault of its own;
// nothing where each was answered.
std::optional<Error> failure_in(const std::vector<SubmitAnswer>& answers);

// An answer as a row: task_id, group, job_id, status, and tz, reason, warning where there are any.
Row answer_row(const SubmitAnswer& answer);

// One answer, as the format says: a line for a person, or JSON.
void print_answer(Context& context, const SubmitAnswer& answer,
                  const std::optional<WallTime>& next_fire = {});

}  // namespace carillon::cli
