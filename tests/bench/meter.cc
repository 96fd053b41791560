#include "tests/bench/meter.h"

#include <algorithm>
#include <fstream>

#include <unistd.h>

#include "shared/runtime/thread.h"

namespace carillon::bench {
namespace {

Duration busy_time_of_machine() {
  std::ifstream file{"/proc/stat"};
  std::string word;
  file >> word;
  // user nice system idle iowait irq softirq steal
  std::int64_t ticks[8] = {};
  for (std::int64_t& tick : ticks) file >> tick;
  const std::int64_t busy = ticks[0] + ticks[1] + ticks[2] + ticks[5] + ticks[6] + ticks[7];
  return std::chrono::microseconds{busy * 1'000'000 / ::sysconf(_SC_CLK_TCK)};
}

double micros(Duration duration) { return static_cast<double>(duration.count()); }

double mebibytes(const Usage& usage) { return static_cast<double>(usage.peak_memory_kib) / 1024; }

}  // namespace

Meter::Meter(const Round& round) : round_(round), began_(read()) {}

void Meter::stop() { ended_ = read(); }

Meter::Reading Meter::read() const {
  return {.at = std::chrono::duration_cast<Duration>(round_.clock.steady_now().time_since_epoch()),
          .tracker = round_.cluster.tracker_usage(),
          .workers = round_.cluster.worker_usage(),
          .each_tracker = read_each(round_.cluster.tracker_processes()),
          .each_worker = read_each(round_.cluster.worker_processes()),
          .store = round_.store.usage(),
          .self = usage_of(::getpid()),
          .machine = busy_time_of_machine()};
}

std::vector<Meter::OfProcess> Meter::read_each(const std::vector<const ChildProcess*>& processes) {
  std::vector<OfProcess> each;
  for (const ChildProcess* process : processes) each.push_back({process->id(), process->usage()});
  return each;
}

// "NAME 1 cpu" and so on, of those that run in the end; nothing of a single one.
void Meter::add_each(Figures& figures, const std::string& name, const std::vector<OfProcess>& began,
                     const std::vector<OfProcess>& ended, std::size_t jobs) {
  if (ended.size() < 2) return;
  for (std::size_t i = 0; i < ended.size(); ++i) {
    Duration cpu = ended[i].usage.cpu;
    for (const OfProcess& before : began) {
      if (before.id == ended[i].id) cpu -= before.usage.cpu;
    }
    const std::string which = name + " " + std::to_string(i + 1);
    figures.push_back({which + " cpu", "us/job", micros(cpu) / static_cast<double>(jobs)});
    figures.push_back({which + " memory, peak", "MiB", mebibytes(ended[i].usage)});
  }
}

void Meter::add_to(Figures& figures, std::size_t jobs) const {
  const auto per_job = [jobs](Duration cpu) { return micros(cpu) / static_cast<double>(jobs); };
  const Duration tracker = ended_.tracker.cpu - began_.tracker.cpu;
  const Duration workers = ended_.workers.cpu - began_.workers.cpu;
  const Duration store = ended_.store.cpu - began_.store.cpu;
  const Duration self = ended_.self.cpu - began_.self.cpu;
  if (ended_.tracker.cpu > Duration{}) {
    figures.push_back({"jobtracker cpu", "us/job", per_job(tracker)});
  }
  if (ended_.workers.cpu > Duration{}) {
    figures.push_back({"tasktrackers cpu, all", "us/job", per_job(workers)});
  }
  if (ended_.store.cpu > Duration{}) figures.push_back({"mariadb cpu", "us/job", per_job(store)});
  figures.push_back({"benchmark cpu", "us/job", per_job(self)});
  const auto add_memory = [&figures](const char* name, const Usage& usage) {
    if (usage.peak_memory_kib == 0) return;
    figures.push_back({name, "MiB", mebibytes(usage)});
  };
  add_memory("jobtracker memory, peak", ended_.tracker);
  add_memory("tasktracker memory, peak of the largest", ended_.workers);
  add_memory("mariadb memory, peak", ended_.store);
  add_each(figures, "jobtracker", began_.each_tracker, ended_.each_tracker, jobs);
  add_each(figures, "tasktracker", began_.each_worker, ended_.each_worker, jobs);
  figures.push_back({"others had of the cpu", "%", others_percent()});
}

double Meter::others_percent() const {
  const auto ours = [](const Reading& reading) {
    return reading.tracker.cpu + reading.workers.cpu + reading.store.cpu + reading.self.cpu;
  };
  const Duration others = ended_.machine - began_.machine - (ours(ended_) - ours(began_));
  return std::max(0.0, 100 * micros(others) / (micros(elapsed()) * hardware_threads()));
}

}  // namespace carillon::bench
