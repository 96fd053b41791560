#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <msgpack.hpp>

#include "shared/base/assert.h"
#include "shared/wire/codec.h"
#include "shared/wire/message_layout.h"

namespace carillon::wire {
namespace {

template <class T>
const T kDefaults{};

// The output of MessagePack's packer.
struct Sink {
  std::string bytes{};
  void write(const char* data, std::size_t size) { bytes.append(data, size); }
};

template <class T>
bool is_left_out(const T& value, const T& standard) {
  return value == standard;
}
template <class T>
bool is_left_out(const std::vector<T>& value, const std::vector<T>&) {
  return value.empty();
}
template <class K, class V>
bool is_left_out(const std::map<K, V>& value, const std::map<K, V>&) {
  return value.empty();
}
template <class T>
bool is_left_out(const std::optional<T>& value, const std::optional<T>&) {
  return !value.has_value();
}

class Encoder {
 public:
  std::string take() { return std::move(sink_.bytes); }
  void reserve(std::size_t size) { sink_.bytes.reserve(size); }

  void head(std::uint64_t type, std::uint64_t correlation, bool has_on_behalf) {
    packer_.pack_array(has_on_behalf ? 5 : 4);
    packer_.pack(kProtocolVersion);
    packer_.pack_uint64(type);
    packer_.pack_uint64(correlation);
  }

  template <HasLayout T>
  void put(const T& value) {
    std::apply(
        [&](const auto&... slots) {
          const std::uint32_t count =
              (0U + ... + (is_left_out(value.*slots.member, kDefaults<T>.*slots.member) ? 0U : 1U));
          packer_.pack_map(count);
          (put_slot(value, slots), ...);
        },
        Layout<T>::kSlots);
  }

 private:
  template <class T, class S>
  void put_slot(const T& value, const S& slot) {
    const auto& member = value.*slot.member;
    if (is_left_out(member, kDefaults<T>.*slot.member)) return;
    put(slot.key);
    if constexpr (std::is_convertible_v<decltype(member), std::string_view>) {
      slot.flavour == Flavour::kBytes ? put_bytes(member) : put(std::string_view{member});
    } else if constexpr (std::is_same_v<decltype(member), const std::optional<std::string>&>) {
      slot.flavour == Flavour::kBytes ? put_bytes(*member) : put(std::string_view{*member});
    } else {
      put(member);
    }
  }

  void put_bytes(std::string_view value) {
    packer_.pack_bin(static_cast<std::uint32_t>(value.size()));
    packer_.pack_bin_body(value.data(), static_cast<std::uint32_t>(value.size()));
  }
  void put(std::string_view value) {
    packer_.pack_str(static_cast<std::uint32_t>(value.size()));
    packer_.pack_str_body(value.data(), static_cast<std::uint32_t>(value.size()));
  }
  void put(const std::string& value) { put(std::string_view{value}); }
  void put(bool value) { packer_.pack(value); }
  void put(std::int32_t value) { packer_.pack_int32(value); }
  void put(std::int64_t value) { packer_.pack_int64(value); }
  void put(double value) { packer_.pack_double(value); }
  void put(Duration value) { packer_.pack_int64(value.count()); }
  void put(WallTime value) { packer_.pack_int64(value.time_since_epoch().count()); }
  void put(std::monostate) { packer_.pack_nil(); }
  void put(const Field& value) {
    std::visit([this](const auto& held) { put(held); }, value);
  }
  void put(AttemptId value) {
    packer_.pack_array(2);
    put(value.job_id);
    put(value.attempt);
  }
  template <class Tag, class Number>
  void put(Id<Tag, Number> value) {
    put(value.value);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(Enum value) { packer_.pack_int32(static_cast<std::int32_t>(value)); }
  template <class T>
  void put(const std::optional<T>& value) {
    put(*value);
  }
  void put(const Row& row) {
    packer_.pack_map(static_cast<std::uint32_t>(row.size()));
    for (const auto& [key, value] : row) {
      put(key);
      put(value);
    }
  }
  template <class T>
  void put(const std::vector<T>& list) {
    packer_.pack_array(static_cast<std::uint32_t>(list.size()));
    for (const T& value : list) put(value);
  }
  void put(const std::map<std::string, std::string>& map) {
    packer_.pack_map(static_cast<std::uint32_t>(map.size()));
    for (const auto& [key, value] : map) {
      put(key);
      put(value);
    }
  }

  Sink sink_{};
  msgpack::packer<Sink> packer_{sink_};
};

}  // namespace

std::string encode(const Envelope& envelope) {
  Encoder encoder;
  encoder.head(envelope.message.index(), envelope.correlation, envelope.on_behalf.has_value());
  std::visit([&](const auto& message) { encoder.put(message); }, envelope.message);
  if (envelope.on_behalf) encoder.put(*envelope.on_behalf);
  return encoder.take();
}

std::string encode_spec(const JobSpec& spec) {
  if (spec.replace_on_exist) {
    JobSpec stored = spec;
    stored.replace_on_exist = false;
    return encode_spec(stored);
  }
  Encoder encoder;
  encoder.reserve(spec.payload.size() + 192);
  encoder.put(spec);
  return encoder.take();
}

std::string encode_spec_of_row(JobSpec& spec) {
  std::string task_id = std::exchange(spec.task_id, {});
  std::string group = std::exchange(spec.group, kDefaults<JobSpec>.group);
  std::string bytes = encode_spec(spec);
  spec.task_id = std::move(task_id);
  spec.group = std::move(group);
  return bytes;
}

}  // namespace carillon::wire
