#include <array>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shared/wire/codec.h"
#include "shared/wire/message_layout.h"
#include "shared/wire/reader.h"

namespace carillon::wire {
namespace {

// Times are in the years 1 to 9999, and durations at most a hundred years, so that the sum of two
// never overflows.
constexpr std::int64_t kTimeMin = -62'135'596'800'000'000;
constexpr std::int64_t kTimeMax = 253'402'300'799'999'999;
constexpr std::int64_t kDurationMax = 100LL * 366 * 24 * 3600 * 1'000'000;

// A frame has 4 parts, or this many with an OnBehalf.
constexpr std::uint32_t kPartsOnBehalf = 5;

// Reads values into fields. Each call returns whether it succeeded; the first failure sets
// problem(), and its callers prepend the path.
class Decoder {
 public:
  explicit Decoder(std::string_view bytes) : reader_(bytes) {}

  bool at_end() const { return reader_.at_end(); }
  Error problem(std::string_view where) const {
    return {ErrorCode::kInvalidArgument, std::string{where} + path_ + " " + problem_};
  }

  template <HasLayout T>
  bool get(T& value) {
    Token token;
    if (!expect(TokenKind::kMap, token)) return false;
    for (std::uint32_t left = token.count; left > 0; --left) {
      Token key;
      if (!next(key)) return false;
      if (!get_field(value, key)) return false;
    }
    return true;
  }

  bool get(std::uint64_t& value) {
    Token token;
    if (!next(token)) return false;
    if (token.kind == TokenKind::kUnsigned) {
      value = token.unsigned_integer;
      return true;
    }
    if (token.kind != TokenKind::kInteger) return wrong(token, "a whole number from 0");
    if (token.integer < 0) {
      return fail("is " + std::to_string(token.integer) + ", must be a whole number from 0");
    }
    value = static_cast<std::uint64_t>(token.integer);
    return true;
  }
  // `parts`: number of parts of the frame.
  bool get_head(std::uint32_t& parts) {
    Token token;
    if (!expect(TokenKind::kArray, token)) return false;
    parts = token.count;
    return parts == 4 || parts == kPartsOnBehalf ||
           fail("has " + std::to_string(parts) + " parts, must have 4 or 5");
  }

