#include <benchmark/benchmark.h>

#include "shared/job/cron.h"
#include "shared/job/schedule.h"

// How fast expressions are compiled and their next fires found.
namespace {

using carillon::Cron;
using carillon::DstRule;
using carillon::WallTime;
using carillon::Zone;
using carillon::ZoneSpan;

constexpr WallTime kStart = std::chrono::sys_days{std::chrono::year{2024} / 1 / 1};

constexpr const char* kExpressions[] = {
    "0 0 2 * * ?",           // 0: daily
    "*/5 * * * *",           // 1: every five minutes
    "* * * * * ?",           // 2: every second
    "0 0 9-17 ? * MON-FRI",  // 3: office hours
    "0 0 3 LW * ?",          // 4: last weekday of a month
    "0 0 6 ? * 6L,2#1",      // 5: last Friday and first Monday
    "0 30 2 1 1 ?",          // 6: once a year
    "0 0 0 29 2 ?",          // 7: leap days
};

void parse(benchmark::State& state) {
  const char* expression = kExpressions[state.range(0)];
  for ([[maybe_unused]] auto _ : state) benchmark::DoNotOptimize(Cron::parse(expression));
  state.SetLabel(expression);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(parse)->DenseRange(0, 7);

// Walks from fire to fire, as a scheduler does, from the start again when the years run out.
void next_fire(benchmark::State& state) {
  const char* expression = kExpressions[state.range(0)];
  const Cron cron = Cron::parse(expression).value();
  const Zone zone = Zone::load("Europe/Berlin").value();
  ZoneSpan span;
  WallTime last = kStart;
  for ([[maybe_unused]] auto _ : state) {
    last = cron.next(last, zone, DstRule::kAuto, span).value_or(kStart);
    benchmark::DoNotOptimize(last);
  }
  state.SetLabel(expression);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(next_fire)->DenseRange(0, 7);

void next_fire_without_a_cached_span(benchmark::State& state) {
  const Cron cron = Cron::parse(kExpressions[0]).value();
  const Zone zone = Zone::load("Europe/Berlin").value();
  for ([[maybe_unused]] auto _ : state)
    benchmark::DoNotOptimize(cron.next(kStart, zone, DstRule::kAuto));
}
BENCHMARK(next_fire_without_a_cached_span);

void compile_schedule(benchmark::State& state) {
  const carillon::Schedule schedule{
      .kind = carillon::ScheduleKind::kCron, .cron = "0 0 2 * * ?", .tz = "Asia/Shanghai"};
  for ([[maybe_unused]] auto _ : state) {
    benchmark::DoNotOptimize(carillon::CompiledSchedule::compile(schedule, kStart));
  }
}
BENCHMARK(compile_schedule);

}  // namespace

BENCHMARK_MAIN();
