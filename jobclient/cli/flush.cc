#include "jobclient/cli/flush.h"

#include "jobclient/cli/submit.h"

namespace carillon::cli {

Verb declare_flush() {
  return {.name = "flush",
          .summary = "Deliver what was stored while no job tracker was reachable",
          .description =
              "Submits what `submit --offline`, or a program that uses the library, has stored for "
              "this job tracker, in order, and prints an answer for each job. Every other verb "
              "does the same first, and only tells what was not accepted.",
          .examples = "  jobclient flush\n",
          .section = "Submit"};
}

int run_flush(Context& context) {
  const auto client = context.client_as_it_is();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const Result<FlushAnswer> flushed = client.value()->flush();
  RowOutput output(context.out(), context.style, {});
  bool all_accepted = true;
  for (const SubmitAnswer& answer : context.take_delivered()) {
    if (answer.status != SubmitStatus::kAccepted) all_accepted = false;
    if (context.style.format == Format::kJson) {
      output.add(answer_row(answer));
    } else {
      print_answer(context, answer);
    }
  }
  if (context.style.format == Format::kJson) output.finish();
  if (!flushed.ok()) return context.fail(flushed.error());
  return all_accepted ? kDone : kRefused;
}

}  // namespace carillon::cli
