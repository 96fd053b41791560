#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shared/base/assert.h"
#include "shared/net/http/answer_reader.h"
#include "tests/fuzz/expanded.h"

namespace carillon::net {
namespace {

constexpr std::size_t kBodyMax = 300;

// What became of a response.
struct Outcome {
  bool is_ok = false;
  int status = 0;
  std::string body{};
  bool is_cut = false;
  bool keeps_alive = false;
  bool operator==(const Outcome&) const = default;
};

Outcome read(std::string_view bytes, bool cuts, std::size_t piece) {
  AnswerReader reader(kBodyMax, cuts);
  Status status;
  for (std::size_t at = 0; at < bytes.size() && status.ok(); at += piece) {
    status = reader.take(bytes.substr(at, piece));
  }
  if (status.ok()) status = reader.end();
  if (!status.ok()) {
    CARILLON_ASSERT(!status.error().message.empty(), "every refusal has a reason");
    return {};
  }
  CARILLON_ASSERT(reader.is_done(), "it ends with a response or with an error");
  (void)reader.keep_alive_seconds();  // Whatever it says, it must return.
  Outcome outcome{.is_ok = true,
                  .status = reader.status(),
                  .is_cut = reader.is_cut(),
                  .keeps_alive = reader.keeps_alive()};
  outcome.body = reader.take_body();
  CARILLON_ASSERT(outcome.body.size() <= kBodyMax, "no body is larger than its limit");
  CARILLON_ASSERT(cuts || !outcome.is_cut, "nothing is cut that must not be");
  CARILLON_ASSERT(!outcome.is_cut || !outcome.keeps_alive,
                  "the rest of a body is not the next response");
  return outcome;
}

}  // namespace
}  // namespace carillon::net

// Feeds the reader of HTTP responses: the first byte tells how large the pieces are in which the
// others arrive. The network's pieces must not change what was said.
// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon::net;  // NOLINT(google-build-using-namespace): one function
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] % 64;
  const std::string bytes = carillon::fuzz::expanded(data + 1, size - 1);
  const Outcome whole = read(bytes, false, bytes.size());
  // A large one costs a parser's step for each byte.
  const std::size_t least = 1 + bytes.size() / 1024;
  CARILLON_ASSERT(read(bytes, false, std::max(piece, least)) == whole,
                  "in pieces it says the same");
  const Outcome cut = read(bytes, true, bytes.size());
  const Outcome cut_in_pieces = read(bytes, true, std::max(piece, least));
  // What follows a body that was cut may be wrong: a whole reads it, pieces do not.
  CARILLON_ASSERT(cut == cut_in_pieces || (!cut.is_ok && cut_in_pieces.is_cut),
                  "in pieces it is cut at the same byte");
  return 0;
}
