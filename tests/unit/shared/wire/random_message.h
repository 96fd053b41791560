#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "shared/base/random.h"
#include "shared/wire/message_layout.h"

// Messages with random content, and whether two messages are the same: both by the layouts, so
// that a new field is covered as soon as it has one. For tests only.
namespace carillon::wire {

class RandomFill {
 public:
  explicit RandomFill(std::uint64_t seed) : random_(seed) {}

  std::uint64_t below(std::uint64_t end) { return random_.next() % end; }

  template <HasLayout T>
  void fill(T& value) {
    std::apply([&](const auto&... slots) { (fill(value.*slots.member), ...); }, Layout<T>::kSlots);
  }
  void fill(bool& value) { value = below(2) == 1; }
  void fill(std::int32_t& value) { value = static_cast<std::int32_t>(wide()); }
  void fill(std::int64_t& value) { value = wide(); }
  void fill(double& value) { value = random_.unit(); }
  void fill(Duration& value) { value = Duration{below(1ULL << below(50))}; }
  void fill(WallTime& value) { value = WallTime{Duration{below(1ULL << below(57))}}; }
  void fill(std::string& value) {
    value.clear();
    for (std::uint64_t left = below(4) == 0 ? below(400) : below(20); left > 0; --left) {
      value += static_cast<char>(below(256));
    }
  }
  void fill(AttemptId& value) {
    fill(value.job_id);
    fill(value.attempt);
  }
  void fill(Field& value) {
    switch (below(5)) {
      case 0:
        value = std::monostate{};
        break;
      case 1:
        value = true;
        break;
      case 2:
        value = wide();
        break;
      case 3:
        value = random_.unit();
        break;
      default:
        fill(value.emplace<std::string>());
    }
  }
  template <class Tag, class Number>
  void fill(Id<Tag, Number>& value) {
    fill(value.value);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void fill(Enum& value) {
    constexpr NumberRange kNumbers = kRange<Enum>;
    const auto count = static_cast<std::uint64_t>(kNumbers.last - kNumbers.first + 1);
    value = static_cast<Enum>(kNumbers.first + static_cast<std::int64_t>(below(count)));
  }
  template <class T>
  void fill(std::optional<T>& value) {
    value.reset();
    if (below(3) > 0) fill(value.emplace());
  }
  template <class T>
  void fill(std::vector<T>& list) {
    list.resize(below(4));
    for (T& value : list) fill(value);
  }
  template <class A, class B>
  void fill(std::pair<A, B>& pair) {
    fill(pair.first);
    fill(pair.second);
  }
  void fill(std::map<std::string, std::string>& map) {
    map.clear();
    for (std::uint64_t left = below(4); left > 0; --left) {
      std::pair<std::string, std::string> pair;
      fill(pair);
      map.insert(std::move(pair));
    }
  }

 private:
  // Of any length, so that every form that a number can have comes up.
  std::int64_t wide() {
    const auto number = static_cast<std::int64_t>(random_.next() >> below(64));
    return below(2) == 0 ? number : -number;
  }

  SeededRandom random_;
};

template <class T>
bool is_same(const T& one, const T& other);

template <class T>
bool is_same(const std::vector<T>& one, const std::vector<T>& other) {
  if (one.size() != other.size()) return false;
  for (std::size_t i = 0; i < one.size(); ++i) {
    if (!is_same(one[i], other[i])) return false;
  }
  return true;
}

template <class T>
bool is_same(const std::optional<T>& one, const std::optional<T>& other) {
  if (!one || !other) return one.has_value() == other.has_value();
  return is_same(*one, *other);
}

template <class T>
bool is_same(const T& one, const T& other) {
  if constexpr (HasLayout<T>) {
    return std::apply(
        [&](const auto&... slots) {
          return (is_same(one.*slots.member, other.*slots.member) && ...);
        },
        Layout<T>::kSlots);
  } else {
    return one == other;
  }
}

}  // namespace carillon::wire
