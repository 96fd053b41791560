#include "jobclient/cli/submit.h"

#include <algorithm>
#include <utility>

#include "jobclient/cli/follow.h"
#include "jobclient/cli/job_flags.h"
#include "jobclient/cli/submit_lines.h"
#include "jobclient/cli/text_width.h"
#include "shared/base/time_text.h"
#include "shared/job/local_time.h"
#include "shared/wire/spec_json.h"

namespace carillon::cli {
namespace {

// Whether anything of a single job was given; the first such flag.
std::string given_job_flag(const Configuration& configuration) {
  if (!configuration.rest().empty()) return "a command after --";
  for (const Option& option : job_options()) {
    if (configuration.was_given(option.name)) return "--" + option.name;
  }
  return {};
}

int submit_lines(Context& context) {
  const std::string other = given_job_flag(context.configuration);
  if (!other.empty()) {
    return context.fail(kWrongInput, "--stdin and " + other + " contradict each other (give one)");
  }
  if (context.configuration.is_on("wait")) {
    return context.fail(kWrongInput, "--stdin and --wait contradict each other (give one)");
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  return SubmitLines(context, *client.value()).run();
}

int submit_and_wait(Context& context, JobClient& client, JobSpec job) {
  const bool runs_once =
      job.schedule.kind == ScheduleKind::kNow || job.schedule.kind == ScheduleKind::kAt;
  if (!runs_once) {
    const std::string why = job.schedule.kind == ScheduleKind::kManual
                                ? "a manual job has none until it is triggered"
                                : "this job has a schedule";
    return context.fail(kWrongInput, "--wait follows one run, and " + why +
                                         " (submit it without --wait, then use trigger --wait)");
  }
  const Result<SubmitAnswer> answer = client.submit_one(std::move(job));
  if (!answer.ok()) return context.fail(kWaitFailed, answer.error().message);
  if (answer.value().status != SubmitStatus::kAccepted) {
    const std::string& task_id = answer.value().task_id;
    return context.fail(kWaitFailed, (task_id.empty() ? "the job" : "job '" + task_id + "'") +
                                         " is " + to_string(answer.value().status) + ": " +
                                         answer.value().reason);
  }
  if (!answer.value().warning.empty()) {
    context.err() << "jobclient: submit: warning: " << context.for_err(answer.value().warning)
                  << std::endl;
  }
  return wait_for_job(context, client, answer.value().job_id);
}

// A job for a time in the past runs at once.
void warn_of_past(Context& context, const JobSpec& job) {
  if (job.schedule.kind != ScheduleKind::kAt || job.schedule.at >= context.style.now) return;
  context.err() << "jobclient: submit: warning: --at " << format_time(job.schedule.at)
                << " is in the past: the job runs immediately" << std::endl;
}

// When a job for later fires next. Nothing: it runs at once or not by itself, or the job tracker
// does not say.
std::optional<WallTime> next_fire_of(const Context& context, JobClient& client,
                                     const SubmitAnswer& answer) {
  const Result<RowPage> page = client.show({answer.task_id, answer.group});
  if (!page.ok() || page.value().rows.empty()) return std::nullopt;
  const Row& row = page.value().rows.front();
  const bool is_definition = find_field(row, "next_fire") != nullptr;
  const std::string state = field_text(row, "state");
  if (!is_definition && state != "waiting" && state != "delayed") return std::nullopt;
  const auto fire = parse_time(field_text(row, is_definition ? "next_fire" : "trigger_time"));
  if (!fire.ok() || fire.value() <= context.style.now) return std::nullopt;
  return fire.value();
}

// For a person: on the clocks that the schedule goes by, as far as they are known here.
std::string fire_for_people(const Context& context, const SubmitAnswer& answer, WallTime fire) {
  const Result<Zone> zone = answer.tz.empty() ? context.style.zone : Zone::load(answer.tz);
  return local_text_for_people(fire, zone.ok() ? zone.value() : context.style.zone);
}

}  // namespace

Verb declare_submit() {
  Verb verb{
      .name = "submit",
      .summary = "Submit one job or many",
      .description =
          "Submits one job, given by flags, and prints whether it was accepted. An accepted job is "
          "on disk. With --stdin, submits one job per line, each a JSON object. The JSON fields "
          "are the flags with underscores, apart from those listed at the end of this help.",
      .options = {{.name = "stdin",
                   .kind = OptionKind::kSwitch,
                   .help = "Read one JSON object per line; print one answer per job, in order."},
                  {.name = "wait",
                   .letter = 'w',
                   .kind = OptionKind::kSwitch,
                   .help = "Print the output as it appears and exit with the status of the job: "
                           "128+n after signal n, 125 if the job was refused, did not run or could "
                           "not be followed. Ctrl-C ends jobclient, not the job."},
                  {.name = "offline",
                   .kind = OptionKind::kSwitch,
                   .help = "Store the job on this machine's disk when no job tracker is reachable "
                           "within --connect-timeout. The next jobclient call submits it."}},
      .rest_placeholder = "PROGRAM [ARGUMENT]...",
      .examples =
          "  jobclient submit -- echo hello\n"
          "  jobclient submit --task-id nightly --group ops --cron '0 0 2 * * ?' "
          "--tz Asia/Shanghai \\\n"
          "      -- /usr/local/bin/backup --full\n"
          "  jobclient submit --every 5m --timeout 1m --http https://example.org/refresh\n"
          "  jobclient submit --wait --script report.py --param day=2026-11-20\n"
          "  jobclient submit --stdin < jobs.jsonl\n"
          "  jobclient submit --offline --task-id report -- /usr/local/bin/report\n"
          "\n"
          "JSON fields of --stdin that differ from the flags:\n"
          "  -- PROGRAM ARG...       \"command\": [\"PROGRAM\", \"ARG\"]\n"
          "  --script, --language    \"script\": {\"language\": \"sh\", \"source\": \"...\"}\n"
          "  --http, --method, ...   \"http\": {\"url\": \"...\", \"method\": \"GET\", "
          "\"headers\": {}, "
          "\"body\": \"\"}\n"
          "  --param A=B             \"params\": {\"A\": \"B\"}\n"
          "  --payload-file          \"payload\": \"TEXT\", or \"payload_base64\" for any bytes\n"
          "  --retries, --retry-...  \"retries\": 3, or {\"max\", \"policy\", \"base\", \"cap\", "
          "\"jitter\"}\n"
          "  --misfire, ...          \"misfire\": \"skip\", or {\"policy\", \"max\", \"window\", "
          "\"threshold\"}\n"
          "  --child G/T             \"children\": [{\"group\": \"G\", \"task_id\": \"T\"}]\n"
          "  --address URL           \"addresses\": [\"URL\"]\n"
          "  Switches are true; --tags, --alarm are lists; --at and --first are RFC 3339 times.\n",
      .section = "Submit"};
  for (Option& option : job_options()) verb.options.push_back(std::move(option));
  return verb;
}

int run_submit(Context& context) {
  const Configuration& configuration = context.configuration;
  context.tell_of_others();
  if (configuration.is_on("stdin")) return submit_lines(context);
  Result<JobSpec> job = job_from_flags(configuration, context.style.now, context.around.input);
  if (!job.ok()) return context.fail(kWrongInput, job.error().message);
  warn_of_past(context, job.value());
  if (configuration.is_on("wait") && configuration.is_on("offline")) {
    return context.fail(kWrongInput,
                        "--wait and --offline contradict each other (a stored job does not run)");
  }
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  if (configuration.is_on("wait")) {
    return submit_and_wait(context, *client.value(), std::move(job).value());
  }
  const ScheduleKind kind = job.value().schedule.kind;
  const Result<SubmitAnswer> answer = client.value()->submit_one(std::move(job).value());
  if (!answer.ok()) return context.fail(answer.error());
  const bool is_for_later = answer.value().status == SubmitStatus::kAccepted &&
                            kind != ScheduleKind::kNow && kind != ScheduleKind::kManual;
  print_answer(
      context, answer.value(),
      is_for_later ? next_fire_of(context, *client.value(), answer.value()) : std::nullopt);
  return is_refused(answer.value()) ? kRefused : kDone;
}

bool is_refused(const SubmitAnswer& answer) {
  return answer.status != SubmitStatus::kAccepted && answer.status != SubmitStatus::kStored;
}

std::optional<Error> failure_in(const std::vector<SubmitAnswer>& answers) {
  const auto failed = std::find_if(answers.begin(), answers.end(), [](const SubmitAnswer& answer) {
    return answer.error.has_value();
  });
  if (failed == answers.end()) return std::nullopt;
  return Error{*failed->error, failed->reason};
}

Row answer_row(const SubmitAnswer& answer) {
  Row row{{"task_id", answer.task_id}, {"group", answer.group}};
  if (answer.job_id) row.emplace_back("job_id", std::to_string(answer.job_id.value));
  row.emplace_back("status", std::string{to_string(answer.status)});
  if (!answer.tz.empty()) row.emplace_back("tz", answer.tz);
  if (!answer.reason.empty()) row.emplace_back("reason", answer.reason);
  if (!answer.warning.empty()) row.emplace_back("warning", answer.warning);
  return row;
}

void print_answer(Context& context, const SubmitAnswer& answer,
                  const std::optional<WallTime>& next_fire) {
  if (context.is_json()) {
    Row row = answer_row(answer);
    if (next_fire) row.emplace_back("next_fire", format_time(*next_fire));
    context.out() << wire::row_to_json(row) << '\n';
    return;
  }
  const std::string status = to_string(answer.status);
  context.out() << coloured(status, colour_of_state(status), context.style.terminal.colours);
  if (!answer.task_id.empty()) context.out() << "  " << one_line(answer.task_id);
  if (!answer.group.empty()) context.out() << "  group " << answer.group;
  if (answer.job_id) context.out() << "  job " << answer.job_id.value;
  if (!answer.tz.empty()) context.out() << "  tz " << answer.tz;
  if (next_fire) {
    context.out() << "  next fire " << fire_for_people(context, answer, *next_fire);
  }
  if (!answer.reason.empty()) context.out() << "  " << context.for_out(answer.reason);
  if (!answer.warning.empty()) context.out() << "  warning: " << context.for_out(answer.warning);
  context.out() << '\n';
}

}  // namespace carillon::cli
