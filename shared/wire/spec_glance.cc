#include "shared/wire/spec_glance.h"

#include "shared/wire/reader.h"
#include "shared/wire/spec_layout.h"

namespace carillon::wire {
namespace {

// Calls `take` with each key of the next map. `take` reads or skips the value, and returns false if
// the bytes end.
template <class Take>
bool each_pair(Reader& reader, Take take) {
  Token map;
  if (!reader.next(map) || map.kind != TokenKind::kMap) return false;
  for (std::uint32_t left = map.count; left > 0; --left) {
    Token key;
    if (!reader.next(key) || !take(key.bytes)) return false;
  }
  return true;
}

bool take_integer(Reader& reader, std::int64_t& number) {
  Token token;
  if (!reader.next(token) || token.kind != TokenKind::kInteger) return false;
  number = token.integer;
  return true;
}

bool take_kind(Reader& reader, RunKind& kind) {
  return each_pair(reader, [&](std::string_view key) {
    if (key != "kind") return reader.skip();
    std::int64_t number = 0;
    if (!take_integer(reader, number)) return false;
    if (number >= kRange<RunKind>.first && number <= kRange<RunKind>.last) {
      kind = static_cast<RunKind>(number);
    }
    return true;
  });
}

}  // namespace

SpecGlance glance_at_spec(std::string_view bytes) {
  SpecGlance seen;
  Reader reader(bytes);
  each_pair(reader, [&](std::string_view key) {
    if (key == "run") return take_kind(reader, seen.kind);
    if (key == "dispatch") {
      std::int64_t number = 0;
      if (!take_integer(reader, number)) return false;
      seen.is_pushed = number == static_cast<std::int64_t>(Dispatch::kPush);
      return true;
    }
    if (key != "start_deadline") return reader.skip();
    std::int64_t microseconds = 0;
    if (!take_integer(reader, microseconds)) return false;
    seen.start_deadline = Duration{microseconds};
    return true;
  });
  return seen;
}

}  // namespace carillon::wire
