#include "base/hash.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace plimsoll {
namespace {

Hasher hash_of(std::string_view text) {
  Hasher hasher;
  hasher.add(text.data(), text.size());
  return hasher;
}

std::vector<uint8_t> counting_bytes(size_t count) {
  std::vector<uint8_t> bytes(count);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

// The expected values are those of `xxhsum -H3` and the Python package xxhash.
TEST(Hasher, GivesTheKnownValuesOfXxh3) {
  EXPECT_EQ(Hasher().hex64(), "2d06800538d394c2");
  EXPECT_EQ(Hasher().hex128(), "99aa06d3014798d86001c324468d497f");
  EXPECT_EQ(hash_of("a").hex64(), "e6c632b61e964e1f");
  EXPECT_EQ(hash_of("a").hex128(), "a96faf705af16834e6c632b61e964e1f");
  EXPECT_EQ(hash_of("abc").hex64(), "78af5f94892f3950");
  EXPECT_EQ(hash_of("abc").hex128(), "06b05ab6733a618578af5f94892f3950");
  Hasher long_input;
  long_input.add(std::span<const uint8_t>(counting_bytes(2048)));
  EXPECT_EQ(long_input.hex64(), "dd420471ff96bd00");
  EXPECT_EQ(long_input.hex128(), "df73e0768dd183fadd420471ff96bd00");
}

TEST(Hasher, PiecesOfAnySizeGiveTheHashOfTheWhole) {
  const std::vector<uint8_t> bytes = counting_bytes(5000);
  Hasher whole;
  whole.add(std::span<const uint8_t>(bytes));
  for (const size_t piece : {1U, 7U, 64U, 240U, 256U, 1024U, 4999U}) {
    Hasher pieces;
    for (size_t at = 0; at < bytes.size(); at += piece)
      pieces.add(bytes.data() + at, std::min(piece, bytes.size() - at));
    EXPECT_EQ(pieces.hex64(), whole.hex64()) << "in pieces of " << piece;
    EXPECT_EQ(pieces.hex128(), whole.hex128()) << "in pieces of " << piece;
  }
}

TEST(Hasher, LookingAtTheHashDoesNotEndIt) {
  Hasher hasher = hash_of("ab");
  EXPECT_NE(hasher.hex64(), hash_of("abc").hex64());
  hasher.add("c", 1);
  EXPECT_EQ(hasher.hex64(), hash_of("abc").hex64());
}

TEST(Hasher, TakesItsStateAlongWhenMoved) {
  Hasher first = hash_of("ab");
  Hasher second = std::move(first);
  second.add("c", 1);
  EXPECT_EQ(second.hex128(), hash_of("abc").hex128());
}

TEST(Hasher, HashesTheBytesOfTypedValues) {
  const std::vector<uint32_t> values = {0x64636261};
  Hasher hasher;
  hasher.add(std::span<const uint32_t>(values));
  EXPECT_EQ(hasher.hex64(), hash_of("abcd").hex64());
}

}  // namespace
}  // namespace plimsoll
