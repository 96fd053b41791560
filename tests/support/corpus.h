#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace carillon {

// Gives a fuzzer's target, which is linked in, every input that was ever kept for it: at least
// `inputs_min` in that folder of tests/fuzz/corpus.
inline void replay_corpus(const std::string& folder, int inputs_min) {
  int inputs = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(CARILLON_SOURCE_DIR "/tests/fuzz/corpus/" + folder)) {
    SCOPED_TRACE(entry.path().string());
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size()),
        0);
    ++inputs;
  }
  EXPECT_GE(inputs, inputs_min);
}

}  // namespace carillon
