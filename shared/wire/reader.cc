#include "shared/wire/reader.h"

#include <bit>
#include <limits>

namespace carillon::wire {

const char* name_of(TokenKind kind) {
  switch (kind) {
    case TokenKind::kNil:
      return "nil";
    case TokenKind::kBool:
      return "true or false";
    case TokenKind::kInteger:
      return "a whole number";
    case TokenKind::kUnsigned:
      return "a whole number beyond 63 bits";
    case TokenKind::kFloat:
      return "a number with a fraction";
    case TokenKind::kText:
      return "text";
    case TokenKind::kBytes:
      return "bytes";
    case TokenKind::kArray:
      return "a list";
    case TokenKind::kMap:
      return "a map";
    case TokenKind::kExtension:
      return "an extension";
  }
  return "an unknown type";
}

bool Reader::next(Token& token) {
  if (rest_.empty()) return false;
  const auto head = static_cast<unsigned char>(rest_.front());
  rest_.remove_prefix(1);
  if (head < 0x80 || head >= 0xe0) {  // the number itself, 0..127 or -32..-1
    token.kind = TokenKind::kInteger;
    token.integer = static_cast<std::int8_t>(head);
    return true;
  }
  if (head < 0x90) return take_count(head & 0x0fU, TokenKind::kMap, token);
  if (head < 0xa0) return take_count(head & 0x0fU, TokenKind::kArray, token);
  if (head < 0xc0) return take_body(head & 0x1fU, TokenKind::kText, token);
  return take_long(head, token);
}

// The forms with a first byte of 0xc0 to 0xdf, which defines the rest.
bool Reader::take_long(unsigned char head, Token& token) {
  std::uint64_t count = 0;
  switch (head) {
    case 0xc0:
      token.kind = TokenKind::kNil;
      return true;
    case 0xc2:
    case 0xc3:
      token.kind = TokenKind::kBool;
      token.boolean = head == 0xc3;
      return true;
    case 0xc4:
      return take_run(1, TokenKind::kBytes, token);
    case 0xc5:
      return take_run(2, TokenKind::kBytes, token);
    case 0xc6:
      return take_run(4, TokenKind::kBytes, token);
    case 0xc7:
      return take_run(1, TokenKind::kExtension, token);
    case 0xc8:
      return take_run(2, TokenKind::kExtension, token);
    case 0xc9:
      return take_run(4, TokenKind::kExtension, token);
    case 0xca:
      return take_float(4, token);
    case 0xcb:
      return take_float(8, token);
    case 0xcc:
      return take_unsigned(1, token);
    case 0xcd:
      return take_unsigned(2, token);
    case 0xce:
      return take_unsigned(4, token);
    case 0xcf:
      return take_unsigned(8, token);
    case 0xd0:
      return take_signed(1, token);
    case 0xd1:
      return take_signed(2, token);
    case 0xd2:
      return take_signed(4, token);
    case 0xd3:
      return take_signed(8, token);
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
      return take_body(1ULL << (head - 0xd4U), TokenKind::kExtension, token);
    case 0xd9:
      return take_run(1, TokenKind::kText, token);
    case 0xda:
      return take_run(2, TokenKind::kText, token);
    case 0xdb:
      return take_run(4, TokenKind::kText, token);
    case 0xdc:
      return take_number(2, count) && take_count(count, TokenKind::kArray, token);
    case 0xdd:
      return take_number(4, count) && take_count(count, TokenKind::kArray, token);
    case 0xde:
      return take_number(2, count) && take_count(count, TokenKind::kMap, token);
    case 0xdf:
      return take_number(4, count) && take_count(count, TokenKind::kMap, token);
    default:
      return false;
  }
}

bool Reader::skip() {
  std::uint64_t values = 1;
  Token token;
  while (values > 0) {
    // Each takes at least a byte, so a false count cannot cause long work.
    if (values > rest_.size() || !next(token)) return false;
    --values;
    if (token.kind == TokenKind::kArray) values += token.count;
    if (token.kind == TokenKind::kMap) values += 2ULL * token.count;
  }
  return true;
}

bool Reader::take_number(std::size_t size, std::uint64_t& number) {
  if (rest_.size() < size) return false;
  number = 0;
  for (std::size_t i = 0; i < size; ++i) {
    number = number << 8U | static_cast<unsigned char>(rest_[i]);
  }
  rest_.remove_prefix(size);
  return true;
}

bool Reader::take_run(std::size_t length_size, TokenKind kind, Token& token) {
  std::uint64_t length = 0;
  return take_number(length_size, length) && take_body(length, kind, token);
}

bool Reader::take_body(std::uint64_t length, TokenKind kind, Token& token) {
  if (kind == TokenKind::kExtension) ++length;  // its type precedes its bytes
  if (length > rest_.size()) return false;
  token.kind = kind;
  token.bytes = rest_.substr(0, length);
  rest_.remove_prefix(length);
  return true;
}

bool Reader::take_count(std::uint64_t count, TokenKind kind, Token& token) {
  const std::uint64_t least = kind == TokenKind::kMap ? 2 * count : count;
  if (least > rest_.size()) return false;
  token.kind = kind;
  token.count = static_cast<std::uint32_t>(count);
  return true;
}

bool Reader::take_signed(std::size_t size, Token& token) {
  std::uint64_t number = 0;
  if (!take_number(size, number)) return false;
  const auto unused = static_cast<unsigned>(64 - 8 * size);
  token.kind = TokenKind::kInteger;
  token.integer = static_cast<std::int64_t>(number << unused) >> unused;
  return true;
}

bool Reader::take_unsigned(std::size_t size, Token& token) {
  std::uint64_t number = 0;
  if (!take_number(size, number)) return false;
  if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    token.kind = TokenKind::kUnsigned;
    token.unsigned_integer = number;
  } else {
    token.kind = TokenKind::kInteger;
    token.integer = static_cast<std::int64_t>(number);
  }
  return true;
}

bool Reader::take_float(std::size_t size, Token& token) {
  std::uint64_t number = 0;
  if (!take_number(size, number)) return false;
  token.kind = TokenKind::kFloat;
  token.real = size == 8
                   ? std::bit_cast<double>(number)
                   : static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(number)));
  return true;
}

}  // namespace carillon::wire
