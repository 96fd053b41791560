#pragma once

#include "tests/bench/workload.h"

namespace carillon::bench {

// What an interval cost: CPU of each process, and how busy the machine was with other things, by
// which a figure is to be judged.
//
// Thread: the round's.
class Meter {
 public:
  // The interval begins. Workers of the cluster that start later count from their start.
  explicit Meter(const Round& round);
  void stop();

  // After stop(): CPU time per job and peak memory, of each process where there are several of a
  // kind, and the share of the CPU that others had.
  void add_to(Figures& figures, std::size_t jobs) const;
  double others_percent() const;
  Duration elapsed() const { return ended_.at - began_.at; }

 private:
  struct OfProcess {
    pid_t id = 0;
    Usage usage{};
  };
  struct Reading {
    Duration at{};
    Usage tracker{};
    Usage workers{};
    std::vector<OfProcess> each_tracker{};
    std::vector<OfProcess> each_worker{};
    Usage store{};
    Usage self{};
    Duration machine{};  // CPU time of all processes together
  };
  Reading read() const;
  static std::vector<OfProcess> read_each(const std::vector<const ChildProcess*>& processes);
  static void add_each(Figures& figures, const std::string& name,
                       const std::vector<OfProcess>& began, const std::vector<OfProcess>& ended,
                       std::size_t jobs);

  const Round& round_;
  Reading began_;
  Reading ended_{};
};

}  // namespace carillon::bench
