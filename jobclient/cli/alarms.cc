#include "jobclient/cli/alarms.h"

#include "jobclient/cli/act.h"

namespace carillon::cli {
namespace {

constexpr const char* kAlarmsSection = "Act on jobs";

int silence(Context& context, std::optional<WallTime> until) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  return print_act_answer(
      context, {"", ""},
      client.value()->silence_alarms(context.configuration.text("GROUP"), until));
}

}  // namespace

Verb declare_alarms_silence() {
  return {.name = "alarms silence",
          .summary = "Send no alarms about a node group for a time",
          .description =
              "Neither about the group nor about failures of its jobs. Conditions that still hold "
              "when the time is over are sent then. Conditions are shown by alarms all the same.",
          .options = {{.name = "for",
                       .kind = OptionKind::kDuration,
                       .placeholder = "TIME",
                       .help = "How long, like 4h; at most 366 days."}},
          .positionals = {{.name = "GROUP", .help = "The node group."}},
          .examples = "  jobclient alarms silence reports --for 4h\n",
          .section = kAlarmsSection};
}

int run_alarms_silence(Context& context) {
  if (!context.configuration.was_given("for"))
    return context.fail(kWrongInput, "--for is missing (how long, like 4h)");
  return silence(context, context.around.clock.wall_now() + context.configuration.duration("for"));
}

Verb declare_alarms_unsilence() {
  return {.name = "alarms unsilence",
          .summary = "Send alarms about a silenced node group again",
          .description = "Ends the silence at once.",
          .positionals = {{.name = "GROUP", .help = "The node group."}},
          .examples = "  jobclient alarms unsilence reports\n",
          .section = kAlarmsSection};
}

int run_alarms_unsilence(Context& context) { return silence(context, std::nullopt); }

Verb declare_alarms_test() {
  return {.name = "alarms test",
          .summary = "Send a test message to a recipient of alarms",
          .description =
              "The job tracker sends it, and says whether it was delivered. Fails after ten "
              "seconds.",
          .positionals = {{.name = "RECIPIENT", .help = "A mail address or an http or https URL."}},
          .examples = "  jobclient alarms test ops@example.com\n",
          .section = kAlarmsSection};
}

int run_alarms_test(Context& context) {
  const auto client = context.client();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  return print_act_answer(context, {"", ""},
                          client.value()->test_alarm(context.configuration.text("RECIPIENT")));
}

}  // namespace carillon::cli
