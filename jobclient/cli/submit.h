#pragma once

#include <optional>

#include "jobclient/cli/context.h"

// submit: one job from flags, or many as JSON lines.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_submit();
int run_submit(Context& context);

// Neither accepted nor stored.
bool is_refused(const SubmitAnswer& answer);

// An answer as a row: task_id, group, job_id, status, and tz, reason, warning where there are any.
Row answer_row(const SubmitAnswer& answer);

// One answer, as the format says: a line for a person, or JSON.
void print_answer(Context& context, const SubmitAnswer& answer,
                  const std::optional<WallTime>& next_fire = {});

}  // namespace carillon::cli
