#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "shared/base/assert.h"
#include "shared/wire/codec.h"

// Feeds any bytes to the decoder; what it accepts must come out the same after another round, and
// what it refuses must be refused with a reason.
// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer calls
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace carillon;  // NOLINT(google-build-using-namespace): one function
  const std::string_view bytes{reinterpret_cast<const char*>(data), size};
  const auto envelope = wire::decode(bytes);
  if (envelope.ok()) {
    const std::string once = wire::encode(envelope.value());
    const auto again = wire::decode(once);
    CARILLON_ASSERT(again.ok(), "what was encoded can be decoded");
    CARILLON_ASSERT(wire::encode(again.value()) == once, "nothing is lost on the way");
    CARILLON_ASSERT(wire::correlation_of(bytes) == envelope.value().correlation,
                    "a good frame has its correlation where a bad one is looked into");
  } else {
    CARILLON_ASSERT(!envelope.error().message.empty(), "every refusal has a reason");
    (void)wire::correlation_of(bytes);  // Whatever it says, it must return.
  }
  const auto spec = wire::decode_spec(bytes);
  if (spec.ok()) {
    const auto again = wire::decode_spec(wire::encode_spec(spec.value()));
    // Not compared by value: a fraction may be no number, which equals nothing.
    CARILLON_ASSERT(
        again.ok() && wire::encode_spec(again.value()) == wire::encode_spec(spec.value()),
        "a job comes out the same");
    (void)spec.value().validate();  // No job that can be decoded may break the checks.
  }
  return 0;
}
