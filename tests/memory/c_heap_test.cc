#include "memory/c_heap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>

#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

int64_t held() {
  return Ledger::process().held(Tag::ingest);
}

TEST(CHeap, EntersEachPieceAndTheBalanceReturns) {
  void* const first = ledger_malloc(Tag::ingest, 1000);
  void* const second = ledger_malloc(Tag::ingest, 500);
  ASSERT_NE(first, nullptr);
  ASSERT_NE(second, nullptr);
  EXPECT_GE(held(), 1500);
  EXPECT_LE(held(), 1500 + 64);
  std::memset(first, 1, 1000);
  std::memset(second, 2, 500);
  ledger_free(first);
  EXPECT_GE(held(), 500);
  EXPECT_LE(held(), 500 + 32);
  ledger_free(second);
  EXPECT_EQ(held(), 0);
}

TEST(CHeap, APieceIsStruckOutUnderTheTagItWasTakenFor) {
  void* const piece = ledger_malloc(Tag::output, 100);
  EXPECT_GE(Ledger::process().held(Tag::output), 100);
  EXPECT_EQ(held(), 0);
  ledger_free(piece);
  EXPECT_EQ(Ledger::process().held(Tag::output), 0);
}

TEST(CHeap, GivesNullWhereTheLedgerRefuses) {
  const LedgerCap cap(1000);
  EXPECT_EQ(ledger_malloc(Tag::ingest, 1001), nullptr);
  EXPECT_EQ(held(), 0);
  void* const piece = ledger_malloc(Tag::ingest, 900);
  EXPECT_NE(piece, nullptr);
  ledger_free(piece);
}

TEST(CHeap, GivesNullForSizesThatNoSystemHas) {
  constexpr size_t kMax = std::numeric_limits<size_t>::max();
  for (const size_t bytes : {kMax, kMax - 8, kMax - 16, kMax / 2 + 1, kMax / 2, kMax / 2 - 8}) {
    EXPECT_EQ(ledger_malloc(Tag::ingest, bytes), nullptr) << bytes;
    EXPECT_EQ(held(), 0) << bytes;
  }
}

TEST(CHeap, PiecesAreAlignedAsMallocsAre) {
  for (size_t bytes = 0; bytes < 100; ++bytes) {
    void* const piece = ledger_malloc(Tag::ingest, bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % alignof(std::max_align_t), 0U);
    ledger_free(piece);
  }
}

TEST(CHeap, FreeingNullIsNothing) {
  ledger_free(nullptr);
  EXPECT_EQ(held(), 0);
}

}  // namespace
}  // namespace plimsoll
