#pragma once

#include <cstdint>
#include <string_view>

// Reads MessagePack values one by one from untrusted bytes, without copying or allocating.
// MessagePack's own unpacker builds a tree first, with 24 bytes for each element that a hostile
// frame claims; here a count is only a number until its elements are read.
//
// Thread: the owner's.
namespace carillon::wire {

enum class TokenKind : int {
  kNil = 0,
  kBool = 1,
  kInteger = 2,   // fits a signed 64-bit integer
  kUnsigned = 3,  // only fits an unsigned one
  kFloat = 4,
  kText = 5,
  kBytes = 6,
  kArray = 7,  // followed by its elements
  kMap = 8,    // followed by keys and values in turn
  kExtension = 9,
};

// "text", "a list", ... for error messages.
const char* name_of(TokenKind kind);

struct Token {
  TokenKind kind = TokenKind::kNil;
  bool boolean = false;
  std::int64_t integer = 0;
  std::uint64_t unsigned_integer = 0;  // kUnsigned only
  double real = 0;
  std::string_view bytes{};  // kText, kBytes, kExtension: part of the input
  std::uint32_t count = 0;   // kArray: elements; kMap: pairs
};

class Reader {
 public:
  explicit Reader(std::string_view bytes) : rest_(bytes) {}

  // False: the input ends within the value, its count exceeds the rest of the input, or its first
  // byte is invalid. Then nothing more can be read.
  bool next(Token& token);

  // Skips one value with all its elements. False as for next().
  bool skip();

  // Skips a nil if it is next.
  bool take_nil() {
    if (rest_.empty() || static_cast<unsigned char>(rest_.front()) != 0xc0) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool at_end() const { return rest_.empty(); }

 private:
  bool take_number(std::size_t size, std::uint64_t& number);
  bool take_run(std::size_t length_size, TokenKind kind, Token& token);
  bool take_body(std::uint64_t length, TokenKind kind, Token& token);
  bool take_count(std::uint64_t count, TokenKind kind, Token& token);
  bool take_signed(std::size_t size, Token& token);
  bool take_unsigned(std::size_t size, Token& token);
  bool take_float(std::size_t size, Token& token);
  bool take_long(unsigned char head, Token& token);

  std::string_view rest_;
};

}  // namespace carillon::wire
