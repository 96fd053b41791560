#include "jobclient/cli/act.h"

#include <charconv>

#include "jobclient/cli/other_groups.h"

namespace carillon::cli {
namespace {

constexpr const char* kActSection = "Act on jobs";

Verb declare(const char* name, const char* summary, const char* description, const char* examples) {
  return {
      .name = name,
      .summary = summary,
      .description = description,
      .options = {group_option(true, "The node group of the task.")},
      .positionals = {{.name = "TASK_ID", .help = "The task, by the id it was submitted with."}},
      .examples = examples,
      .section = kActSection};
}

int act(Context& context, Result<ActAnswer> (JobClient::*action)(const TaskRef&)) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const TaskRef task = context.task();
  return print_act_answer(context, task, (client.value()->*action)(task));
}

}  // namespace

Verb declare_cancel() {
  return declare("cancel", "End a task for good",
                 "Removes a waiting job or a definition. A run that is under way is told to stop, "
                 "and is not tried again.",
                 "  jobclient cancel nightly --group ops\n");
}

Verb declare_suspend() {
  return declare(
      "suspend", "Stop a task's fires until it is resumed",
      "A suspended task never fires. A run that is under way goes on, and what is or was "
      "triggered runs.",
      "  jobclient suspend nightly --group ops\n");
}

Verb declare_resume() {
  return declare("resume", "Let a suspended task fire again",
                 "The task goes on with its next regular fire; those that were passed over in the "
                 "meantime do not run.",
                 "  jobclient resume nightly --group ops\n");
}

Verb declare_kill() {
  Verb verb = declare("kill", "Stop a run that is under way",
                      "Tells the task tracker to stop the run, with its whole process group; one "
                      "that waits to be tried again ends. The task's coming fires stay; use cancel "
                      "to end those too.",
                      "  jobclient kill nightly --group ops\n"
                      "  jobclient kill --job 7211004000000000017\n");
  verb.positionals[0].required = false;
  verb.options.push_back(
      {.name = "job", .placeholder = "ID", .help = "This job, instead of what a task is running."});
  return verb;
}

int run_cancel(Context& context) { return act(context, &JobClient::cancel); }
int run_suspend(Context& context) { return act(context, &JobClient::suspend); }
int run_resume(Context& context) { return act(context, &JobClient::resume); }

int run_kill(Context& context) {
  const std::string& job = context.configuration.text("job");
  const bool has_task = context.configuration.has("TASK_ID");
  if (has_task == !job.empty()) {
    return context.fail(kWrongInput, has_task ? "a task and --job contradict each other (give one)"
                                              : "what to kill? (give a task id, or --job ID)");
  }
  if (!has_task && context.configuration.was_given("group")) {
    return context.fail(kWrongInput, "--group does not go with --job, which names one job of all");
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  if (has_task) {
    const TaskRef task = context.task();
    return print_act_answer(context, task, client.value()->kill(task));
  }
  const Result<JobId> id = parse_job_id(job);
  if (!id.ok()) return context.fail(kWrongInput, id.error().message);
  return print_act_answer(context, {"", ""}, client.value()->kill(id.value()));
}

int print_act_answer(Context& context, const TaskRef& task, const Result<ActAnswer>& answer) {
  if (!answer.ok()) return context.fail(name_other_groups(context, task, answer.error()));
  if (context.is_json()) {
    Row row;
    if (!task.task_id.empty()) row = {{"task_id", task.task_id}, {"group", task.group}};
    if (answer.value().job_id) {
      row.emplace_back("job_id", std::to_string(answer.value().job_id.value));
    }
    row.emplace_back("message", answer.value().message);
    print_one_row(context.out(), context.style, row);
  } else {
    context.out() << answer.value().message << '\n';
  }
  return kDone;
}

Result<JobId> parse_job_id(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || value <= 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "--job '" + text + "' is not a job id (a number as submit and waiting show it)"};
  }
  return JobId{value};
}

}  // namespace carillon::cli
