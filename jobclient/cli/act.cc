#include "jobclient/cli/act.h"

#include <charconv>
#include <functional>
#include <string>

#include "jobclient/cli/other_groups.h"

namespace carillon::cli {
namespace {

constexpr const char* kActSection = "Act on jobs";

Verb declare(const char* name, const char* summary, const char* description, const char* examples) {
  return {.name = name,
          .summary = summary,
          .description = description,
          .options = {group_option(true, "The node group of the task.")},
          .positionals = {{.name = "TASK_ID", .help = "The task."}},
          .examples = examples,
          .section = kActSection};
}

Verb declare_for_several(const char* name, const char* summary, const char* description,
                         const char* examples) {
  Verb verb = declare(name, summary, description, examples);
  verb.positionals = {{.name = "TASK_ID", .help = "The tasks, one or more.", .many = true}};
  return verb;
}

Row row_of(const TaskRef& task, const ActAnswer& answer) {
  Row row;
  if (!task.task_id.empty()) row = {{"task_id", task.task_id}, {"group", task.group}};
  if (answer.job_id) row.emplace_back("job_id", std::to_string(answer.job_id.value));
  row.emplace_back("message", answer.message);
  return row;
}

// Of each task that the verb names. Without a job tracker the rest is not tried.
int act(Context& context, Result<ActAnswer> (JobClient::*action)(const TaskRef&)) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const std::vector<std::string>& ids = context.configuration.list("TASK_ID");
  const std::string& group = context.configuration.text("group");
  if (ids.size() == 1) {
    const TaskRef task{ids.front(), group};
    return print_act_answer(context, task, (client.value()->*action)(task));
  }
  RowOutput rows(context.out(), context.style, {});
  int status = kDone;
  for (const std::string& id : ids) {
    const TaskRef task{id, group};
    const Result<ActAnswer> answer = (client.value()->*action)(task);
    if (!answer.ok()) {
      const int failed = context.fail(name_other_groups(context, task, answer.error()));
      status = failed == kNoTracker ? failed : kRefused;
      if (failed == kNoTracker) break;
    } else if (context.is_json()) {
      rows.add(row_of(task, answer.value()));
    } else {
      context.out() << context.for_out(answer.value().message) << '\n';
    }
  }
  if (context.is_json()) rows.finish();
  return status;
}

}  // namespace

Verb declare_cancel() {
  Verb verb = declare_for_several("cancel", "End tasks permanently",
                                  "Removes waiting jobs and definitions. A current run is stopped "
                                  "and not retried.",
                                  "  jobclient cancel nightly --group ops\n"
                                  "  jobclient cancel report mail cleanup\n");
  verb.also_called = {"delete", "remove", "rm", "del"};
  return verb;
}

Verb declare_suspend() {
  Verb verb =
      declare_for_several("suspend", "Suspend tasks: no more fires until they are resumed",
                          "A current run continues. Runs that were triggered by hand still run.",
                          "  jobclient suspend nightly --group ops\n");
  verb.also_called = {"pause", "disable", "stop"};
  return verb;
}

Verb declare_resume() {
  Verb verb = declare_for_several(
      "resume", "Resume suspended tasks and release tasks from quarantine",
      "A task continues with its next regular fire. Fires during the suspension do not run.",
      "  jobclient resume nightly --group ops\n");
  verb.also_called = {"unpause", "enable"};
  return verb;
}

Verb declare_kill() {
  Verb verb = declare("kill", "Stop a current run",
                      "Stops the run with its whole process group and ends its retries. The "
                      "schedule stays; cancel ends that too.",
                      "  jobclient kill nightly --group ops\n"
                      "  jobclient kill --job 7211004000000000017\n");
  verb.positionals[0].required = false;
  verb.options.push_back(
      {.name = "job", .placeholder = "ID", .help = "The job to stop, instead of a task."});
  return verb;
}

Verb declare_priority() {
  Verb verb = declare("priority", "Change the priority of a waiting job",
                      "Jobs of a group start by priority, then by due time. The smallest priority "
                      "is first. Of a task with a schedule, --job names one waiting run.",
                      "  jobclient priority report 10 --group ops\n"
                      "  jobclient priority --job 7211004000000000017 10\n");
  verb.positionals[0].required = false;
  verb.positionals.push_back(
      {.name = "PRIORITY", .help = "0 to " + std::to_string(kPriorityMax) + "."});
  verb.options.push_back(
      {.name = "job", .placeholder = "ID", .help = "The waiting job, instead of a task."});
  return verb;
}

int run_cancel(Context& context) { return act(context, &JobClient::cancel); }
int run_suspend(Context& context) { return act(context, &JobClient::suspend); }
int run_resume(Context& context) { return act(context, &JobClient::resume); }

namespace {

// Of a verb that takes a task or --job.
int act_on_one(Context& context,
               const std::function<Result<ActAnswer>(JobClient&, const TaskRef&)>& on_task,
               const std::function<Result<ActAnswer>(JobClient&, JobId)>& on_job) {
  const std::string& job = context.configuration.text("job");
  const bool has_task = context.configuration.has("TASK_ID");
  if (has_task == !job.empty()) {
    return context.fail(kWrongInput, has_task ? "a task and --job contradict each other (give one)"
                                              : "give a task id or --job ID");
  }
  if (!has_task && context.configuration.was_given("group")) {
    return context.fail(kWrongInput,
                        "--group cannot be combined with --job: a job id needs no group");
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  if (has_task) {
    const TaskRef task = context.task();
    return print_act_answer(context, task, on_task(*client.value(), task));
  }
  const Result<JobId> id = parse_job_id(job);
  if (!id.ok()) return context.fail(kWrongInput, id.error().message);
  return print_act_answer(context, {"", ""}, on_job(*client.value(), id.value()));
}

}  // namespace

int run_kill(Context& context) {
  return act_on_one(
      context, [](JobClient& client, const TaskRef& task) { return client.kill(task); },
      [](JobClient& client, JobId job) { return client.kill(job); });
}

int run_priority(Context& context) {
  const std::string& text = context.configuration.text("PRIORITY");
  int priority = -1;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, priority);
  if (error != std::errc{} || stopped != end || priority < 0 || priority > kPriorityMax) {
    return context.fail(kWrongInput,
                        "priority is '" + text + "', must be 0 to " + std::to_string(kPriorityMax));
  }
  return act_on_one(
      context,
      [priority](JobClient& client, const TaskRef& task) {
        return client.set_priority(task, priority);
      },
      [priority](JobClient& client, JobId job) { return client.set_priority(job, priority); });
}

int print_act_answer(Context& context, const TaskRef& task, const Result<ActAnswer>& answer) {
  if (!answer.ok()) return context.fail(name_other_groups(context, task, answer.error()));
  if (context.is_json()) {
    print_one_row(context.out(), context.style, row_of(task, answer.value()));
  } else {
    context.out() << context.for_out(answer.value().message) << '\n';
  }
  return kDone;
}

Result<JobId> parse_job_id(const std::string& text) {
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || stopped != end || value <= 0) {
    return Error{ErrorCode::kInvalidArgument,
                 "--job '" + text + "' is not a job id (a number, see submit, waiting or history)"};
  }
  return JobId{value};
}

}  // namespace carillon::cli
