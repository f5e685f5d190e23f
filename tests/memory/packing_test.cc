#include "memory/packing.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>
#include <vector>

#include "memory/allocations.h"

std::atomic<int64_t> allocations = 0;

void* operator new(size_t bytes) {
  ++allocations;
  void* const memory = std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void* operator new(size_t bytes, const std::nothrow_t& /*tag*/) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
// g++ 12 would inline only this operator, and then warn that free() gets memory of new.
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept {
  std::free(memory);
}

namespace plimsoll {
namespace {

TEST(Packing, PiecesGoBehindEachOther) {
  Packing packing(1000);
  EXPECT_EQ(packing.take(100), 0);
  EXPECT_EQ(packing.take(64), 128);
  EXPECT_EQ(packing.take(1), 192);
  EXPECT_EQ(packing.in_use(), 256);
  EXPECT_EQ(packing.high(), 256);
}

TEST(Packing, APieceTakesTheSmallestHoleThatItFits) {
  Packing packing(10'000);
  const int64_t large = packing.take(640);
  packing.take(64);
  const int64_t small = packing.take(192);
  packing.take(64);
  packing.give(large, 640);
  packing.give(small, 192);
  EXPECT_EQ(packing.take(128), small);
  EXPECT_EQ(packing.take(256), large);
  EXPECT_EQ(packing.take(64), small + 128);
  EXPECT_EQ(packing.high(), 960);
}

// give() is noexcept: many pieces make many holes, none of which may allocate memory.
TEST(Packing, GivingBackAllocatesNothing) {
  Packing packing(int64_t{1} << 30);
  std::vector<int64_t> places;
  for (int i = 0; i < 4000; ++i) places.push_back(packing.take(64));
  const int64_t before = allocations;
  for (size_t i = 0; i < places.size(); i += 2) packing.give(places[i], 64);
  for (size_t i = 1; i < places.size(); i += 2) packing.give(places[i], 64);
  EXPECT_EQ(allocations, before);
  EXPECT_EQ(packing.in_use(), 0);
}

TEST(Packing, HolesJoin) {
  Packing packing(10'000);
  const int64_t a = packing.take(64);
  const int64_t b = packing.take(64);
  const int64_t c = packing.take(64);
  packing.take(64);
  packing.give(a, 64);
  packing.give(c, 64);
  packing.give(b, 64);
  EXPECT_EQ(packing.take(192), a);
}

TEST(Packing, RefusesWhatDoesNotFitAndSaysWhatIsMissing) {
  Packing packing(256);
  EXPECT_EQ(packing.take(192), 0);
  EXPECT_EQ(packing.take(65), -1);
  EXPECT_EQ(packing.missing(65), 64);
  EXPECT_EQ(packing.in_use(), 192);
  packing.grow(320);
  EXPECT_EQ(packing.take(65), 192);
}

// Whatever is allocated and freed, pieces never overlap, and their positions do not depend on the capacity.
TEST(Packing, RandomPiecesNeverOverlapAndPlacesDoNotDependOnCapacity) {
  std::mt19937 random(5);
  Packing narrow(1 << 20);
  Packing wide(int64_t{1} << 40);
  struct Piece {
    int64_t place;
    int64_t bytes;
  };
  std::vector<Piece> pieces;
  for (int round = 0; round < 20'000; ++round) {
    if (pieces.empty() || (random() % 5 < 3 && pieces.size() < 100)) {
      const int64_t bytes = 1 + random() % 5000;
      const int64_t place = narrow.take(bytes);
      ASSERT_EQ(wide.take(bytes), place);
      ASSERT_EQ(place % Packing::kAlignment, 0);
      for (const Piece& other : pieces)
        ASSERT_TRUE(place + bytes <= other.place || other.place + other.bytes <= place);
      pieces.push_back({place, bytes});
    } else {
      const size_t which = random() % pieces.size();
      narrow.give(pieces[which].place, pieces[which].bytes);
      wide.give(pieces[which].place, pieces[which].bytes);
      pieces.erase(pieces.begin() + static_cast<int64_t>(which));
    }
  }
  for (const Piece& piece : pieces) narrow.give(piece.place, piece.bytes);
  EXPECT_EQ(narrow.in_use(), 0);
  EXPECT_EQ(narrow.take(1 << 20), 0) << "a hole was lost";
}

}  // namespace
}  // namespace plimsoll
