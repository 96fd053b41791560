#pragma once

#include <compare>
#include <cstdint>
#include <functional>

// Each kind of id has its own type, so that the compiler rejects a mix-up.
namespace carillon {

template <class Tag, class Number>
struct Id {
  Number value = 0;
  constexpr auto operator<=>(const Id&) const = default;
  explicit constexpr operator bool() const { return value != 0; }
};

// A run request for one trigger time; retries keep it. Ordered by time, positive, fits a signed
// 64-bit integer.
using JobId = Id<struct JobIdTag, std::int64_t>;
// A stored definition of a job. Fits a signed 32-bit integer.
using DefinitionId = Id<struct DefinitionIdTag, std::int32_t>;
using GroupId = Id<struct GroupIdTag, std::int32_t>;
// One life of a job tracker or task tracker process. A restart creates a new id.
using SessionId = Id<struct SessionIdTag, std::int64_t>;

}  // namespace carillon

template <class Tag, class Number>
struct std::hash<carillon::Id<Tag, Number>> {
  std::size_t operator()(carillon::Id<Tag, Number> id) const noexcept {
    return std::hash<Number>{}(id.value);
  }
};
