// What goes through while jobs are submitted, run and ended at once: the most there is, and how
// long jobs wait at a share of that.
#include <charconv>
#include <utility>

#include "tests/bench/workloads/all.h"
#include "tests/bench/workloads/run_flow.h"

namespace carillon::bench {
namespace {

constexpr const char* kNoLoads = "none";

// --loads.
Result<std::vector<int>> shares_of(const Configuration& flags) {
  const std::vector<std::string>& texts = flags.list("loads");
  std::vector<int> shares;
  if (texts == std::vector<std::string>{kNoLoads}) return shares;
  for (const std::string& text : texts) {
    int share = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), share);
    if (failed != std::errc{} || end != text.data() + text.size() || share < 1 || share > 95) {
      return Error{ErrorCode::kInvalidArgument,
                   "--loads " + text +
                       ": must be a share of the maximum in percent, 1 to 95, or 'none' alone"};
    }
    shares.push_back(share);
  }
  return shares;
}

std::vector<std::string> groups_at(const Round& round, const std::string& load) {
  std::vector<std::string> groups;
  for (const std::string& group : groups_of(round)) groups.push_back(group + "-" + load);
  return groups;
}

Result<Figures> run(Round& round) {
  const std::vector<int> shares = CARILLON_TRY(shares_of(round.flags));
  const std::int64_t time = round.flags.number("seconds");
  Figures figures;
  auto maximum = static_cast<double>(round.flags.number("maximum"));
  if (maximum == 0) {
    const FlowSeen seen = CARILLON_TRY(
        run_flow(round, {.feed = {.groups = groups_at(round, "most")}, .seconds = time}));
    maximum = seen.ended_per_second;
    figures.push_back({"flow, maximum", "jobs/s", maximum});
    add_all(figures, "", seen.cost);
  }
  for (const int share : shares) {
    const std::string load = std::to_string(share);
    const FlowSeen seen = CARILLON_TRY(
        run_flow(round, {.feed = {.groups = groups_at(round, load), .rate = maximum * share / 100},
                         .seconds = time,
                         .probe_group = round.group + "-probe-" + load}));
    const std::string prefix = load + " % load, ";
    figures.push_back({prefix + "ended", "jobs/s", seen.ended_per_second});
    add_percentiles(figures, prefix + "taken to start", seen.lateness_ms);
    add_all(figures, prefix, seen.probes);
    add_all(figures, prefix, seen.cost);
  }
  return figures;
}

}  // namespace

Workload flow_workload() {
  Verb verb{
      .name = "flow",
      .summary = "Jobs submitted, run and ended at once: the most, and latency at shares of it",
      .description =
          "One client keeps 20 000 jobs waiting while task trackers run them: that is the "
          "maximum. Then jobs come at a steady share of it, and a second client submits "
          "single jobs of a group of its own and takes the time to their start."};
  verb.options = worker_options();
  verb.options.push_back(
      seconds_option("How long the maximum is measured, and then each share.", "60"));
  verb.options.push_back(
      {.name = "loads",
       .kind = OptionKind::kList,
       .placeholder = "PERCENT,...",
       .help = "The shares, after the maximum; 'none' measures the maximum only.",
       .fallback = "25,50,75",
       .by_comma = true});
  verb.options.push_back({.name = "maximum",
                          .kind = OptionKind::kNumber,
                          .placeholder = "JOBS/S",
                          .help = "What is taken for the maximum; 0: it is measured.",
                          .fallback = "0"});
  return {.verb = std::move(verb), .run = run, .ends_all = true};
}

}  // namespace carillon::bench
