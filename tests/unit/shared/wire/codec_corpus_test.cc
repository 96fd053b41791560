#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace carillon::wire {
namespace {

TEST(CodecCorpus, PassesEveryInputThatWasEverKept) {
  int inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(CARILLON_SOURCE_DIR "/tests/fuzz/corpus/codec")) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()),
        0);
    ++inputs;
  }
  EXPECT_GE(inputs, 20);
}

}  // namespace
}  // namespace carillon::wire
