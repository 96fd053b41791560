#include "jobclient/cli/flush.h"

#include <set>
#include <tuple>

#include "jobclient/cli/submit.h"
#include "jobclient/submit/stored_submits.h"
#include "shared/base/joined.h"
#include "shared/net/endpoint.h"
#include "shared/net/http_url.h"
#include "shared/outbox/outbox.h"

namespace carillon::cli {
namespace {

using RefusedJob = std::tuple<std::string, std::string, std::string>;

RefusedJob refused_job(const SubmitAnswer& answer) {
  return {answer.group, answer.task_id, answer.reason};
}

Status check_address(const std::string& text) {
  if (!text.starts_with("http")) return net::check_endpoint(text);
  CARILLON_TRY(net::parse_http_url(text));
  return {};
}

int nothing_to_discard(Context& context, const std::string& addresses) {
  std::set<std::string> others;
  for (const outbox::ForOthers& one : outbox::stored_for_others(
           submissions_folder(context.data_folder()), {}, context.around.clock)) {
    others.insert(joined(one.addresses, ","));
  }
  std::string message = "no job is stored for exactly " + addresses;
  if (others.empty()) message += " or any other address";
  for (const std::string& other : others) {
    message += (other == *others.begin() ? ", but for " : " and for ") + other;
  }
  return context.fail(kNotFound, message);
}

int discard(Context& context) {
  const std::vector<std::string> trackers = context.configuration.list("discard");
  const std::string addresses = joined(trackers, ",");
  const Result<std::int64_t> removed =
      discard_stored_submits(context.data_folder(), trackers, context.around.clock);
  if (!removed.ok()) return context.fail(removed.error());
  if (removed.value() == 0) return nothing_to_discard(context, addresses);
  if (context.is_json()) {
    print_one_row(context.out(), context.style, {{"discarded", removed.value()}});
  } else {
    context.out() << "removed stored jobs for " << addresses << ": " << removed.value() << '\n';
  }
  return kDone;
}

}  // namespace

Verb declare_flush() {
  return {.name = "flush",
          .summary = "Submit the jobs that were stored while no job tracker was reachable",
          .description =
              "Submits, in order, what `submit --offline` or a program with the library has stored "
              "for this job tracker. Prints an answer for each job, also for jobs that earlier "
              "calls submitted and that were not accepted. Every other verb submits stored jobs "
              "first too, but only reports those that were not accepted.",
          .options = {{.name = "discard",
                       .kind = OptionKind::kList,
                       .placeholder = "tcp://HOST:PORT",
                       .help = "Remove the jobs that are stored for exactly this address or, "
                               "separated by commas, these addresses. Submits nothing.",
                       .check = check_address,
                       .by_comma = true}},
          .examples =
              "  jobclient flush\n"
              "  jobclient flush --discard tcp://10.0.0.7:35001\n",
          .section = "Submit"};
}

int run_flush(Context& context) {
  if (context.configuration.has("discard")) return discard(context);
  context.tell_of_others();
  const auto client = context.client_as_it_is();
  if (!client.ok()) return context.fail(kWrongInput, client.error().message);
  const Result<FlushAnswer> flushed = client.value()->flush();
  RowOutput output(context.out(), context.style, {});
  bool has_shown = false;
  const auto show = [&](const SubmitAnswer& answer) {
    has_shown = true;
    if (context.style.format == Format::kJson) {
      output.add(answer_row(answer));
    } else {
      print_answer(context, answer);
    }
  };
  bool all_accepted = true;
  std::multiset<RefusedJob> shown;
  for (const SubmitAnswer& answer : context.take_delivered()) {
    show(answer);
    if (answer.status == SubmitStatus::kAccepted) continue;
    all_accepted = false;
    shown.insert(refused_job(answer));
  }
  context.close_client();
  visit_refused_submits(context.data_folder(), context.around.clock,
                        [&](const std::vector<SubmitAnswer>& refused) {
                          all_accepted = false;
                          for (const SubmitAnswer& answer : refused) {
                            const auto known = shown.find(refused_job(answer));
                            known == shown.end() ? show(answer) : (void)shown.erase(known);
                          }
                          context.out().flush();
                          return bool{context.out()};
                        });
  if (context.style.format == Format::kJson) output.finish();
  if (!flushed.ok()) return context.fail(flushed.error());
  if (!has_shown && !context.is_json()) context.err() << "no job is stored for this job tracker\n";
  return all_accepted ? kDone : kRefused;
}

}  // namespace carillon::cli
