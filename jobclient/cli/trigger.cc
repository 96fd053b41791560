#include "jobclient/cli/trigger.h"

#include <utility>

#include "jobclient/cli/act.h"
#include "jobclient/cli/follow.h"
#include "jobclient/cli/job_flags.h"
#include "jobclient/cli/other_groups.h"

namespace carillon::cli {

Verb declare_trigger() {
  return {
      .name = "trigger",
      .summary = "Run a task now",
      .description =
          "Starts one run, before all other jobs of the group. The schedule stays as it is. A job "
          "that runs once runs now instead of later. The overlap rule of the task applies.",
      .options = {group_option(true, "The node group of the task."),
                  {.name = "payload",
                   .placeholder = "TEXT",
                   .help = "Stdin of this run, at most 1 MiB, instead of the payload of the task."},
                  {.name = "payload-file",
                   .placeholder = "FILE",
                   .help = "Payload from a file; - is stdin."},
                  {.name = "address",
                   .kind = OptionKind::kList,
                   .placeholder = "URL",
                   .help = "xxl-job executor to call."},
                  {.name = "force",
                   .kind = OptionKind::kSwitch,
                   .help = "Run even while another run of the task continues."},
                  {.name = "wait",
                   .letter = 'w',
                   .kind = OptionKind::kSwitch,
                   .help = "Print the output of the job and exit with its status."}},
      .positionals = {{.name = "TASK_ID", .help = "The task."}},
      .examples =
          "  jobclient trigger nightly --group ops\n"
          "  jobclient trigger report --payload '{\"day\": \"2026-11-20\"}' --wait\n",
      .section = "Act on jobs"};
}

int run_trigger(Context& context) {
  const Configuration& configuration = context.configuration;
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  TriggerOptions options{.force = configuration.is_on("force")};
  if (configuration.was_given("payload") || configuration.was_given("payload-file")) {
    Result<std::string> payload = payload_from(configuration, context.around.input);
    if (!payload.ok()) return context.fail(kWrongInput, payload.error().message);
    options.payload = std::move(payload.value());
  }
  options.addresses = configuration.list("address");
  const TaskRef task = context.task();
  const Result<ActAnswer> answer = client.value()->trigger(task, options);
  if (!configuration.is_on("wait")) return print_act_answer(context, task, answer);
  if (!answer.ok()) {
    return context.fail(kWaitFailed, name_other_groups(context, task, answer.error()).message);
  }
  return wait_for_job(context, *client.value(), answer.value().job_id);
}

}  // namespace carillon::cli
