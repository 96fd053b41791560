// carillon-bench: starts servers of its own, measures, and prints figures. Each workload is a file
// in workloads/.
#include <array>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/utsname.h>
#include <unistd.h>

#include "shared/base/clock.h"
#include "shared/base/environment.h"
#include "shared/base/log.h"
#include "shared/base/time_text.h"
#include "shared/runtime/thread.h"
#include "tests/bench/bench_store.h"
#include "tests/bench/cluster.h"
#include "tests/bench/left_check.h"
#include "tests/bench/report.h"
#include "tests/bench/workloads/all.h"

namespace carillon::bench {
namespace {

constexpr int kExitFailed = 1;
constexpr int kExitUsage = 2;

std::vector<Workload> all_workloads() {
  return {limit_workload(),   submit_workload(),        drain_workload(),
          flow_workload(),    overload_workload(),      latency_workload(),
          cron_workload(),    burst_workload(),         backlog_workload(),
          push_workload(),    push_overload_workload(), recover_workload(),
          scale_workload(),   cron_parse_workload(),    executor_workload(),
          history_workload(), http_lists_workload(),    http_submit_workload()};
}

Program make_program(const std::vector<Workload>& workloads) {
  Program program{
      .name = "carillon-bench",
      .summary = "measures Carillon on this machine",
      .description =
          "Starts a job tracker and task trackers of its own, on free ports and with our defaults, "
          "runs a workload and checks that every job ended exactly once. What else runs on the "
          "machine changes the figures; how much that was is printed with them.",
      // What is set for other programs, CARILLON_STORE say, is not what is to be filled with jobs.
      .reads_environment = false};
  program.options = {
      {.name = "store",
       .placeholder = "URL",
       .help = "sqlite (a new file), sqlite:PATH, mysql (a private MariaDB server with a buffer "
               "pool of 1 GiB), mysql-stock (one with the server's own settings) or mysql://...",
       .fallback = "sqlite"},
      {.name = "repeat",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "Rounds; the median is printed, with the least and the most.",
       .fallback = "1",
       .min = 1,
       .max = 1000},
      {.name = "warm-up",
       .kind = OptionKind::kNumber,
       .placeholder = "N",
       .help = "Rounds before those that count.",
       .fallback_help = "1, or 0 of a workload that warms up by itself",
       .max = 1000},
      {.name = "json", .kind = OptionKind::kSwitch, .help = "Print one JSON object instead."},
      {.name = "bin",
       .placeholder = "DIR",
       .help = "The folder of the programs to measure.",
       .fallback_help = "the folder of this program"},
      {.name = std::string{kTrackerFlag},
       .kind = OptionKind::kList,
       .placeholder = "FLAG",
       .help = "One more argument for the job tracker; may be given several times."}};
  for (const Workload& workload : workloads) program.verbs.push_back(workload.verb);
  program.examples =
      "  carillon-bench drain --store sqlite --repeat 5\n"
      "  carillon-bench cron --store mysql --fires 1000 --seconds 60 --json\n";
  return program;
}

std::string describe_machine() {
  std::string model = "unknown CPU";
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    model = line.substr(line.find(':') + 2);
    break;
  }
  utsname system{};
  ::uname(&system);
  return std::to_string(hardware_threads()) + " cores, " + model + ", " + system.sysname + " " +
         system.release;
}

std::string own_folder() {
  std::error_code failed;
  return std::filesystem::read_symlink("/proc/self/exe", failed).parent_path().string();
}

Result<Report> measure(const Workload& workload, const Configuration& flags,
                       const Environment& environment) {
  const SystemClock clock;
  const testing::TempFolder folder;
  const auto store = CARILLON_TRY(BenchStore::open(flags.text("store"), folder));
  std::string durability = workload.has_store ? store->durability() : "";
  // How a file is opened is up to the program, and nobody else sees it.
  if (!flags.text("bin").empty() && store->kind() == "sqlite" && workload.has_store) {
    durability += " if " + flags.text("bin") + " opens it as this build does";
  }
  Report report{.workload = workload.verb.name,
                .store = workload.has_store ? store->kind() : "",
                .durability = std::move(durability),
                .settings = settings_of(workload.verb, flags),
                .machine = describe_machine(),
                .date = format_time(clock.wall_now()),
                .version = CARILLON_VERSION};
  const std::int64_t warm_up =
      flags.has("warm-up") ? flags.number("warm-up") : std::int64_t{workload.warm_up};
  // A store that was there before may know the groups of earlier runs.
  const std::string run = std::to_string(clock.wall_now().time_since_epoch().count());
  for (std::int64_t round = 1; round <= warm_up + flags.number("repeat"); ++round) {
    const std::string url = CARILLON_TRY(store->next_url());
    const ClusterOptions options{
        .bin = flags.text("bin").empty() ? own_folder() : flags.text("bin"),
        .store = url,
        .folder = folder.path().string(),
        .tracker_flags = flags.list(kTrackerFlag)};
    Cluster cluster(options, environment);
    Round each{.flags = flags,
               .clock = clock,
               .store = *store,
               .store_url = options.store,
               .cluster = cluster,
               .group = "bench-" + run + "-" + std::to_string(round)};
    if (!workload.starts_tracker) CARILLON_TRY(cluster.start_tracker());
    Figures figures = CARILLON_TRY(workload.run(each));
    figures.push_back({"benchmark memory, peak", "MiB",
                       static_cast<double>(usage_of(::getpid()).peak_memory_kib) / 1024});
    if (workload.ends_all) CARILLON_TRY(check_nothing_left(each));
    if (round > warm_up) report.rounds.push_back(std::move(figures));
    CARILLON_TRY(cluster.stop());
  }
  return report;
}

int run(int argc, char** argv) {
  const std::vector<Workload> workloads = all_workloads();
  const Environment environment = Environment::of_process();
  const auto parsed =
      parse_configuration(make_program(workloads), {argv + 1, argv + argc}, environment);
  if (!parsed.ok()) {
    std::fprintf(stderr, "carillon-bench: %s\n", parsed.error().message.c_str());
    return kExitUsage;
  }
  if (parsed.value().print) {
    std::fputs(parsed.value().print->c_str(), stdout);
    return 0;
  }
  const Configuration& flags = parsed.value().configuration;
  set_log_level(LogLevel::kWarn);  // Of the task tracker inside this process.
  for (const Workload& workload : workloads) {
    if (workload.verb.name != flags.verb()) continue;
    const auto report = measure(workload, flags, environment);
    if (!report.ok()) {
      std::fprintf(stderr, "carillon-bench: %s\n", report.error().message.c_str());
      return report.error().code == ErrorCode::kInvalidArgument ? kExitUsage : kExitFailed;
    }
    const bool json = flags.is_on("json");
    std::fputs((json ? to_json(report.value()) : to_text(report.value())).c_str(), stdout);
  }
  return 0;
}

}  // namespace
}  // namespace carillon::bench

int main(int argc, char** argv) {
  try {
    return carillon::bench::run(argc, argv);
  } catch (const std::exception& thrown) {
    std::fprintf(stderr, "carillon-bench: bug: %s\n", thrown.what());
    return carillon::bench::kExitFailed;
  }
}