 private:
  bool fail(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  bool wrong(const Token& token, std::string_view wanted) {
    return fail("is " + std::string{name_of(token.kind)} + ", must be " + std::string{wanted});
  }
  // Prepends `step` to the path of the error.
  bool within(const std::string& step) {
    path_ = step + path_;
    return false;
  }
  bool next(Token& token) { return reader_.next(token) || fail("is truncated or not MessagePack"); }
  bool expect(TokenKind kind, Token& token) {
    return next(token) && (token.kind == kind || wrong(token, name_of(kind)));
  }
  bool integer(std::int64_t min, std::int64_t max, std::int64_t& value) {
    Token token;
    if (!expect(TokenKind::kInteger, token)) return false;
    if (token.integer < min || token.integer > max) {
      return fail("is " + std::to_string(token.integer) + ", must be " + std::to_string(min) +
                  " to " + std::to_string(max));
    }
    value = token.integer;
    return true;
  }
  bool counted(TokenKind kind, std::size_t count_max, Token& token) {
    if (!expect(kind, token)) return false;
    return token.count <= count_max || fail("has " + std::to_string(token.count) +
                                            " elements, at most " + std::to_string(count_max));
  }

  template <class T>
  bool get_field(T& value, const Token& key) {
    if (key.kind == TokenKind::kText) {
      // Not a loop: the compiler unrolls the layout into comparisons of short constants.
      bool good = true;
      const bool known = std::apply(
          [&](const auto&... slots) {
            return ((slots.key == key.bytes && (good = get_slot(value, slots), true)) || ...);
          },
          Layout<T>::kSlots);
      if (!good) return within("." + std::string{key.bytes});
      if (known) return true;
    }
    return reader_.skip() || fail("has an unknown field that is truncated or not MessagePack");
  }

  template <class T, class S>
  bool get_slot(T& value, const S& slot) {
    if (reader_.take_nil()) return true;  // equal to a missing field
    auto& member = value.*slot.member;
    using Member = std::remove_reference_t<decltype(member)>;
    if constexpr (std::is_same_v<Member, std::string>) {
      return get_string(slot.flavour, member);
    } else if constexpr (std::is_same_v<Member, std::optional<std::string>>) {
      return get_string(slot.flavour, member.emplace());
    } else if constexpr (requires { get_many(member, slot.count_max); }) {
      return get_many(member, slot.count_max);
    } else {
      return get(member);
    }
  }

  bool get_string(Flavour flavour, std::string& value) {
    Token token;
    if (!next(token)) return false;
    // Older MessagePack libraries have no bytes and send them as text.
    const bool fits = token.kind == TokenKind::kText ||
                      (token.kind == TokenKind::kBytes && flavour == Flavour::kBytes);
    if (!fits) return wrong(token, flavour == Flavour::kBytes ? "bytes" : "text");
    value.assign(token.bytes);
    return true;
  }

  bool get(std::string& value) { return get_string(Flavour::kText, value); }
  bool get(bool& value) {
    Token token;
    if (!expect(TokenKind::kBool, token)) return false;
    value = token.boolean;
    return true;
  }
  bool get(std::int32_t& value) {
    std::int64_t wide = 0;
    using Limits = std::numeric_limits<std::int32_t>;
    if (!integer(Limits::min(), Limits::max(), wide)) return false;
    value = static_cast<std::int32_t>(wide);
    return true;
  }
  bool get(std::int64_t& value) {
    using Limits = std::numeric_limits<std::int64_t>;
    return integer(Limits::min(), Limits::max(), value);
  }
  bool get(double& value) {
    Token token;
    if (!next(token)) return false;
    if (token.kind == TokenKind::kInteger) {
      value = static_cast<double>(token.integer);
    } else if (token.kind == TokenKind::kFloat) {
      value = token.real;
    } else {
      return wrong(token, "a number");
    }
    return true;
  }
  bool get(Duration& value) {
    std::int64_t micros = 0;
    if (!integer(0, kDurationMax, micros)) return false;
    value = Duration{micros};
    return true;
  }
  bool get(WallTime& value) {
    std::int64_t micros = 0;
    if (!integer(kTimeMin, kTimeMax, micros)) return false;
    value = WallTime{Duration{micros}};
    return true;
  }
  template <class Tag, class Number>
  bool get(Id<Tag, Number>& value) {
    return get(value.value);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  bool get(Enum& value) {
    static_assert(kRange<Enum>.last > 0, "every enumeration has its range in a layout");
    std::int64_t number = 0;
    if (!integer(kRange<Enum>.first, kRange<Enum>.last, number)) return false;
    value = static_cast<Enum>(number);
    return true;
  }
  bool get(AttemptId& value) {
    Token token;
    if (!expect(TokenKind::kArray, token)) return false;
    if (token.count != 2) return fail("has " + std::to_string(token.count) + " parts, must have 2");
    return get(value.job_id) && get(value.attempt);
  }
  bool get(Field& value) {
    Token token;
    if (!next(token)) return false;
    switch (token.kind) {
      case TokenKind::kNil:
        value = std::monostate{};
        return true;
      case TokenKind::kBool:
        value = token.boolean;
        return true;
      case TokenKind::kInteger:
        value = token.integer;
        return true;
      case TokenKind::kFloat:
        value = token.real;
        return true;
      case TokenKind::kText:
        value = std::string{token.bytes};
        return true;
      default:
        return wrong(token, "nil, true, false, a number or text");
    }
  }
  bool get(Row& row) {
    Token token;
    if (!counted(TokenKind::kMap, kListMax, token)) return false;
    row.resize(token.count);
    for (auto& [key, value] : row) {
      if (!get(key)) return false;
      if (!get(value)) return within("." + key);
    }
    return true;
  }
  template <class T>
  bool get(std::optional<T>& value) {
    return get(value.emplace());
  }

  template <class T>
  bool get_many(std::optional<std::vector<T>>& list, std::size_t count_max) {
    return get_many(list.emplace(), count_max);
  }
  template <class T>
  bool get_many(std::vector<T>& list, std::size_t count_max) {
    Token token;
    if (!counted(TokenKind::kArray, count_max, token)) return false;
    list.clear();
    list.resize(token.count);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (!get(list[i])) return within("[" + std::to_string(i) + "]");
    }
    return true;
  }
  bool get_many(std::map<std::string, std::string>& map, std::size_t count_max) {
    Token token;
    if (!counted(TokenKind::kMap, count_max, token)) return false;
    map.clear();
    for (std::uint32_t left = token.count; left > 0; --left) {
      std::string key;
      if (!get(key)) return false;
      // Our own encoder writes the keys in order.
      const auto place = map.insert_or_assign(map.end(), std::move(key), std::string{});
      if (!get(place->second)) return within("." + place->first);
    }
    return true;
  }

  Reader reader_;
  std::string problem_;
  std::string path_;
};

template <std::size_t kType>
bool get_message(Decoder& decoder, Message& message) {
  return decoder.get(message.emplace<kType>());
}

// The reader and the name of each message type, by number.
struct MessageType {
  bool (*get)(Decoder&, Message&) = nullptr;
  std::string_view name{};
};

template <std::size_t... kTypes>
constexpr std::array<MessageType, sizeof...(kTypes)> message_types(std::index_sequence<kTypes...>) {
  return {MessageType{get_message<kTypes>,
                      Layout<std::variant_alternative_t<kTypes, Message>>::kName}...};
}
constexpr auto kMessageTypes =
    message_types(std::make_index_sequence<std::variant_size_v<Message>>{});

struct Head {
  std::uint64_t version = 0;
  std::uint64_t type = 0;
  std::uint64_t correlation = 0;
};

std::optional<Head> head_of(std::string_view frame) {
  Decoder decoder(frame);
  Head head;
  std::uint32_t parts = 0;
  const bool good = decoder.get_head(parts) && decoder.get(head.version) &&
                    decoder.get(head.type) && decoder.get(head.correlation);
  return good ? std::optional{head} : std::nullopt;
}

}  // namespace

Result<Envelope> decode(std::string_view frame) {
  if (frame.size() > kFrameBytesMax) {
    return Error{ErrorCode::kInvalidArgument, "frame has " + std::to_string(frame.size()) +
                                                  " bytes, at most " +
                                                  std::to_string(kFrameBytesMax)};
  }
  Decoder decoder(frame);
  std::uint64_t version = 0;
  std::uint64_t type = 0;
  Envelope envelope;
  std::uint32_t parts = 0;
  if (!decoder.get_head(parts) || !decoder.get(version)) return decoder.problem("frame");
  if (version != kProtocolVersion) {
    return Error{ErrorCode::kInvalidArgument, "frame is of protocol version " +
                                                  std::to_string(version) + ", must be " +
                                                  std::to_string(kProtocolVersion)};
  }
  if (!decoder.get(type) || !decoder.get(envelope.correlation)) return decoder.problem("frame");
  if (type >= kMessageTypes.size()) {
    return Error{ErrorCode::kInvalidArgument, "message type " + std::to_string(type) +
                                                  " is unknown, the highest is " +
                                                  std::to_string(kMessageTypes.size() - 1)};
  }
  const MessageType& message_type = kMessageTypes[type];
  if (!message_type.get(decoder, envelope.message)) return decoder.problem(message_type.name);
  if (parts == kPartsOnBehalf && !decoder.get(envelope.on_behalf.emplace()))
    return decoder.problem(Layout<OnBehalf>::kName);
  if (!decoder.at_end()) {
    return Error{ErrorCode::kInvalidArgument,
                 std::string{message_type.name} + " is followed by extra bytes"};
  }
  return envelope;
}

std::uint64_t correlation_of(std::string_view frame) {
  const auto head = head_of(frame);
  return head ? head->correlation : 0;
}

bool is_submit(std::string_view frame) {
  const auto head = head_of(frame);
  return head && head->type == Message{Submit{}}.index();
}

Result<JobSpec> decode_spec(std::string_view bytes) {
  Decoder decoder(bytes);
  JobSpec spec;
  if (!decoder.get(spec)) return decoder.problem("job");
  if (!decoder.at_end()) {
    return Error{ErrorCode::kInvalidArgument, "job is followed by extra bytes"};
  }
  spec.replace_on_exist = false;  // Earlier versions stored it.
  return spec;
}

}  // namespace carillon::wire
