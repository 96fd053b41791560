#include "jobclient/cli/logs.h"

#include "jobclient/cli/act.h"
#include "jobclient/cli/follow.h"
#include "jobclient/cli/other_groups.h"
#include "jobclient/cli/retry_while_unavailable.h"

namespace carillon::cli {
namespace {

int follow(Context& context, JobClient& client, JobId job, OutputFollower& follower) {
  SignalMessageOn signal_message(context, job);
  while (true) {
    const Result<Row> state =
        retry_while_unavailable(context, true, [&] { return state_of_job(client, job); });
    if (!state.ok()) return context.fail(state.error());
    signal_message.follow(state.value());
    const Status printed =
        retry_while_unavailable(context, true, [&] { return follower.print_new(); });
    if (!printed.ok() && !is_out_of_reach(printed)) return context.fail(printed.error());
    if (is_done(state.value())) {
      if (!printed.ok()) return context.fail(printed.error());
      const Status finished = follower.finish();
      return finished.ok() ? kDone : context.fail(finished.error());
    }
    context.around.pause(kFollowInterval);
  }
}

// Nothing was printed: of a job that is not known, or that wrote nothing.
int say_nothing_written(Context& context, JobClient& client, JobId job) {
  const Result<Row> state = state_of_job(client, job);
  if (!state.ok()) return context.fail(state.error());
  if (context.is_json()) return kDone;
  context.err() << "job " << job.value << " has no output";
  if (!is_done(state.value()))
    context.err() << " yet; its state is " << field_text(state.value(), "state");
  context.err() << '\n';
  return kDone;
}

}  // namespace

Verb declare_logs() {
  return {.name = "logs",
          .summary = "Print the output of a job",
          .description =
              "Prints the output of a task's current run, or of its last run. The job's stderr and "
              "the log lines of a handler go to stderr.",
          .options = {group_option(true, "The node group of the task."),
                      {.name = "job", .placeholder = "ID", .help = "The job, instead of a task."},
                      {.name = "follow",
                       .letter = 'f',
                       .kind = OptionKind::kSwitch,
                       .help = "Follow the output until the job ends, across reconnects."},
                      {.name = "tail",
                       .letter = 'n',
                       .kind = OptionKind::kNumber,
                       .placeholder = "N",
                       .help = "Only the last N lines; with -f, start with these.",
                       .also_called = {"lines"},
                       .fallback_help = "all",
                       .min = 1},
                      {.name = "timestamps",
                       .letter = 't',
                       .kind = OptionKind::kSwitch,
                       .help = "Print the time before each line."}},
          .positionals = {{.name = "TASK_ID", .help = "The task.", .required = false}},
          .examples =
              "  jobclient logs nightly --group ops\n"
              "  jobclient logs nightly --tail 20\n"
              "  jobclient logs -f --job 7211004000000000017\n",
          .section = "See what is going on"};
}

int run_logs(Context& context) {
  const Configuration& configuration = context.configuration;
  const std::string& job_text = configuration.text("job");
  const bool has_task = configuration.has("TASK_ID");
  if (has_task == !job_text.empty()) {
    return context.fail(kWrongInput, has_task ? "a task and --job contradict each other (give one)"
                                              : "give a task id or --job ID");
  }
  if (!has_task && context.configuration.was_given("group")) {
    return context.fail(kWrongInput,
                        "--group cannot be combined with --job: a job id needs no group");
  }
  const auto opened = context.client();
  if (!opened.ok()) return context.fail(kWrongInput, opened.error().message);
  JobClient& client = *opened.value();
  const bool is_following = configuration.is_on("follow");
  const Result<JobId> job =
      has_task ? retry_while_unavailable(context, is_following,
                                         [&] { return newest_job_of(client, context.task()); })
               : parse_job_id(job_text);
  if (!job.ok() && !has_task) return context.fail(kWrongInput, job.error().message);
  if (!job.ok()) return context.fail(name_other_groups(context, context.task(), job.error()));
  OutputFollower follower(context, client, job.value(), configuration.is_on("timestamps"));
  if (const auto lines = context.number("tail")) follower.begin_with_last(*lines);
  if (is_following) return follow(context, client, job.value(), follower);
  const Status printed = follower.print_new();
  if (!printed.ok()) return context.fail(printed.error());
  const int status =
      follower.has_printed() ? kDone : say_nothing_written(context, client, job.value());
  if (status != kDone) return status;
  const Status finished = follower.finish();
  return finished.ok() ? kDone : context.fail(finished.error());
}

}  // namespace carillon::cli
