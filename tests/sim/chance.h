#pragma once

#include <cstdint>
#include <initializer_list>

#include "carillon/time.h"
#include "shared/base/random.h"

namespace carillon::sim {

// What a simulation draws from its seed.
//
// Thread: the simulation's.
class Chance {
 public:
  explicit Chance(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t limit) { return random_.next() % limit; }
  bool one_in(std::uint64_t many) { return below(many) == 0; }
  Duration between(Duration least, Duration most) {
    return least + Duration{static_cast<Duration::rep>(
                       below(static_cast<std::uint64_t>((most - least).count())))};
  }
  template <class T>
  T one_of(std::initializer_list<T> all) {
    return *(all.begin() + below(all.size()));
  }

 private:
  SeededRandom random_;
};

}  // namespace carillon::sim
