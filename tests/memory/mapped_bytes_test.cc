#include "memory/mapped_bytes.h"

#include <gtest/gtest.h>

#include <utility>

#include "support/ledger_cap.h"

namespace plimsoll {
namespace {

TEST(MappedBytes, StandInTheLedgerAsLongAsTheyLive) {
  Ledger& ledger = Ledger::process();
  const int64_t before = ledger.held(Tag::cache);
  {
    MappedBytes bytes(Tag::cache, 3 << 20);
    EXPECT_EQ(ledger.held(Tag::cache), before + (3 << 20));
    EXPECT_EQ(bytes.data()[(3 << 20) - 1], std::byte{0});
    bytes.data()[5] = std::byte{7};
    MappedBytes moved = std::move(bytes);
    EXPECT_EQ(moved.data()[5], std::byte{7});
    EXPECT_EQ(ledger.held(Tag::cache), before + (3 << 20));
    moved = MappedBytes(Tag::cache, 1 << 20);
    EXPECT_EQ(ledger.held(Tag::cache), before + (1 << 20));
    moved.reset();
    EXPECT_EQ(ledger.held(Tag::cache), before);
  }
  EXPECT_EQ(ledger.held(Tag::cache), before);
}

TEST(MappedBytes, MoreThanTheBudgetIsRefused) {
  const LedgerCap cap(1 << 20);
  const int64_t before = Ledger::process().held();
  EXPECT_THROW(MappedBytes(Tag::cache, 8 << 20), BudgetExceeded);
  EXPECT_EQ(Ledger::process().held(), before);
}

}  // namespace
}  // namespace plimsoll
