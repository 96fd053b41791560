#include "shared/wire/reader.h"

#include <string>

#include <gtest/gtest.h>
#include <msgpack.hpp>

#include "shared/base/random.h"

namespace carillon::wire {
namespace {

// Packs a random value of any form that MessagePack has.
void pack_random(msgpack::packer<msgpack::sbuffer>& packer, SeededRandom& random, int depth) {
  const std::uint64_t kinds = depth > 0 ? 11 : 8;
  const std::uint64_t number = random.next() >> (random.next() % 64);
  const auto size = static_cast<std::uint32_t>(random.next() % 3 == 0 ? random.next() % 70'000
                                                                      : random.next() % 40);
  const std::string text(size, 'x');
  const auto count = static_cast<std::uint32_t>(random.next() % 20);
  switch (random.next() % kinds) {
    case 0:
      packer.pack_nil();
      break;
    case 1:
      packer.pack(random.next() % 2 == 0);
      break;
    case 2:
      packer.pack(number);
      break;
    case 3:
      packer.pack(-static_cast<std::int64_t>(number >> 1U));
      break;
    case 4:
      packer.pack(random.unit());
      break;
    case 5:
      packer.pack(static_cast<float>(random.unit()));
      break;
    case 6:
      packer.pack(text);
      break;
    case 7:
      packer.pack_bin(size).pack_bin_body(text.data(), size);
      break;
    case 8:
      packer.pack_array(count);
      for (std::uint32_t i = 0; i < count; ++i) pack_random(packer, random, depth - 1);
      break;
    case 9:
      packer.pack_map(count);
      for (std::uint32_t i = 0; i < 2 * count; ++i) pack_random(packer, random, depth - 1);
      break;
    default:
      packer.pack_ext(size, 5).pack_ext_body(text.data(), size);
  }
}

// Whether the reader sees what MessagePack's own unpacker has made a tree of.
bool agrees(Reader& reader, const msgpack::object& object) {
  Token token;
  if (!reader.next(token)) return false;
  switch (object.type) {
    case msgpack::type::NIL:
      return token.kind == TokenKind::kNil;
    case msgpack::type::BOOLEAN:
      return token.kind == TokenKind::kBool && token.boolean == object.via.boolean;
    case msgpack::type::POSITIVE_INTEGER:
      return token.kind == TokenKind::kInteger
                 ? token.integer >= 0 && static_cast<std::uint64_t>(token.integer) == object.via.u64
                 : token.kind == TokenKind::kUnsigned && token.unsigned_integer == object.via.u64;
    case msgpack::type::NEGATIVE_INTEGER:
      return token.kind == TokenKind::kInteger && token.integer == object.via.i64;
    case msgpack::type::FLOAT32:
    case msgpack::type::FLOAT64:
      return token.kind == TokenKind::kFloat && token.real == object.via.f64;
    case msgpack::type::STR:
      return token.kind == TokenKind::kText && token.bytes.size() == object.via.str.size;
    case msgpack::type::BIN:
      return token.kind == TokenKind::kBytes && token.bytes.size() == object.via.bin.size;
    case msgpack::type::EXT:
      return token.kind == TokenKind::kExtension &&
             token.bytes.size() == object.via.ext.size + 1;  // with its type
    case msgpack::type::ARRAY:
      if (token.kind != TokenKind::kArray || token.count != object.via.array.size) return false;
      for (std::uint32_t i = 0; i < token.count; ++i) {
        if (!agrees(reader, object.via.array.ptr[i])) return false;
      }
      return true;
    case msgpack::type::MAP:
      if (token.kind != TokenKind::kMap || token.count != object.via.map.size) return false;
      for (std::uint32_t i = 0; i < token.count; ++i) {
        if (!agrees(reader, object.via.map.ptr[i].key)) return false;
        if (!agrees(reader, object.via.map.ptr[i].val)) return false;
      }
      return true;
  }
  return false;
}

TEST(Reader, AgreesWithTheMessagePackUnpacker) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    msgpack::sbuffer buffer;
    msgpack::packer<msgpack::sbuffer> packer(buffer);
    pack_random(packer, random, 3);
    const auto tree = msgpack::unpack(buffer.data(), buffer.size());
    Reader reader({buffer.data(), buffer.size()});
    ASSERT_TRUE(agrees(reader, tree.get()));
    ASSERT_TRUE(reader.at_end());
    Reader skipping({buffer.data(), buffer.size()});
    ASSERT_TRUE(skipping.skip());
    ASSERT_TRUE(skipping.at_end());
  }
}

TEST(Reader, FailsOnTruncatedValuesWithoutReadingBeyond) {
  for (const std::string bytes : {"", "\xcd\x01",
                                  "\xa5"
                                  "four",
                                  "\xc4", "\xc7\x01\x05", "\x92\x01", "\x82\x01\x01\x01",
                                  "\xcb"
                                  "1234567"}) {
    Reader reader(bytes);
    EXPECT_FALSE(reader.skip()) << "of " << bytes.size() << " bytes";
  }
}

TEST(Reader, RefusesTheReservedMessagePackByte) {
  Reader reader("\xc1");
  Token token;
  EXPECT_FALSE(reader.next(token));
}

TEST(Reader, TakeNilConsumesOnlyANil) {
  Reader reader(std::string_view("\xc0\x07", 2));
  EXPECT_TRUE(reader.take_nil());
  EXPECT_FALSE(reader.take_nil());
  Token token;
  ASSERT_TRUE(reader.next(token));
  EXPECT_EQ(token.integer, 7);
  EXPECT_FALSE(reader.take_nil());
}

}  // namespace
}  // namespace carillon::wire
