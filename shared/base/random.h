#pragma once

#include <cstdint>
#include <random>

namespace carillon {

// The only source of randomness; a test seeds its own. Thread: the owner's.
class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;

  // A number in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

// Seeded from the operating system.
class SystemRandom final : public Random {
 public:
  SystemRandom();
  std::uint64_t next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

// The same numbers from the same seed.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : engine_(seed) {}
  std::uint64_t next() override { return engine_(); }

 private:
  std::mt19937_64 engine_;
};

}  // namespace carillon
