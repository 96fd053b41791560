#include "shared/base/random.h"

namespace carillon {

SystemRandom::SystemRandom() {
  std::random_device device;
  std::seed_seq seed{device(), device(), device(), device()};
  engine_.seed(seed);
}

}  // namespace carillon
