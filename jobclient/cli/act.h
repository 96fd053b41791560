#pragma once

#include "jobclient/cli/context.h"

// The verbs that act on tasks and say what happened: cancel, suspend, resume, kill, priority.
// Thread: the owner's.
namespace carillon::cli {

Verb declare_cancel();
Verb declare_suspend();
Verb declare_resume();
Verb declare_kill();
Verb declare_priority();

int run_cancel(Context& context);
int run_suspend(Context& context);
int run_resume(Context& context);
int run_kill(Context& context);
int run_priority(Context& context);

// Prints what an action came to.
int print_act_answer(Context& context, const TaskRef& task, const Result<ActAnswer>& answer);

// --job's value as an id.
Result<JobId> parse_job_id(const std::string& text);

}  // namespace carillon::cli
