#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "shared/job/bucket.h"
#include "tests/sim/world.h"

namespace carillon::sim {
namespace {

constexpr const char* kUsage =
    "usage: carillon-sim [--seed N] [--hours H] [--seeds COUNT] [--trackers COUNT] [--parts COUNT] "
    "[--push] [--quiet] [--watch TASK]\n"
    "\n"
    "Simulates a whole cluster for H hours (1) of virtual time from seed N (1), or from COUNT "
    "seeds\n"
    "from N on, each with users and faults, and checks throughout that every promise is kept.\n"
    "With --trackers, so many job trackers share the database; otherwise one is at work at a "
    "time.\n"
    "With --push, there are executors of xxl-job too, and jobs that are pushed to them.\n"
    "With --parts, 2, 4, 8, 16, 32 or 64, a node group of theirs is split into so many.\n"
    "With --watch, tells each step of that task. A seed always gives the same simulation, which "
    "its digest shows.\n"
    "Exit status: 0 all promises were kept, 1 one was not, 2 wrong usage.\n";

struct Options {
  std::uint64_t seed = 1;
  std::uint64_t seeds = 1;
  int hours = 1;
  int trackers = 1;
  int parts = 1;
  bool quiet = false;
  bool push = false;
  std::string watch{};
};

template <class Number>
bool read_number(const char* text, Number& number) {
  const char* const end = text + std::strlen(text);
  const auto [stopped, error] = std::from_chars(text, end, number);
  return error == std::errc{} && stopped == end && number > Number{0};
}

// What is wrong, or nothing.
std::string read_options(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--quiet") {
      options.quiet = true;
      continue;
    }
    if (flag == "--push") {
      options.push = true;
      continue;
    }
    constexpr std::array kWithValue{"--seed",     "--seeds", "--hours",
                                    "--trackers", "--parts", "--watch"};
    if (std::find(kWithValue.begin(), kWithValue.end(), flag) == kWithValue.end())
      return "unknown flag '" + std::string(flag) + "'";
    if (++i == argc) return std::string(flag) + " wants a value";
    if (flag == "--watch") {
      options.watch = argv[i];
      continue;
    }
    const bool is_read = flag == "--seed"    ? read_number(argv[i], options.seed)
                         : flag == "--seeds" ? read_number(argv[i], options.seeds)
                         : flag == "--hours" ? read_number(argv[i], options.hours)
                         : flag == "--trackers"
                             ? read_number(argv[i], options.trackers) && options.trackers <= 64
                             : read_number(argv[i], options.parts) && is_parts(options.parts);
    if (!is_read) {
      const char* wanted = flag == "--trackers" ? "a number from 1 to 64"
                           : flag == "--parts"  ? "2, 4, 8, 16, 32 or 64"
                                                : "a whole number from 1 on";
      return std::string(flag) + " is '" + argv[i] + "', must be " + wanted;
    }
  }
  if (options.seeds - 1 > std::numeric_limits<std::uint64_t>::max() - options.seed)
    return "there are not so many seeds from --seed on (give a smaller --seed or --seeds)";
  if (options.parts > 1 && options.trackers == 1)
    return "--parts wants several job trackers (add --trackers 3)";
  return {};
}

// How much hours differ in that which decides whether they count.
void print_ranges(const std::vector<Statistics::Hour>& hours) {
  const auto print = [&hours](const char* what, auto number) {
    std::vector<long long> numbers;
    for (const Statistics::Hour& hour : hours) {
      numbers.push_back(static_cast<long long>(number(hour)));
    }
    const auto [least, most] = std::minmax_element(numbers.begin(), numbers.end());
    std::printf("%s %lld to %lld", what, *least, *most);
  };
  print("an hour has", [](const auto& hour) { return Statistics::sum(hour.jobs); });
  print(" jobs of", [](const auto& hour) { return hour.jobs.size(); });
  print(" kinds,", [](const auto& hour) { return Statistics::sum(hour.faults); });
  print(" faults of", [](const auto& hour) { return hour.faults.size(); });
  std::printf(" types\n");
}

void print(const char* what, const Statistics::Counts& counts) {
  std::printf("%s %lld:", what, static_cast<long long>(Statistics::sum(counts)));
  for (const auto& [name, count] : counts) {
    std::printf(" %s %lld;", name.c_str(), static_cast<long long>(count));
  }
  std::printf("\n");
}

int run(const Options& options) {
  Statistics::Hour all;
  std::vector<Statistics::Hour> hours;
  int counted = 0;
  int failed = 0;
  for (std::uint64_t one = 0; one < options.seeds; ++one) {
    const std::uint64_t seed = options.seed + one;
    World world(seed, options.trackers, options.parts, options.push, options.hours);
    if (!options.watch.empty()) {
      world.watch(options.watch,
                  [](const std::string& line) { std::printf("%s\n", line.c_str()); });
    }
    const auto& broken = world.run();
    for (const Statistics::Hour& hour : world.statistics().hours()) {
      hours.push_back(hour);
      counted += Statistics::counts(hour) ? 1 : 0;
      Statistics::add(all.jobs, hour.jobs);
      Statistics::add(all.acts, hour.acts);
      Statistics::add(all.faults, hour.faults);
    }
    if (!options.quiet || !broken.empty()) {
      std::printf(
          "seed %llu: %d h, %lld jobs ended, %lld runs (%lld pushed), %zu frames, digest %016llx, "
          "%s\n",
          static_cast<unsigned long long>(seed), options.hours,
          static_cast<long long>(world.jobs_ended()), static_cast<long long>(world.runs()),
          static_cast<long long>(world.pushed_runs()), world.frames(),
          static_cast<unsigned long long>(world.digest()),
          broken.empty() ? "every promise was kept" : "BROKEN");
    }
    for (const std::string& what : broken) std::printf("  %s\n", what.c_str());
    if (!broken.empty()) {
      ++failed;
      const std::string several =
          (options.trackers > 1 ? " --trackers " + std::to_string(options.trackers) : "") +
          (options.parts > 1 ? " --parts " + std::to_string(options.parts) : "") +
          (options.push ? " --push" : "");
      std::printf("  again: carillon-sim --seed %llu --hours %d%s\n",
                  static_cast<unsigned long long>(seed), options.hours, several.c_str());
    }
    std::fflush(stdout);
  }
  print("jobs", all.jobs);
  print("acts", all.acts);
  print("faults", all.faults);
  print_ranges(hours);
  std::printf(
      "%d of %zu hours count (at least %lld jobs of all %zu kinds, and %lld faults of %zu types)\n",
      counted, hours.size(), static_cast<long long>(Statistics::kJobsMin), Statistics::kJobKinds,
      static_cast<long long>(Statistics::kFaultsMin), Statistics::kFaultTypesMin);
  if (failed > 0)
    std::printf("%d of %llu seeds broke a promise\n", failed,
                static_cast<unsigned long long>(options.seeds));
  return failed == 0 ? 0 : 1;
}

}  // namespace
}  // namespace carillon::sim

int main(int argc, char** argv) {
  carillon::sim::Options options;
  if (argc == 2 && std::string_view(argv[1]) == "--help") {
    std::fputs(carillon::sim::kUsage, stdout);
    return 0;
  }
  if (const std::string wrong = carillon::sim::read_options(argc, argv, options); !wrong.empty()) {
    std::fprintf(stderr, "carillon-sim: %s\n\n%s", wrong.c_str(), carillon::sim::kUsage);
    return 2;
  }
  return carillon::sim::run(options);
}
