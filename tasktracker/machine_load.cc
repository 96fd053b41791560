#include "tasktracker/machine_load.h"

#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

namespace carillon::tasktracker {
namespace {

// Fields of "cpu  user nice system idle iowait irq softirq steal guest guest_nice".
constexpr int kIdle = 3;
constexpr int kWaitsForDisk = 4;
constexpr int kFields = 8;  // guest time is part of user and nice

constexpr std::int64_t kKibibyte = 1024;

Status read_cpu(std::istream& file, MachineLoad& load) {
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  std::string name;
  words >> name;
  for (int field = 0; field < kFields; ++field) {
    std::int64_t ticks = 0;
    if (name != "cpu" || !(words >> ticks))
      return Error{ErrorCode::kUnavailable, "its first line is '" + line + "'"};
    load.cpu_all += ticks;
    if (field != kIdle && field != kWaitsForDisk) load.cpu_busy += ticks;
  }
  return {};
}

Status read_memory(std::istream& file, MachineLoad& load) {
  std::optional<std::int64_t> all;
  std::optional<std::int64_t> available;
  for (std::string line; std::getline(file, line) && !(all && available);) {
    std::istringstream words(line);
    std::string name;
    std::int64_t amount = 0;
    if (!(words >> name >> amount)) continue;
    if (name == "MemTotal:") all = amount * kKibibyte;
    if (name == "MemAvailable:") available = amount * kKibibyte;
  }
  if (!all || !available)
    return Error{ErrorCode::kUnavailable, "it has no MemTotal and MemAvailable"};
  load.memory_all = *all;
  load.memory_used = *all - *available;
  return {};
}

Status read(const std::string& path, Status (*read_from)(std::istream&, MachineLoad&),
            MachineLoad& load) {
  std::ifstream file(path);
  Status done = file ? read_from(file, load) : Error{ErrorCode::kUnavailable, "it cannot be read"};
  if (done.ok()) return done;
  return Error{done.error().code, path + ": " + done.error().message};
}

}  // namespace

Result<MachineLoad> read_machine_load(const std::string& proc) {
  MachineLoad load;
  CARILLON_TRY(read(proc + "/stat", read_cpu, load));
  CARILLON_TRY(read(proc + "/meminfo", read_memory, load));
  return load;
}

}  // namespace carillon::tasktracker
