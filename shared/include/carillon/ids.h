#pragma once

#include <compare>
#include <cstdint>
#include <functional>

// Ids are types of their own, so that one cannot stand where another is meant.
namespace carillon {

template <class Tag, class Number>
struct Id {
  Number value = 0;
  constexpr auto operator<=>(const Id&) const = default;
  explicit constexpr operator bool() const { return value != 0; }
};

// One thing to run at one trigger time; stays over its retries. Time-ordered, fits a signed
// 64-bit integer; never 0.
using JobId = Id<struct JobIdTag, std::int64_t>;
// A stored cron or repeat job. Fits a signed 32-bit integer.
using DefinitionId = Id<struct DefinitionIdTag, std::int32_t>;
using GroupId = Id<struct GroupIdTag, std::int32_t>;
// One life of a process: a job tracker's or a task tracker's.
using SessionId = Id<struct SessionIdTag, std::int64_t>;

}  // namespace carillon

template <class Tag, class Number>
struct std::hash<carillon::Id<Tag, Number>> {
  std::size_t operator()(carillon::Id<Tag, Number> id) const noexcept {
    return std::hash<Number>{}(id.value);
  }
};
