#include "tests/contract/memory_store_database.h"

namespace carillon::jobtracker {
namespace {

const MakeStoreDatabase kMemory{[]() -> Result<std::unique_ptr<StoreTestDatabase>> {
  return std::unique_ptr<StoreTestDatabase>{std::make_unique<MemoryTestDatabase>()};
}};

INSTANTIATE_TEST_SUITE_P(Memory, StoreContract, ::testing::Values(kMemory));
INSTANTIATE_TEST_SUITE_P(Memory, StoreReads, ::testing::Values(kMemory));

}  // namespace
}  // namespace carillon::jobtracker
