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

}  // namespace

Meter::Meter(const Round& round) : round_(round), began_(read()) {}

void Meter::stop() { ended_ = read(); }

Meter::Reading Meter::read() const {
  return {.at = std::chrono::duration_cast<Duration>(round_.clock.steady_now().time_since_epoch()),
          .tracker = round_.cluster.tracker_usage(),
          .workers = round_.cluster.worker_usage(),
          .store = round_.store.usage(),
          .self = usage_of(::getpid()),
          .machine = busy_time_of_machine()};
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
    figures.push_back({name, "MiB", static_cast<double>(usage.peak_memory_kib) / 1024});
  };
  add_memory("jobtracker memory, peak", ended_.tracker);
  add_memory("tasktracker memory, peak of the largest", ended_.workers);
  add_memory("mariadb memory, peak", ended_.store);
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
