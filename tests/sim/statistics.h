#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace carillon::sim {

// What happened, by kind, each hour.
//
// Thread: the simulation's.
class Statistics {
 public:
  using Counts = std::map<std::string, std::int64_t>;
  struct Hour {
    Counts jobs{};    // accepted, by kind
    Counts acts{};    // done, by verb
    Counts faults{};  // by type
  };
  // What an hour must have to count.
  static constexpr std::int64_t kJobsMin = 500;
  static constexpr std::size_t kJobKinds = 8;
  static constexpr std::int64_t kFaultsMin = 20;
  static constexpr std::size_t kFaultTypesMin = 6;

  void next_hour() { hours_.emplace_back(); }
  Hour& hour() { return hours_.back(); }
  const std::vector<Hour>& hours() const { return hours_; }

  static std::int64_t sum(const Counts& counts) {
    std::int64_t all = 0;
    for (const auto& [name, count] : counts) all += count;
    return all;
  }
  static bool counts(const Hour& hour) {
    return sum(hour.jobs) >= kJobsMin && hour.jobs.size() >= kJobKinds &&
           sum(hour.faults) >= kFaultsMin && hour.faults.size() >= kFaultTypesMin;
  }
  static void add(Counts& to, const Counts& more) {
    for (const auto& [name, count] : more) to[name] += count;
  }

 private:
  std::vector<Hour> hours_;
};

}  // namespace carillon::sim
