#include "jobclient/cli/feedback.h"

#include <algorithm>

#include "jobclient/cli/retry_while_unavailable.h"
#include "shared/base/random.h"
#include "shared/base/time_text.h"
#include "shared/job/group_name.h"

namespace carillon::cli {
namespace {

constexpr std::int64_t kResultsAtOnce = 100;

Field time_field(WallTime time) {
  if (time == WallTime{}) return std::monostate{};
  return format_time(time);
}

Row row_of(const JobResult& result) {
  Field exit_code;
  if (result.exit_code) exit_code = std::int64_t{*result.exit_code};
  return {{"job_id", std::to_string(result.job_id.value)},
          {"task_id", result.task_id},
          {"group", result.group},
          {"attempt", std::int64_t{result.attempt}},
          {"state", result.state},
          {"trigger_time", time_field(result.trigger_time)},
          {"started_at", time_field(result.started_at)},
          {"ended_at", time_field(result.ended_at)},
          {"node", result.node.empty() ? Field{} : Field{result.node}},
          {"exit_code", exit_code},
          {"message", result.message}};
}

// A line each, as they come: a table would have to wait for its end.
void print_line(Context& context, const Row& row) {
  context.out() << short_time(field_text(row, "ended_at"), context.style) << "  "
                << context.for_out(field_text(row, "task_id")) << "  " << field_text(row, "group")
                << "  job " << field_text(row, "job_id") << "  " << field_text(row, "state");
  const std::string message = field_text(row, "message");
  if (!message.empty()) {
    context.out() << "  " << context.for_out(message.substr(0, message.find('\n')));
  }
  context.out() << '\n';
}

}  // namespace

Verb declare_feedback() {
  return {.name = "feedback",
          .summary = "Print results of a client group as jobs end",
          .description =
              "Prints and acknowledges the results of jobs that were submitted with "
              "--need-feedback and --client-group, the oldest first. One listener prints each "
              "result, once. Runs until it is interrupted, across reconnects.",
          .options = {{.name = "client-group",
                       .placeholder = "GROUP",
                       .help = "Client group whose results to print."},
                      {.name = "limit",
                       .kind = OptionKind::kNumber,
                       .placeholder = "N",
                       .help = "End after N results; 0 means never.",
                       .fallback = "0",
                       .min = 0}},
          .examples =
              "  jobclient submit --need-feedback --client-group billing -- invoice\n"
              "  jobclient feedback --client-group billing\n"
              "  jobclient feedback --client-group billing -o jsonl --limit 10\n",
          .section = "See what is going on"};
}

int run_feedback(Context& context) {
  if (!context.configuration.has("client-group")) {
    return context.fail(kWrongInput, "--client-group is missing");
  }
  const std::string& group = context.configuration.text("client-group");
  if (const Status named = check_group_name("client_group", group); !named.ok()) {
    return context.fail(kWrongInput, named.error().message);
  }
  const auto opened = context.client();
  if (!opened.ok()) return context.fail(kWrongInput, opened.error().message);
  JobClient& client = *opened.value();
  SystemRandom random;
  FeedbackFetch next{.client_group = group,
                     .listener = static_cast<std::int64_t>(random.next() >> 2) + 1};
  std::int64_t left = context.configuration.number("limit");
  const bool is_endless = left == 0;
  RowOutput rows(context.out(), context.style, {});
  while (true) {
    // At the end only what was printed last is still to be acknowledged.
    next.limit = is_endless ? kResultsAtOnce : std::min(left, kResultsAtOnce);
    const auto results =
        retry_while_unavailable(context, true, [&] { return client.fetch_feedback(next); });
    if (!results.ok()) return context.fail(results.error());
    if (!is_endless && left == 0) break;
    next.done.clear();
    for (const JobResult& result : results.value()) {
      context.is_json() ? rows.add(row_of(result)) : print_line(context, row_of(result));
      next.done.push_back(result.id);
    }
    context.out().flush();
    // What could not be printed is not acknowledged.
    if (!context.out()) return context.fail(kRefused, kCannotWrite);
    left -= is_endless ? 0 : static_cast<std::int64_t>(next.done.size());
  }
  if (context.is_json()) rows.finish();
  context.out().flush();
  return context.out() ? kDone : context.fail(kRefused, kCannotWrite);
}

}  // namespace carillon::cli
