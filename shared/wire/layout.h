#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>

// The fields of each message and their keys: one list for encoding, decoding and the test of
// docs/reference/protocol.md. A new field is one line here and one in the list.
namespace carillon::wire {

inline constexpr std::size_t kListMax = 65536;  // elements, unless another limit is given

// The MessagePack type of a text field: str or bin.
enum class Flavour : int { kText = 0, kBytes = 1 };

template <class Class, class Member>
struct Slot {
  std::string_view key{};
  Member Class::*member = nullptr;
  std::size_t count_max = kListMax;  // of a list or map
  Flavour flavour = Flavour::kText;
};

template <class Class, class Member>
constexpr Slot<Class, Member> slot(std::string_view key, Member Class::*member,
                                   std::size_t count_max = kListMax) {
  return {key, member, count_max, Flavour::kText};
}

template <class Class, class Member>
constexpr Slot<Class, Member> bytes(std::string_view key, Member Class::*member) {
  return {key, member, kListMax, Flavour::kBytes};
}

// The valid numbers of an enumeration.
struct NumberRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
template <class Enum>
inline constexpr NumberRange kRange{};

// kName: the heading in docs/reference/protocol.md and the prefix of errors. kSlots: the fields.
template <class T>
struct Layout;

template <class T>
concept HasLayout = requires {
  Layout<T>::kSlots;
};

}  // namespace carillon::wire
